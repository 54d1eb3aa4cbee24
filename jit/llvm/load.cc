// Relocatable objects into this process, for the device `cpu`: LLVM's ORC with JITLink. There is one session, which the
// first program makes that is loaded (or warm_up.h); it ends with the process, without a word.
//
// All symbols are in one library of the session. Those of a program have its number behind their name, and a tracker
// that removes them when the program goes. What programs call outside is found by name and written into the graph of
// the object, so nothing is left for the session to look up.
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "device/cpu/cpu.h"
#include "device/emulated/block.h"
#include "device/host_call.h"
#include "jit/llvm/code_memory.h"
#include "jit/llvm/debuggers.h"
#include "jit/llvm/debugging.h"
#include "jit/llvm/memory.h"
#include "jit/llvm/ready_products.h"
#include "jit/llvm/tiles.h"
#include "runtime/bfloat16_products.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/pool.h"
#include "runtime/process.h"
#include "runtime/text.h"

namespace ct::jit {

namespace {

using llvm::jitlink::LinkGraph;
using llvm::jitlink::Scope;
using llvm::jitlink::Symbol;

// The only outside functions that code may call.
const void* find_function(std::string_view name) {
  const auto known = [](auto* function) { return reinterpret_cast<const void*>(function); };
  if (name == "memcpy") return known(&std::memcpy);
  if (name == "memset") return known(&std::memset);
  if (name == "memmove") return known(&std::memmove);
  if (name == kHostCallSymbol) return known(&call_host);
  if (name == kGoOnSymbol) return known(&go_on);
  if (name == kParallelSymbol) return known(&run_parallel);
  if (name == kPackBfloat16Symbol) return known(&pack_bfloat16);
  if (name == kMultiplyBfloat16Symbol) return known(&multiply_bfloat16);
  if (const void* emulated = find_emulated(name)) return emulated;
  if (name == kReadyProductSymbol) return known(&multiply_ready_product);
  return find_ready(name);
}

#if LLVM_VERSION_MAJOR >= 22
std::string_view name_of(const Symbol& symbol) { return symbol.hasName() ? *symbol.getName() : llvm::StringRef(); }
void rename(LinkGraph& graph, Symbol& symbol, const std::string& name) { symbol.setName(graph.intern(name)); }
#else
std::string_view name_of(const Symbol& symbol) { return symbol.hasName() ? symbol.getName() : llvm::StringRef(); }
void rename(LinkGraph& graph, Symbol& symbol, const std::string& name) {
  const llvm::MutableArrayRef<char> text = graph.allocateContent(llvm::ArrayRef<char>(name.data(), name.size()));
  symbol.setName({text.data(), text.size()});
}
#endif

class Session {
 public:
  Session() : session_(host_process()), library_(session_.createBareJITDylib("programs")), layer_(session_, memory_) {
    session_.setErrorReporter([this](llvm::Error error) {
      const std::string problem = llvm::toString(std::move(error));
      problems_ += problem + "; ";
      if (debugging_wanted()) std::fprintf(stderr, "cotangent: debuggers may miss a program: %s\n", problem.c_str());
    });
  }

  struct Linked {
    PlanEntry entry;
    llvm::orc::ResourceTrackerSP tracker;
  };
  absl::StatusOr<Linked> link(const Plan& plan) {
    size_t bytes = 0;
    // No object needs more memory than the bytes that describe it, but for alignment.
    for (const Code& code : plan.codes) bytes += code.bytes.size() + kSlack;
    if (absl::Status enough = memory_.reserve(bytes); !enough.ok()) return enough;
    problems_.clear();
    const llvm::orc::ResourceTrackerSP tracker = library_.createResourceTracker();
    absl::StatusOr<PlanEntry> entry = link_objects(plan, tracker);
    layer_.forget_objects();
    absl::Status usable = memory_.finish();
    if (!entry.ok()) usable = entry.status();
    if (!usable.ok()) {
      remove(*tracker);
      return usable;
    }
    return Linked{*entry, tracker};
  }

  void remove(llvm::orc::ResourceTracker& tracker) {
    llvm::consumeError(tracker.remove());
    // Names of what is gone.
    if (++removed_ % 256 == 0) session_.getSymbolStringPool()->clearDeadEntries();
  }

 private:
  static constexpr size_t kSlack = 1024;

  absl::StatusOr<PlanEntry> link_objects(const Plan& plan, const llvm::orc::ResourceTrackerSP& tracker) {
    const std::string& symbol = std::get<NativeStep>(plan.blocks[0][0]).symbol;
    const std::string number = "#" + std::to_string(++programs_);
    for (const Code& code : plan.codes) {
      const llvm::MemoryBufferRef buffer(code.bytes, symbol);
      llvm::Expected<std::unique_ptr<LinkGraph>> graph = make_graph(buffer);
      if (!graph) return absl::DataLossError("not an object file: " + llvm::toString(graph.takeError()));
      if (absl::Status known = connect(**graph, symbol, number); !known.ok()) return known;
      layer_.note_object(**graph, buffer);
      if (llvm::Error error = layer_.add(tracker, std::move(*graph))) {
        return absl::DataLossError("cannot load machine code: " + llvm::toString(std::move(error)));
      }
    }
    llvm::Expected<llvm::orc::ExecutorSymbolDef> entry = session_.lookup({&library_}, session_.intern(symbol + number));
    if (!entry) {
      return absl::DataLossError(concat("cannot link machine code: ", problems_, llvm::toString(entry.takeError())));
    }
    return entry->getAddress().toPtr<PlanEntry>();
  }

  llvm::Expected<std::unique_ptr<LinkGraph>> make_graph(const llvm::MemoryBufferRef& object) {
#if LLVM_VERSION_MAJOR >= 22
    return llvm::jitlink::createLinkGraphFromObject(object, session_.getSymbolStringPool());
#else
    return llvm::jitlink::createLinkGraphFromObject(object);
#endif
  }

  // The program's own symbols become the session's, by their name and the program's number.
  static absl::Status connect(LinkGraph& graph, const std::string& symbol, const std::string& number) {
    const auto is_own = [&](std::string_view name) {
      return name.starts_with(symbol) && (name.size() == symbol.size() || name[symbol.size()] == '.');
    };
    for (Symbol* one : graph.defined_symbols()) {
      if (one->getScope() == Scope::Local) continue;
      const std::string_view name = name_of(*one);
      if (is_own(name)) {
        rename(graph, *one, concat(name, number));
      } else {
        one->setScope(Scope::Local);
      }
    }
    for (Symbol* one : std::vector<Symbol*>(graph.external_symbols().begin(), graph.external_symbols().end())) {
      const std::string name(name_of(*one));
      const void* function = is_own(name) ? nullptr : find_function(name);
      if (function == nullptr && !is_own(name)) {
        return absl::DataLossError("machine code wants " + name + ", which is not there");
      }
      graph.makeAbsolute(*one, llvm::orc::ExecutorAddr::fromPtr(function));
      if (function != nullptr) continue;
      rename(graph, *one, name + number);
      graph.makeExternal(*one);
    }
    return absl::OkStatus();
  }

  std::string problems_;  // what LLVM reports while it links
  int64_t programs_ = 0, removed_ = 0;
  CodeMemory memory_;
  llvm::orc::ExecutionSession session_;
  llvm::orc::JITDylib& library_;
  LinkingLayer layer_;
};

// Whoever is thrown out of LLVM leaves a session in an unknown state: it stays where it is, with what it linked, and
// the next program makes another.
struct Sessions {
  ProcessMutex mutex;
  Session* current = nullptr;

  static Sessions& instance() {
    static auto& sessions = *new Sessions;
    return sessions;
  }
};

// A program in a session, for as long as something refers to it.
class LinkedProgram {
 public:
  LinkedProgram(Session* session, Session::Linked linked) : session_(session), tracker_(std::move(linked.tracker)) {}
  ~LinkedProgram() {
    Sessions& sessions = Sessions::instance();
    std::lock_guard lock(sessions.mutex);
    if (sessions.current == session_) {
      try {
        session_->remove(*tracker_);
        tracker_.reset();
        return;
      } catch (const std::exception&) {
        sessions.current = nullptr;
      }
    }
    static_cast<void>(new llvm::orc::ResourceTrackerSP(std::move(tracker_)));
  }
  LinkedProgram(const LinkedProgram&) = delete;
  LinkedProgram& operator=(const LinkedProgram&) = delete;

 private:
  Session* session_;
  llvm::orc::ResourceTrackerSP tracker_;
};

absl::StatusOr<NativeCode> load_elf(const Plan& plan) {
  throw_from_llvm();
  Sessions& sessions = Sessions::instance();
  std::lock_guard lock(sessions.mutex);
  try {
    if (sessions.current == nullptr) sessions.current = new Session;
    absl::StatusOr<Session::Linked> linked = sessions.current->link(plan);
    if (!linked.ok()) return linked.status();
    const PlanEntry entry = linked->entry;
    return NativeCode{entry, std::make_shared<const LinkedProgram>(sessions.current, *std::move(linked))};
  } catch (const std::bad_alloc&) {
    sessions.current = nullptr;
    return out_of_memory();
  } catch (const Error& error) {
    sessions.current = nullptr;
    return absl::InternalError(concat("cannot link machine code: ", error.what()));
  }
}

const bool registered = (set_native_loader(load_elf), true);

}  // namespace

}  // namespace ct::jit
