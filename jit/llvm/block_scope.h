// A block of threads that runs statements together, as loop/barriers.h shares them out.
#pragma once

#include "jit/llvm/emit.h"
#include "jit/loop/barriers.h"

namespace ct::jit {

class BlockScope final : public StatementScope {
 public:
  BlockScope(CpuEmission& e, const Barriers& barriers, int64_t without_barrier)
      : e_(e), b_(e.b), program_(e.program), barriers_(barriers), without_barrier_(without_barrier) {}

  void begin_function();
  // For the statements of the kernel and of the blocks inside them: by the one block that there is.
  void statement(const loop::Statement& statement) override;
  // A statement whose items all threads of the grid share out.
  void on_grid(const loop::Statement& statement);
  void first_thread_only(llvm::function_ref<void()> body);
  // Memory that the threads of a block share, as far as the function uses it.
  uint32_t shared_bytes() const { return shared_bytes_; }

 private:
  struct Stride {
    llvm::Value *first, *step;
  };
  llvm::Value* special(llvm::Intrinsic::ID id);
  llvm::Value* thread();
  void barrier();
  llvm::Value* shared_memory(uint32_t offset, uint32_t bytes);
  void alone(const loop::Statement& statement);
  void strided(const Stride& stride, llvm::Value* count, llvm::function_ref<void(llvm::Value*)> body);
  void items(const loop::Statement& statement, const Stride& stride);
  void loop_items(const loop::For& loop, const Stride& stride);
  void range_items(const loop::Statement& statement, const Stride& stride);
  void fold(const loop::For& loop);
  LlvmValues fold_some(const loop::For& loop);
  void combine(const loop::Carry& carry, llvm::Value* partial, uint32_t offset);

  CpuEmission& e_;
  llvm::IRBuilder<>& b_;
  const loop::Program& program_;
  const Barriers& barriers_;
  const int64_t without_barrier_;
  int64_t barriers_emitted_ = 0;
  uint32_t shared_bytes_ = 0;
};

// Names of what kernels share with who runs them: the shared memory of a block.
inline constexpr const char* kSharedMemory = "shared_memory";

}  // namespace ct::jit
