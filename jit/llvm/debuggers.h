// What the session (load.cc) tells `perf` and `gdb` of the code that it links (debugging.h): perf finds a jitdump file
// in $JITDUMPDIR/.debug/jit (or the home directory's), gdb an object in memory by its JIT interface.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>

namespace ct::jit {

// This process, which runs what ORC has to do at once and in the thread that asks.
std::unique_ptr<llvm::orc::ExecutorProcessControl> host_process();

// Graphs are linked as ever; where gdb wants to know, along with the objects that they were made from.
class LinkingLayer : public llvm::orc::ObjectLinkingLayer {
 public:
  LinkingLayer(llvm::orc::ExecutionSession& session, llvm::jitlink::JITLinkMemoryManager& memory);

  // `object` lives until `forget_objects`.
  void note_object(const llvm::jitlink::LinkGraph& graph, llvm::MemoryBufferRef object);
  void forget_objects() { objects_.clear(); }

#if LLVM_VERSION_MAJOR >= 22
  void emit(std::unique_ptr<llvm::orc::MaterializationResponsibility> symbols,
            std::unique_ptr<llvm::jitlink::LinkGraph> graph) override;
  using ObjectLinkingLayer::emit;
#endif

 private:
  void add_debuggers();

  llvm::DenseMap<const llvm::jitlink::LinkGraph*, llvm::MemoryBufferRef> objects_;
};

}  // namespace ct::jit
