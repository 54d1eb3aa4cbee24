// Register tiles: as a part of the program whose product it is, or as functions that are there already (tiles.h).
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>

#include "jit/llvm/gemm.h"

namespace ct::jit {

namespace {

// More would not stay in the instruction cache's window.
constexpr int64_t kMostMultiplyAdds = 40;

int64_t register_rows(const TargetFacts& facts, int64_t vectors) {
  return std::min((facts.vector_registers - vectors - 1) / vectors, kMostTileRows);
}

}  // namespace

// Processors multiply an index by up to 8.
GemmEmitter::Stride GemmEmitter::stride(llvm::Value* bytes, int64_t most_times) {
  Stride stride{bytes, {}};
  stride.times.resize(static_cast<size_t>(most_times), nullptr);
  for (int64_t i = 1; i < most_times; ++i) {
    const int64_t factor = i >> std::min(std::countr_zero(static_cast<uint64_t>(i)), 3);
    llvm::Value*& known = stride.times[static_cast<size_t>(factor)];
    if (known == nullptr) known = factor == 1 ? bytes : times(bytes, factor);
  }
  return stride;
}

llvm::Value* GemmEmitter::moved(llvm::Value* pointer, const Stride& stride, int64_t times) {
  if (times == 0) return pointer;
  const int shift = std::min(std::countr_zero(static_cast<uint64_t>(times)), 3);
  llvm::Value* bytes = stride.times[static_cast<size_t>(times >> shift)];
  if (shift != 0) bytes = b_.CreateShl(bytes, static_cast<uint64_t>(shift));
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), pointer, bytes);
}

LlvmValues GemmEmitter::tile_sums(const TileShape& t, llvm::Value* k_count, int64_t unroll, llvm::Value* a,
                                  const Stride& a_row, const Stride& a_column, llvm::Value* b, const Stride& b_row,
                                  llvm::Value* mask) {
  auto step = [&](llvm::Value* a_at, llvm::Value* b_at, LlvmValues& sums) {
    llvm::SmallVector<llvm::Value*, 8> of_b;
    for (int64_t v = 0; v < t.vectors; ++v)
      of_b.push_back(load_vector(offset(b_at, v * t.lanes), t.lanes, v + 1 < t.vectors ? nullptr : mask));
    for (int64_t r = 0; r < t.rows; ++r) {
      llvm::Value* of_a = broadcast(moved(a_at, a_row, r), t.lanes);
      for (int64_t v = 0; v < t.vectors; ++v) {
        llvm::Value*& sum = sums[r * t.vectors + v];
        sum = e_.math.fma(of_a, of_b[v], sum);
      }
    }
  };
  LlvmValues carries(t.rows * t.vectors, llvm::Constant::getNullValue(vector_type(t.lanes)));
  carries.push_back(a);
  carries.push_back(b);
  auto steps = [&](llvm::Value* begin, llvm::Value* end, int64_t count) {
    carries = e_.code.run_loop(begin, end, count, carries, [&](llvm::Value*, const LlvmValues& arguments) {
      LlvmValues sums = arguments;
      llvm::Value* b_at = sums.pop_back_val();
      llvm::Value* a_at = sums.pop_back_val();
      for (int64_t u = 0; u < count; ++u) step(moved(a_at, a_column, u), moved(b_at, b_row, u), sums);
      sums.push_back(moved(a_at, a_column, count));
      sums.push_back(moved(b_at, b_row, count));
      return sums;
    });
  };
  llvm::Value* whole = unroll == 1 ? k_count : b_.CreateAnd(k_count, number(-unroll));
  steps(number(0), whole, unroll);
  if (unroll > 1) steps(whole, k_count, 1);
  carries.resize(static_cast<size_t>(t.rows * t.vectors));
  return carries;
}

void GemmEmitter::prefetch_tile(const TileShape& t, llvm::Value* c, const Stride& c_row) {
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t v = 0; v < t.vectors; ++v) {
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {offset(moved(c, c_row, r), v * t.lanes), b_.getInt32(1), b_.getInt32(3), b_.getInt32(1)});
    }
  }
}

void GemmEmitter::store_tile(const TileShape& t, const LlvmValues& sums, llvm::Value* c, const Stride& c_row,
                             llvm::Value* mask, bool accumulate) {
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t v = 0; v < t.vectors; ++v) {
      llvm::Value *sum = sums[r * t.vectors + v], *to = offset(moved(c, c_row, r), v * t.lanes);
      llvm::Value* active = v + 1 < t.vectors ? nullptr : mask;
      if (accumulate) sum = b_.CreateFAdd(load_vector(to, t.lanes, active), sum);
      store_vector(sum, to, active);
    }
  }
}

void GemmEmitter::tile(const Tiling& t, int64_t rows, int64_t columns, llvm::Value* k_count, const View& a,
                       const View& b, const View& c, bool accumulate, llvm::Value* edge_buffer) {
  const TileShape shape{t.lanes, rows, divide_up(columns, t.lanes)};
  const int64_t active = columns - (shape.vectors - 1) * t.lanes;
  llvm::Value* mask = active < t.lanes ? first_lanes(t.lanes, active) : nullptr;
  auto bytes = [&](int64_t elements, int64_t most_times) { return stride(number(elements * size_), most_times); };
  const Stride c_row = bytes(c.row_stride, rows);
  // The sums so far come from far away: on their way while the tile is computed.
  if (t.copy_a && accumulate) prefetch_tile(shape, c.pointer, c_row);
  int64_t unroll = 1;
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(k_count)) {
    for (int64_t times : {4, 2}) {
      if (known->getSExtValue() % times == 0 && rows * shape.vectors * times <= kMostMultiplyAdds) {
        unroll = times;
        break;
      }
    }
  }
  // Packed panels are padded: whole vectors are always there.
  const LlvmValues sums =
      tile_sums(shape, k_count, unroll, a.pointer, bytes(a.row_stride, rows), bytes(a.column_stride, unroll + 1),
                b.pointer, bytes(b.row_stride, unroll + 1), t.pack ? nullptr : mask);
  if (edge_buffer == nullptr || mask == nullptr) return store_tile(shape, sums, c.pointer, c_row, mask, accumulate);
  store_tile(shape, sums, edge_buffer, bytes(t.width(), rows), nullptr, false);
  convert_copy({edge_buffer, t.width(), 1, dtype_}, c, number(rows), number(columns), accumulate);
}

// -------------------------------------------------------------------------------------------------------- ready-made

std::vector<TileKind> GemmEmitter::ready_kinds() const {
  std::vector<TileKind> kinds;
  for (unsigned lanes = most_lanes(); lanes * size_ >= 16; lanes /= 2) {
    // Shorter vectors are for what has only one across.
    for (int64_t vectors = 1; vectors <= (lanes == most_lanes() ? kMostTileVectors : 1); ++vectors) {
      for (int64_t rows = 1; rows <= register_rows(facts_, vectors); ++rows) {
        for (bool by_columns : {false, true}) {
          kinds.push_back({dtype_, lanes, rows, vectors, by_columns, false});
          if (has_masks_) kinds.push_back({dtype_, lanes, rows, vectors, by_columns, true});
        }
      }
    }
  }
  return kinds;
}

std::vector<unsigned> GemmEmitter::transposed_lanes() const {
  std::vector<unsigned> all;
  for (unsigned lanes = lanes_of_transposes(most_lanes()); lanes * size_ >= 16; lanes /= 2) all.push_back(lanes);
  return all;
}

// Of a, b, c, how many rows, how many steps, and the TileParameters.
llvm::FunctionType* GemmEmitter::ready_tile_type() {
  llvm::Type *pointer = b_.getPtrTy(), *i64 = b_.getInt64Ty();
  return llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, i64, i64, pointer}, false);
}

llvm::Function* GemmEmitter::emit_ready_tile(const TileKind& kind) {
  auto* function =
      llvm::Function::Create(ready_tile_type(), llvm::GlobalValue::InternalLinkage, "tile", e_.code.module);
  e_.code.target.set_attributes(function);
  begin_function(e_, function);
  llvm::Value *a = function->getArg(0), *b = function->getArg(1), *c = function->getArg(2);
  llvm::Value *row_count = function->getArg(3), *k_count = function->getArg(4);
  auto parameter = [&](TileParameter which) {
    return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function->getArg(5), which));
  };
  const TileShape shape{kind.lanes, kind.rows, kind.vectors};
  int64_t unroll = 4;
  while (unroll > 1 && kind.rows * kind.vectors * unroll > kMostMultiplyAdds) unroll /= 2;
  llvm::Value *a_bytes = parameter(kTileAStride), *element = number(size_);
  const Stride a_row = stride(kind.a_by_columns ? element : a_bytes, kind.rows);
  const Stride a_column = stride(kind.a_by_columns ? a_bytes : element, unroll + 1);
  const Stride b_row = stride(parameter(kTileBStride), unroll + 1);
  llvm::Value* mask = nullptr;
  if (kind.masked) {
    llvm::Type* lane = b_.getIntNTy(static_cast<unsigned>(8 * size_));
    llvm::Value* active = b_.CreateTrunc(parameter(kTileActive), lane);
    mask = b_.CreateICmpSLT(lane_numbers(lane, kind.lanes), b_.CreateVectorSplat(kind.lanes, active));
    // Without registers for masks they are signs, from one block to the next as well.
    if (!facts_.masks_any_size) mask = b_.CreateSExt(mask, llvm::FixedVectorType::get(lane, kind.lanes));
  }
  // Where they are used: in the loop over k there are no registers to spare.
  auto if_flag = [&](TileFlag flag, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
    llvm::BasicBlock *set = e_.code.new_block("set"), *clear = e_.code.new_block("clear"),
                     *joined = e_.code.new_block("joined");
    b_.CreateCondBr(b_.CreateIsNotNull(b_.CreateAnd(parameter(kTileFlags), number(flag))), set, clear);
    b_.SetInsertPoint(set);
    then();
    b_.CreateBr(joined);
    b_.SetInsertPoint(clear);
    otherwise();
    b_.CreateBr(joined);
    b_.SetInsertPoint(joined);
  };
  e_.code.run_loop(number(0), row_count, kind.rows, {a, c}, [&](llvm::Value*, const LlvmValues& at) -> LlvmValues {
    llvm::Value *a_at = at[0], *c_at = at[1];
    if_flag(kTilePrefetch, [&] { prefetch_tile(shape, c_at, stride(parameter(kTileCStride), kind.rows)); }, [] {});
    const LlvmValues sums = tile_sums(shape, k_count, unroll, a_at, a_row, a_column, b, b_row, mask);
    auto store = [&](bool accumulate) {
      store_tile(shape, sums, c_at, stride(parameter(kTileCStride), kind.rows), mask, accumulate);
    };
    if_flag(kTileAccumulate, [&] { store(true); }, [&] { store(false); });
    auto advanced = [&](llvm::Value* pointer, llvm::Value* bytes) {
      return b_.CreateInBoundsGEP(b_.getInt8Ty(), pointer, bytes);
    };
    return {advanced(a_at, parameter(kTileAAdvance)), advanced(c_at, times(parameter(kTileCStride), kind.rows))};
  });
  b_.CreateRetVoid();
  return function;
}

}  // namespace ct::jit
