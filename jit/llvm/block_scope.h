// A block of threads that runs statements together, as loop/barriers.h shares them out.
#pragma once

#include <utility>
#include <vector>

#include "jit/llvm/emit.h"
#include "jit/llvm/pieces.h"
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
  // Products of a nest, whose tiles the blocks of the grid share out, and what each thread does to the elements that it
  // has made.
  void products_on_grid(const loop::Statement& statement, absl::Span<const loop::Statement* const> epilogues);
  // A fold, of which each block leaves a part; and, by one block, its results.
  void leave_parts(const Parts& parts);
  void put_together(const Parts& parts);
  // The contents of two arrays, by all threads of the grid.
  void exchange_on_grid(loop::BufferId a, loop::BufferId b);
  void first_thread_only(llvm::function_ref<void()> body);
  // Elements, by all threads of the block.
  void copy(llvm::Type* type, llvm::Value* to, llvm::Value* from, llvm::Value* count);
  void barrier();
  // Arrays that swap with each other in this function, and where they were at its beginning.
  using Swapping = std::vector<std::pair<loop::BufferId, llvm::Value*>>;
  std::vector<Swapping>& swapping() { return swapping_; }
  // Each name means the memory again that it meant at the beginning: what has swapped is exchanged. Whether anything
  // may have.
  bool end_swaps();
  // Memory that the threads of a block share, as far as the function uses it.
  uint32_t shared_bytes() const { return shared_bytes_; }

 private:
  struct Stride {
    llvm::Value *first, *step;
  };
  llvm::Value* special(llvm::Intrinsic::ID id);
  llvm::Value* thread();
  Stride of_block() { return {thread(), b_.getInt64(kBlockThreads)}; }
  Stride of_grid();
  void end_swaps(const Swapping& group);
  void exchange(loop::BufferId of, llvm::Value* a, llvm::Value* b, const Stride& stride);
  llvm::Value* shared_memory(uint32_t offset, uint32_t bytes);
  void alone(const loop::Statement& statement);
  void strided(const Stride& stride, llvm::Value* count, llvm::function_ref<void(llvm::Value*)> body);
  void items(const loop::Statement& statement, const Stride& stride);
  void loop_items(const loop::For& loop, const Stride& stride);
  void item_of(absl::Span<const loop::For* const> nest, llvm::Value* number);
  void range_items(const loop::Statement& statement, const Stride& stride);
  void fold(const loop::For& loop);

  // Of products (block_tiles.cc).
  struct Operand;
  struct Product {
    Product(BlockScope& scope, const loop::Gemm& gemm);
    DType wide() const { return dtype == DType::kFloat64 ? dtype : DType::kFloat32; }  // in which it is summed
    const loop::Gemm& gemm;
    DType dtype;
    llvm::Type* type;
    llvm::Value *rows, *columns, *steps;          // that there are
    bool whole_rows, whole_columns, whole_steps;  // nothing but whole tiles
  };
  llvm::Value* element(const loop::Matrix& matrix, llvm::Value* row, llvm::Value* column);
  void product(const loop::Gemm& gemm);
  // `epilogue`: of an element, by its row and column.
  using Epilogue = llvm::function_ref<void(llvm::Value*, llvm::Value*)>;
  void product_tile(const Product& product, llvm::Value* number, Epilogue epilogue);
  void product_tile(const Product& product, llvm::Value* first_row, llvm::Value* first_column, Epilogue epilogue);
  void for_own_elements(const Product& product, llvm::Value* first_row, llvm::Value* first_column, Epilogue body);
  void bring(const Product& product, const Operand& operand, llvm::Value* first_step);

  LlvmValues fold_some(const loop::For& loop, const Stride& stride);
  llvm::Value* combine(const loop::Carry& carry, llvm::Value* partial, uint32_t offset);
  void end_fold(const loop::Carry& carry, llvm::Value* folded);
  llvm::Type* part_type(const loop::Carry& carry) const;
  llvm::Value* part(const Parts& parts, size_t carry, llvm::Value* block);
  llvm::Value* load_part(const loop::Carry& carry, llvm::Value* address);
  void store_part(const loop::Carry& carry, llvm::Value* is, llvm::Value* address);
  llvm::Value* combined(const loop::Carry& carry, llvm::Value* a, llvm::Value* b);

  CpuEmission& e_;
  llvm::IRBuilder<>& b_;
  const loop::Program& program_;
  const Barriers& barriers_;
  const int64_t without_barrier_;
  int64_t barriers_emitted_ = 0;
  uint32_t shared_bytes_ = 0;
  std::vector<Swapping> swapping_;
};

// Names of what kernels share with who runs them: the shared memory of a block.
inline constexpr const char* kSharedMemory = "shared_memory";

}  // namespace ct::jit
