// Products of matrices by blocks of threads. A block makes a tile of the result at a time: it brings pieces of both
// operands to shared memory, from where each thread takes what its elements need into registers.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "jit/llvm/block_scope.h"

namespace ct::jit {

using loop::Gemm;
using loop::Matrix;

namespace {

// A thread has kOwn x kOwn elements of a tile, kAcross apart.
constexpr int64_t kAcross = 16, kOwn = kProductTile / kAcross;
static_assert(kAcross * kAcross == kBlockThreads);
constexpr int64_t kSteps = 16;   // of the inner dimension at once
constexpr int64_t kSpan = 1024;  // of longer sums, steps that are added up before they are added to the rest
constexpr int64_t kPitch = kProductTile + 1;  // so that neighbours in either direction lie in different banks

}  // namespace

// One of the operands: a piece of `along` rows or columns, and of kSteps steps.
struct BlockScope::Operand {
  const Matrix& matrix;
  int64_t stride;       // from row to row, or column to column
  int64_t step_stride;  // along the inner dimension
  llvm::Value* first;   // row or column of the tile
  llvm::Value* count;   // of these that there are; null: all of every tile
  uint32_t shared;      // bytes
};

BlockScope::Product::Product(BlockScope& scope, const Gemm& product)
    : gemm(product),
      dtype(scope.program_.buffers[gemm.c.buffer].dtype),
      type(register_type(scope.e_.code.context, dtype)),
      rows(uniform_index(scope.e_, gemm.rows)),
      columns(uniform_index(scope.e_, gemm.columns)),
      steps(uniform_index(scope.e_, gemm.steps)),
      whole_rows(gemm.rows == loop::Index(gemm.m) && gemm.m % kProductTile == 0),
      whole_columns(gemm.columns == loop::Index(gemm.n) && gemm.n % kProductTile == 0),
      whole_steps(gemm.steps == loop::Index(gemm.k) && gemm.k % kSteps == 0) {}

llvm::Value* BlockScope::element(const Matrix& matrix, llvm::Value* row, llvm::Value* column) {
  llvm::Value* index = b_.CreateAdd(b_.CreateMul(row, b_.getInt64(matrix.row_stride)),
                                    b_.CreateMul(column, b_.getInt64(matrix.column_stride)));
  return e_.addresses.element_pointer(matrix.buffer, b_.CreateAdd(uniform_index(e_, matrix.offset), index));
}

// Threads next to each other bring what lies next to each other.
void BlockScope::bring(const Product& product, const Operand& operand, llvm::Value* first_step) {
  const DType dtype = program_.buffers[operand.matrix.buffer].dtype;
  llvm::Type* stored = memory_type(e_.code.context, dtype);
  llvm::Value* shared =
      shared_memory(operand.shared, static_cast<uint32_t>(kSteps * kPitch * dtype_size(product.wide())));
  const bool along_steps = operand.step_stride == 1 && operand.stride != 1;
  const int64_t width = along_steps ? kSteps : kProductTile;
  for (int64_t part = 0; part < kProductTile * kSteps / kBlockThreads; ++part) {
    llvm::Value* number = b_.CreateAdd(thread(), b_.getInt64(part * kBlockThreads));
    llvm::Value *fast = b_.CreateURem(number, b_.getInt64(width)), *slow = b_.CreateUDiv(number, b_.getInt64(width));
    llvm::Value *step = along_steps ? fast : slow, *place = along_steps ? slow : fast;
    llvm::Value *at_step = b_.CreateAdd(first_step, step), *at_place = b_.CreateAdd(operand.first, place);
    llvm::Value* is_there = nullptr;
    if (!product.whole_steps) is_there = b_.CreateICmpSLT(at_step, product.steps);
    if (operand.count != nullptr) {
      llvm::Value* in_matrix = b_.CreateICmpSLT(at_place, operand.count);
      is_there = is_there == nullptr ? in_matrix : b_.CreateAnd(is_there, in_matrix);
    }
    llvm::Value* value = e_.code.if_true(is_there, llvm::ConstantFP::getZero(product.type), [&]() -> llvm::Value* {
      llvm::Value* index = b_.CreateAdd(b_.CreateMul(at_place, b_.getInt64(operand.stride)),
                                        b_.CreateMul(at_step, b_.getInt64(operand.step_stride)));
      llvm::Value* address = e_.addresses.element_pointer(
          operand.matrix.buffer, b_.CreateAdd(uniform_index(e_, operand.matrix.offset), index));
      return e_.math.decode(b_.CreateLoad(stored, address), dtype);
    });
    llvm::Value* to = b_.CreateAdd(b_.CreateMul(step, b_.getInt64(kPitch)), place);
    b_.CreateStore(value, b_.CreateInBoundsGEP(product.type, shared, to));
  }
}

void BlockScope::product_tile(const Product& product, llvm::Value* first_row, llvm::Value* first_column,
                              Epilogue epilogue) {
  const Gemm& gemm = product.gemm;
  const auto bytes = static_cast<uint32_t>(kSteps * kPitch * dtype_size(product.wide()));
  const Operand a{
      gemm.a, gemm.a.row_stride, gemm.a.column_stride, first_row, product.whole_rows ? nullptr : product.rows, 0};
  const Operand b{gemm.b,
                  gemm.b.column_stride,
                  gemm.b.row_stride,
                  first_column,
                  product.whole_columns ? nullptr : product.columns,
                  (bytes + 15) / 16 * 16};
  llvm::Value *row = b_.CreateUDiv(thread(), b_.getInt64(kAcross)),
              *column = b_.CreateURem(thread(), b_.getInt64(kAcross));
  LlvmValues zeros(kOwn * kOwn, llvm::ConstantFP::getZero(product.type));
  const auto piece = [&](llvm::Value* first_step, const LlvmValues& before) {
    barrier();
    bring(product, a, first_step);
    bring(product, b, first_step);
    barrier();
    LlvmValues after = before;
    for (int64_t step = 0; step < kSteps; ++step) {
      const auto own = [&](const Operand& operand, llvm::Value* first) {
        LlvmValues values;
        llvm::Value* shared = shared_memory(operand.shared, bytes);
        for (int64_t i = 0; i < kOwn; ++i) {
          llvm::Value* at = b_.CreateAdd(first, b_.getInt64(step * kPitch + i * kAcross));
          values.push_back(b_.CreateLoad(product.type, b_.CreateInBoundsGEP(product.type, shared, at)));
        }
        return values;
      };
      const LlvmValues of_a = own(a, row), of_b = own(b, column);
      for (int64_t i = 0; i < kOwn; ++i) {
        for (int64_t j = 0; j < kOwn; ++j) {
          llvm::Value*& sum = after[i * kOwn + j];
          sum = e_.math.fma(of_a[i], of_b[j], sum);
        }
      }
    }
    return after;
  };
  const auto add = [&](size_t, llvm::Value* a, llvm::Value* b) { return b_.CreateFAdd(a, b); };
  llvm::Value* first = b_.getInt64(0);
  const LlvmValues sums = gemm.k <= 2 * kSpan ? e_.code.run_loop(first, product.steps, kSteps, zeros, piece)
                                              : e_.code.run_in_spans(first, product.steps, kSteps, kSpan / kSteps,
                                                                     zeros, zeros, piece, add);
  for (int64_t i = 0; i < kOwn; ++i) {
    llvm::Value* at_row = b_.CreateAdd(first_row, b_.CreateAdd(row, b_.getInt64(i * kAcross)));
    for (int64_t j = 0; j < kOwn; ++j) {
      llvm::Value* at_column = b_.CreateAdd(first_column, b_.CreateAdd(column, b_.getInt64(j * kAcross)));
      llvm::Value* is_there = nullptr;
      if (!product.whole_rows || !product.whole_columns) {
        is_there = b_.CreateAnd(b_.CreateICmpSLT(at_row, product.rows), b_.CreateICmpSLT(at_column, product.columns));
      }
      e_.code.if_true(is_there, nullptr, [&]() -> llvm::Value* {
        llvm::Value *address = element(gemm.c, at_row, at_column), *sum = sums[i * kOwn + j];
        if (gemm.accumulate) {
          llvm::Type* stored = memory_type(e_.code.context, product.dtype);
          sum = b_.CreateFAdd(e_.math.decode(b_.CreateLoad(stored, address), product.dtype), sum);
        }
        b_.CreateStore(e_.math.encode(sum, product.dtype), address);
        return nullptr;
      });
    }
  }
  if (epilogue) for_own_elements(product, first_row, first_column, epilogue);
}

// One after the other: the code of an epilogue is there once, and has the registers for itself.
void BlockScope::for_own_elements(const Product& product, llvm::Value* first_row, llvm::Value* first_column,
                                  Epilogue body) {
  llvm::Value* across = b_.getInt64(kAcross);
  llvm::Value *row = b_.CreateAdd(first_row, b_.CreateUDiv(thread(), across)),
              *column = b_.CreateAdd(first_column, b_.CreateURem(thread(), across));
  strided({b_.getInt64(0), b_.getInt64(1)}, b_.getInt64(kOwn * kOwn), [&](llvm::Value* number) {
    llvm::Value *i = b_.CreateUDiv(number, b_.getInt64(kOwn)), *j = b_.CreateURem(number, b_.getInt64(kOwn));
    llvm::Value* at_row = b_.CreateAdd(row, b_.CreateMul(i, across));
    llvm::Value* at_column = b_.CreateAdd(column, b_.CreateMul(j, across));
    llvm::Value* is_there = nullptr;
    if (!product.whole_rows || !product.whole_columns) {
      is_there = b_.CreateAnd(b_.CreateICmpSLT(at_row, product.rows), b_.CreateICmpSLT(at_column, product.columns));
    }
    e_.code.if_true(is_there, nullptr, [&]() -> llvm::Value* {
      body(at_row, at_column);
      return nullptr;
    });
  });
}

// A tile by its number: rows of tiles, those that hold something.
void BlockScope::product_tile(const Product& product, llvm::Value* number, Epilogue epilogue) {
  const int64_t across = tiles_across(product.gemm.n);
  llvm::Value* tile = b_.getInt64(kProductTile);
  llvm::Value* row = b_.CreateMul(b_.CreateUDiv(number, b_.getInt64(across)), tile);
  llvm::Value* column = b_.CreateMul(b_.CreateURem(number, b_.getInt64(across)), tile);
  llvm::Value* holds = nullptr;
  if (!product.whole_rows || !product.whole_columns) {
    holds = b_.CreateAnd(b_.CreateICmpSLT(row, product.rows), b_.CreateICmpSLT(column, product.columns));
  }
  e_.code.if_true(holds, nullptr, [&]() -> llvm::Value* {
    product_tile(product, row, column, epilogue);
    return nullptr;
  });
}

void BlockScope::product(const Gemm& gemm) {
  const Product product(*this, gemm);
  strided({b_.getInt64(0), b_.getInt64(1)}, b_.getInt64(tiles_of(gemm)),
          [&](llvm::Value* tile) { product_tile(product, tile, nullptr); });
}

// Those of all products of a nest, which blocks share out.
void BlockScope::products_on_grid(const loop::Statement& s, absl::Span<const loop::Statement* const> epilogues) {
  const ProductNest nest = *product_nest(program_, s);
  const int64_t tiles = tiles_of(*nest.product);
  const auto item = [&](llvm::Intrinsic::ID id) { return special(id); };
  const Stride blocks{item(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x),
                      item(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x)};
  strided(blocks, b_.getInt64(nest.items * tiles), [&](llvm::Value* number) {
    llvm::Value* rest = b_.CreateUDiv(number, b_.getInt64(tiles));
    int64_t below = nest.items;
    e_.scope = nullptr;
    for (const loop::For* level : nest.loops) {
      below /= level->extent.constant();
      e_.values.define(level->variable, b_.CreateUDiv(rest, b_.getInt64(below)));
      rest = b_.CreateURem(rest, b_.getInt64(below));
      const auto end = static_cast<uint32_t>(program_.blocks[level->body].statements.size() - 1);
      emit_statements(e_, level->body, 0, end, {});
    }
    e_.scope = this;
    const Product product(*this, *nest.product);
    llvm::Value *product_number = b_.CreateUDiv(number, b_.getInt64(tiles)),
                *tile = b_.CreateURem(number, b_.getInt64(tiles));
    const auto epilogue = [&](llvm::Value* row, llvm::Value* column) {
      llvm::Value* at_row = b_.CreateAdd(b_.CreateMul(product_number, b_.getInt64(nest.product->m)), row);
      llvm::Value* item = b_.CreateAdd(b_.CreateMul(at_row, b_.getInt64(nest.product->n)), column);
      e_.scope = nullptr;
      for (const loop::Statement* each : epilogues) item_of(nest_of(program_, program_.fors[each->detail]), item);
      e_.scope = this;
    };
    product_tile(product, tile, epilogues.empty() ? Epilogue() : Epilogue(epilogue));
  });
}

}  // namespace ct::jit
