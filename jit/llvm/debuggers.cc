#include "jit/llvm/debuggers.h"

#include <llvm/ExecutionEngine/Orc/Debugging/DebugInfoSupport.h>
#include <llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h>
#include <llvm/ExecutionEngine/Orc/Shared/SimpleRemoteEPCUtils.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h>
#include <llvm/TargetParser/Host.h>
#if LLVM_VERSION_MAJOR >= 22
#include <llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/Shared/OrcRTBridge.h>
#endif
#include <unistd.h>

#include <cstdio>
#include <string>

#include "jit/llvm/debugging.h"

// The interface that gdb knows, which LLVM defines.
extern "C" {
extern jit_descriptor __jit_debug_descriptor;  // NOLINT: its name
void __jit_debug_register_code();              // NOLINT: its name
}

namespace ct::jit {

using llvm::orc::ExecutorAddr;

namespace {

void warn(const char* tool, llvm::Error error) {
  std::fprintf(stderr, "cotangent: %s will not know compiled programs: %s\n", tool,
               llvm::toString(std::move(error)).c_str());
}

class HostProcess : public llvm::orc::SelfExecutorProcessControl {
 public:
  HostProcess()
      : SelfExecutorProcessControl(
            std::make_shared<llvm::orc::SymbolStringPool>(), std::make_unique<llvm::orc::InPlaceTaskDispatcher>(),
            llvm::Triple(llvm::sys::getProcessTriple()), static_cast<unsigned>(sysconf(_SC_PAGESIZE)), nullptr) {
#if LLVM_VERSION_MAJOR >= 22
    if (gdb_wanted()) {
      BootstrapSymbols[llvm::orc::rt::RegisterJITLoaderGDBAllocActionName] =
          ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBAllocAction);
    }
#endif
  }
};

using WrapperResult = decltype(llvm_orc_registerJITLoaderPerfStart(nullptr, 0));
WrapperResult nothing(const char*, size_t) { return {}; }

// The file is the process' that began it: what a child of a fork links is not in there.
class PerfPlugin : public llvm::orc::PerfSupportPlugin {
 public:
  explicit PerfPlugin(llvm::orc::ExecutorProcessControl& process)
      // It was started already, where errors are seen.
      : PerfSupportPlugin(process, ExecutorAddr::fromPtr(&nothing),
                          ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfEnd),
                          ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfImpl), /*EmitDebugInfo=*/true,
                          /*EmitUnwindInfo=*/false) {}

  void modifyPassConfig(llvm::orc::MaterializationResponsibility& symbols, llvm::jitlink::LinkGraph& graph,
                        llvm::jitlink::PassConfiguration& passes) override {
    if (getpid() == process_) PerfSupportPlugin::modifyPassConfig(symbols, graph, passes);
  }

 private:
  const pid_t process_ = getpid();
};

#if LLVM_VERSION_MAJOR >= 22
// What LLVM does not: gdb forgets programs that are gone, whose memory others get.
llvm::Error forget_object(llvm::orc::ExecutorAddrRange object, bool) {
  jit_code_entry* entry = __jit_debug_descriptor.first_entry;
  while (entry != nullptr && entry->symfile_addr != object.Start.toPtr<const char*>()) entry = entry->next_entry;
  if (entry == nullptr) return llvm::Error::success();
  (entry->prev_entry == nullptr ? __jit_debug_descriptor.first_entry : entry->prev_entry->next_entry) =
      entry->next_entry;
  if (entry->next_entry != nullptr) entry->next_entry->prev_entry = entry->prev_entry;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = JIT_UNREGISTER_FN;
  __jit_debug_register_code();
  delete entry;
  return llvm::Error::success();
}

WrapperResult forget_object_action(const char* arguments, size_t size) {
  using namespace llvm::orc::shared;  // NOLINT: of what the signature is made
  return WrapperFunction<SPSError(SPSExecutorAddrRange, bool)>::handle(arguments, size, forget_object).release();
}

class GdbPlugin : public llvm::orc::ELFDebugObjectPlugin {
 public:
  GdbPlugin(llvm::orc::ExecutionSession& session, llvm::Error& error)
      : ELFDebugObjectPlugin(session, /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true, error) {}

  void modifyPassConfig(llvm::orc::MaterializationResponsibility& symbols, llvm::jitlink::LinkGraph& graph,
                        llvm::jitlink::PassConfiguration& passes) override {
    ELFDebugObjectPlugin::modifyPassConfig(symbols, graph, passes);
    passes.PostFixupPasses.push_back([](llvm::jitlink::LinkGraph& linked) {
      for (llvm::orc::shared::AllocActionCallPair& action : linked.allocActions()) {
        if (action.Finalize.getCallee() != ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBAllocAction)) continue;
        action.Dealloc = llvm::orc::shared::WrapperFunctionCall(ExecutorAddr::fromPtr(&forget_object_action),
                                                                action.Finalize.getArgData());
      }
      return llvm::Error::success();
    });
  }
};
#endif

}  // namespace

std::unique_ptr<llvm::orc::ExecutorProcessControl> host_process() { return std::make_unique<HostProcess>(); }

LinkingLayer::LinkingLayer(llvm::orc::ExecutionSession& session, llvm::jitlink::JITLinkMemoryManager& memory)
    : ObjectLinkingLayer(session, memory) {
  if (debugging_wanted()) add_debuggers();
}

void LinkingLayer::add_debuggers() {
  llvm::orc::ExecutionSession& session = getExecutionSession();
  llvm::orc::ExecutorProcessControl& process = session.getExecutorProcessControl();
  addPlugin(std::make_shared<llvm::orc::DebugInfoPreservationPlugin>());
  if (perf_wanted()) {
    llvm::Error started = llvm::Error::success();
    llvm::Error called = process.callSPSWrapper<llvm::orc::shared::SPSError()>(
        ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfStart), started);
    if (llvm::Error error = llvm::joinErrors(std::move(called), std::move(started))) {
      warn("perf", std::move(error));
    } else {
      addPlugin(std::make_shared<PerfPlugin>(process));
    }
  }
#if LLVM_VERSION_MAJOR >= 22
  if (gdb_wanted()) {
    llvm::Error error = llvm::Error::success();
    auto plugin = std::make_shared<GdbPlugin>(session, error);
    if (error) {
      warn("gdb", std::move(error));
    } else {
      addPlugin(std::move(plugin));
    }
  }
#else
  if (gdb_wanted()) {
    warn("gdb", llvm::createStringError(llvm::inconvertibleErrorCode(), "it takes LLVM 22, this is an older one"));
  }
#endif
}

void LinkingLayer::note_object(const llvm::jitlink::LinkGraph& graph, llvm::MemoryBufferRef object) {
  if (gdb_wanted()) objects_.try_emplace(&graph, object);
}

#if LLVM_VERSION_MAJOR >= 22
void LinkingLayer::emit(std::unique_ptr<llvm::orc::MaterializationResponsibility> symbols,
                        std::unique_ptr<llvm::jitlink::LinkGraph> graph) {
  const auto object = objects_.find(graph.get());
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  if (object != objects_.end()) {
    buffer = llvm::MemoryBuffer::getMemBuffer(object->second, /*RequiresNullTerminator=*/false);
  }
  LinkGraphLinkingLayer::emit(std::move(symbols), std::move(graph), std::move(buffer));
}
#endif

}  // namespace ct::jit
