// Calls of what is ready-made: blocks of a product, and whole products (ready_products.h).
#include "jit/llvm/gemm.h"
#include "jit/llvm/ready_products.h"
#include "jit/llvm/sharing.h"
#include "runtime/pool.h"
#include "runtime/processor.h"

namespace ct::jit {

std::optional<ReadyBlock> GemmEmitter::ready_block(const Problem& p, const Tiling& t, const ProductStrides& a,
                                                   bool strips, bool accumulate) const {
  if (!e_.sharing.in_process() || !ready_tiles_pay(p.m, p.n, p.k)) return std::nullopt;
  const int64_t a_row = strips ? t.k_block : a.row, rest_rows = p.m % t.rows, rest_columns = p.n % t.width();
  ReadyBlock block{.level = ready_level_,
                   .full_rows = p.m - rest_rows,
                   .full_panels = p.n / t.width(),
                   .a_row = a_row * size_,
                   .b_panel = t.width() * (t.pack ? t.k_block : 1) * size_,
                   .c_row = p.c.row_stride * size_,
                   .c_panel = t.width() * size_,
                   .parts = {}};
  for (int which : {0, 1, 2, 3}) {
    const int64_t columns = which < 2 ? t.width() : rest_columns, rows = which % 2 == 0 ? t.rows : rest_rows;
    if (rows == 0 || columns == 0 || (which < 2 && block.full_panels == 0)) continue;
    const bool by_columns = strips || a.row == 1 || rows == 1;
    if (!by_columns && a.column != 1) return std::nullopt;
    const TileKind kind{dtype_, t.lanes, rows, divide_up(columns, t.lanes), by_columns, columns % t.lanes != 0};
    ReadyBlock::Part& part = block.parts[which];
    part.tile = tile_number(kind);
    if (!is_ready(ready_level_, part.tile)) return std::nullopt;
    const int64_t a_column = strips ? t.rows : a.column;
    part.parameters[kTileAStride] = (by_columns ? a_column : a.row) * size_;
    part.parameters[kTileAAdvance] = rows * block.a_row;
    part.parameters[kTileBStride] = (t.pack ? t.width() : p.b.row_stride) * size_;
    part.parameters[kTileCStride] = block.c_row;
    part.parameters[kTileActive] = columns - (kind.vectors - 1) * kind.lanes;
    if (accumulate) part.parameters[kTileFlags] = kTileAccumulate;
    if (accumulate && t.copy_a) part.parameters[kTileFlags] |= kTilePrefetch;
  }
  return block;
}

bool GemmEmitter::call_ready_block(const Problem& p, const Tiling& t, const Block& block, llvm::Value* first,
                                   llvm::Value* last, llvm::Value* begin, llvm::Value* end) {
  const bool strips = block.strips != nullptr;
  const std::optional<ReadyBlock> ready =
      ready_block(p, t, {block.a.row_stride, block.a.column_stride}, strips, block.accumulate);
  if (!ready) return false;
  llvm::Constant* constant = record(*ready, "block");
  llvm::Type *pointer = b_.getPtrTy(), *i64 = b_.getInt64Ty();
  const auto multiply =
      function_of_library(kReadyBlockSymbol, {pointer, pointer, pointer, pointer, i64, i64, i64, i64, i64});
  auto call = [&](llvm::Value* from_row, llvm::Value* to_row, llvm::Value* from_panel, llvm::Value* to_panel) {
    b_.CreateCall(multiply, {constant, strips ? block.strips : block.a.pointer, t.pack ? block.packed : block.b.pointer,
                             p.c.pointer, block.k_count, from_row, to_row, from_panel, to_panel});
  };
  if (!is_long()) {
    call(first, last, begin, end);
    return true;
  }
  for_range(begin, end, 1, [&](llvm::Value* panel) {
    for_range(first, last, t.rows, [&](llvm::Value* row) {
      poll(t.rows * t.width() * t.k_block);
      call(row, least(b_.CreateAdd(row, number(t.rows)), last), panel, b_.CreateAdd(panel, number(1)));
    });
  });
  return true;
}

bool GemmEmitter::call_ready_product(const Problem& p, const Tiling& t) {
  const ProductShape shape = shape_of(p);
  const bool strips = t.copy_a && in_strips(shape), by_panels = share_panels(p, t), clears = t.k_block < p.k;
  if (p.complex || (t.copy_a && !strips && p.a.column_stride != 1)) return false;
  const bool copies = t.copy_a && !by_panels;
  const ProductStrides a =
      copies && !strips ? ProductStrides{a_stride(t), 1} : ProductStrides{p.a.row_stride, p.a.column_stride};
  const std::optional<ReadyBlock> tiles = ready_block(p, t, a, copies && strips, clears || p.accumulate);
  const unsigned lanes = lanes_of_transposes(t.lanes);
  const int64_t transpose = transpose_number(dtype_, lanes);
  const bool turns = t.pack && p.b.column_stride != 1 && p.b.row_stride == 1;
  if (!tiles || (turns && !is_ready(ready_level_, transpose))) return false;

  const int64_t panels = panels_of(shape, t), strips_there = divide_up(p.m, t.rows);
  const double multiply_add = kProcessor.multiply_add(dtype_);
  // Of so many units: 0 where they are too few for threads to share.
  const auto time_of_unit = [&](int64_t units, int64_t multiply_adds) -> int64_t {
    const double nanoseconds = static_cast<double>(multiply_adds) * multiply_add;
    if (e_.sharing.in_range || static_cast<double>(units) * nanoseconds < Pool::kLeastHot) return 0;
    return picoseconds_of(nanoseconds);
  };
  const int64_t panel_bytes = t.k_block * t.width() * size_;
  ReadyProduct product{.size = size_,
                       .m = p.m,
                       .n = p.n,
                       .k = p.k,
                       .k_block = t.k_block,
                       .a_row = p.a.row_stride,
                       .a_column = p.a.column_stride,
                       .b_row = p.b.row_stride,
                       .b_column = p.b.column_stride,
                       .c_row = p.c.row_stride,
                       .tile_rows = t.rows,
                       .tiles = *tiles,
                       .packs = t.pack ? 1 : 0,
                       .panels = {.size = size_,
                                  .width = t.width(),
                                  .k_block = t.k_block,
                                  .full_columns = p.n / t.width() * t.width(),
                                  .columns = p.n,
                                  .row = p.b.row_stride,
                                  .column = p.b.column_stride,
                                  .level = ready_level_,
                                  .transpose = transpose,
                                  .lanes = lanes},
                       .copied_rows = copies ? t.a_rows : 0,
                       .by_strips = strips ? 1 : 0,
                       .strips = {.size = size_,
                                  .rows = t.rows,
                                  .k_block = t.k_block,
                                  .full_rows = p.m / t.rows * t.rows,
                                  .column = p.a.column_stride},
                       .copied_stride = a_stride(t),
                       .by_panels = by_panels ? 1 : 0,
                       .clears = clears && !p.accumulate ? 1 : 0,
                       .time_to_pack = by_panels ? 0 : time_of_unit(panels, t.k_block * t.width() * kPackCost),
                       .time_to_multiply = by_panels ? time_of_unit(panels, p.m * p.k * t.width())
                                                     : time_of_unit(strips_there, t.rows * p.n * t.k_block),
                       .time_of_tile = 0,
                       .nanoseconds_of_program = nanoseconds_of_program(e_),
                       .packed_bytes = t.pack && !by_panels ? aligned_scratch(panels * panel_bytes) : 0,
                       .scratch_bytes = 0};
  // Where nothing is packed, copied or shared, a call of the block is all that there is.
  if (!t.pack && !copies && !clears && product.time_to_multiply == 0 && !is_long()) return false;
  if (is_long()) {
    product.time_of_tile = picoseconds_of(static_cast<double>(t.rows * t.width() * t.k_block) * multiply_add);
  }
  if (by_panels) {
    product.scratch_bytes = t.pack ? panel_bytes : 0;
  } else if (copies) {
    product.scratch_bytes = t.a_rows * (strips ? t.k_block : a_stride(t)) * size_;
  }
  const int64_t bytes = product.packed_bytes + product.scratch_bytes;
  llvm::Value* memory = bytes == 0 ? llvm::ConstantPointerNull::get(b_.getPtrTy()) : scratch(bytes / size_);
  llvm::Type *pointer = b_.getPtrTy(), *i64 = b_.getInt64Ty();
  const auto multiply =
      function_of_library(kReadyProductSymbol, {pointer, pointer, pointer, pointer, i64, i64, i64, pointer, pointer});
  b_.CreateCall(multiply, {record(product, "product"), p.a.pointer, p.b.pointer, p.c.pointer, p.rows, p.columns,
                           p.steps, memory, program_of(e_, e_.code.function)});
  stop_if_told(e_, static_cast<double>(p.m * p.n) * static_cast<double>(p.k) * multiply_add);
  return true;
}

}  // namespace ct::jit
