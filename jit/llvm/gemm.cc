#include "jit/llvm/gemm.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "runtime/error.h"
#include "runtime/pool.h"
#include "runtime/processor.h"

namespace ct::jit {

namespace {

// With fewer strips of rows than this, threads share the columns.
constexpr int64_t kFewUnits = 8;
// And with at least so many panels where b is larger than a.
constexpr int64_t kFewPanels = 4;

}  // namespace

GemmEmitter::GemmEmitter(CpuEmission& e, const loop::Gemm& gemm)
    : MatrixCode(
          e, real_dtype(e.program.buffers[gemm.c.buffer].dtype) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32),
      gemm_(gemm),
      ready_level_(ready_level(e.code.module)) {}

bool GemmEmitter::is_long() const {
  constexpr double kLongProduct = 1e6;  // nanoseconds
  return e_.stops.wanted && e_.cost.gemm(gemm_) >= kLongProduct;
}

void GemmEmitter::poll(int64_t multiply_adds) {
  if (is_long()) jit::poll(e_, static_cast<double>(multiply_adds) * kProcessor.multiply_add(dtype_));
}

void GemmEmitter::emit() {
  Problem problem{gemm_.m,
                  gemm_.n,
                  gemm_.k,
                  view(gemm_.a),
                  view(gemm_.b),
                  view(gemm_.c),
                  gemm_.accumulate,
                  uniform_index(e_, gemm_.rows),
                  uniform_index(e_, gemm_.columns),
                  uniform_index(e_, gemm_.steps)};
  if (problem.m == 0 || problem.n == 0) return;
  if (problem.k == 0) {
    if (!problem.accumulate) clear(problem.c, problem.m, problem.n);
    return;
  }
  if (is_complex(e_.program.buffers[gemm_.c.buffer].dtype)) return multiply_complex(problem);
  if (takes_bfloat16(problem)) return multiply_bfloat16(problem);
  // Narrow operands are widened first: the arithmetic is the same for all.
  auto widened = [&](const View& v, int64_t m, int64_t n, llvm::Value* rows, llvm::Value* columns) {
    if (v.dtype == dtype_) return v;
    View wide{scratch(m * n), n, 1, dtype_};
    convert_copy(v, wide, rows, columns, false);
    return wide;
  };
  problem.a = widened(problem.a, problem.m, problem.k, problem.rows, problem.steps);
  problem.b = widened(problem.b, problem.k, problem.n, problem.steps, problem.columns);
  View target = problem.c;
  bool contiguous = target.column_stride == 1 || target.row_stride == 1 || problem.n == 1 || problem.m == 1;
  if (target.dtype == dtype_ && contiguous) return multiply(problem);
  bool accumulate = problem.accumulate;
  problem.c = {scratch(problem.m * problem.n), problem.n, 1, dtype_};
  problem.accumulate = false;
  multiply(problem);
  convert_copy(problem.c, target, problem.rows, problem.columns, accumulate);
}

// One row is one column of the transposed product.
GemmEmitter::Problem GemmEmitter::flipped(const Problem& p) {
  return {p.n, p.m, p.k, transposed(p.b), transposed(p.a), transposed(p.c), p.accumulate, p.columns, p.rows, p.steps};
}

void GemmEmitter::multiply(const Problem& problem) {
  const ProductPlan plan = plan_product(facts_, shape_of(problem), size_);
  const Problem p = plan.flipped ? flipped(problem) : problem;
  switch (plan.form) {
    case ProductForm::kTiles:
      return multiply_tiled(p);
    case ProductForm::kDots:
      return multiply_dots(p);
    case ProductForm::kDotTiles:
      return multiply_dot_tiles(p);
  }
}

ProductShape GemmEmitter::shape_of(const Problem& p) {
  const auto strides = [](const View& v) { return ProductStrides{v.row_stride, v.column_stride}; };
  const auto is_known = [](const llvm::Value* value) { return llvm::isa<llvm::ConstantInt>(value); };
  return {p.m,
          p.n,
          p.k,
          strides(p.a),
          strides(p.b),
          strides(p.c),
          is_known(p.rows),
          is_known(p.columns),
          is_known(p.steps),
          p.complex,
          p.pairs};
}

// --------------------------------------------------------------------------------------------------------------- tiled

void GemmEmitter::multiply_tiled(const Problem& p) {
  const ProductShape shape = shape_of(p);
  const Tiling t = choose_tiling(facts_, shape, size_);
  if (call_ready_product(p, t)) return;
  bool accumulate = p.accumulate;
  if (t.k_block < p.k && !accumulate) {
    clear(p.c, p.m, p.n);
    accumulate = true;
  }
  if (share_panels(p, t)) {
    multiply_by_panels(p, t, accumulate);
  } else {
    multiply_by_rows(p, t, accumulate);
  }
}

// Who packs a panel has it in the cache that multiplies with it. That decides where b is the larger operand, and where
// a is small enough for all to read.
bool GemmEmitter::share_panels(const Problem& p, const Tiling& t) const {
  if (p.pairs) return false;
  const int64_t panels = panels_of(shape_of(p), t);
  const bool enough_rows = divide_up(p.m, t.rows) >= std::min<int64_t>(kFewUnits, panels);
  const bool has_much = t.pack || p.k * p.n * size_ > facts_.l2_bytes / 4;
  const bool keeps_panels = p.n >= 2 * p.m || (has_much && !t.copy_a && p.m <= 4 * p.n);
  return !enough_rows || (panels >= kFewPanels && keeps_panels);
}

void GemmEmitter::for_blocks(const Problem& p, const Tiling& t, llvm::function_ref<void(const Block&)> body) {
  // Of no steps, too, there is a block.
  if (t.k_block >= p.k) return body({p.steps, p.a, p.b, nullptr, nullptr, false});
  const bool all = llvm::isa<llvm::ConstantInt>(p.steps);
  for_range(p.steps, t.k_block, [&](llvm::Value* k_begin) {
    Block block{number(t.k_block), p.a, p.b, nullptr, nullptr, false};
    if (!all || p.k % t.k_block != 0) block.k_count = least(block.k_count, b_.CreateSub(p.steps, k_begin));
    block.a.pointer = offset(p.a, number(0), p.pairs ? half(k_begin) : k_begin);
    block.b.pointer = offset(p.b, p.complex ? half(k_begin) : k_begin, number(0));
    body(block);
  });
}

void GemmEmitter::multiply_by_rows(const Problem& p, const Tiling& t, bool accumulate) {
  const int64_t panels = panels_of(shape_of(p), t), strips = divide_up(p.m, t.rows);
  llvm::Value* packed = t.pack ? scratch(t.k_block * panels * t.width()) : nullptr;
  llvm::Value* panels_there = up_to_multiples(p.columns, t.width());
  for_blocks(p, t, [&](Block block) {
    block.accumulate = accumulate;
    block.packed = packed;
    if (t.pack) {
      share(panels_there, panels, t.k_block * t.width() * kPackCost, [&](llvm::Value* begin, llvm::Value* end) {
        llvm::Value* to = b_.CreateInBoundsGEP(real_, packed, times(begin, t.k_block * t.width()));
        pack_panels(p, t, block, begin, end, to);
      });
    }
    share(up_to_multiples(p.rows, t.rows), strips, t.rows * p.n * t.k_block, [&](llvm::Value* begin, llvm::Value* end) {
      llvm::Value* last = least(times(end, t.rows), number(p.m));
      if (!t.copy_a) {
        return multiply_block(p, t, block, times(begin, t.rows), last, number(0), panels_there);
      }
      llvm::Value* copy = scratch(t.a_rows * (in_strips(shape_of(p)) ? t.k_block : a_stride(t)));
      for_range(times(begin, t.rows), last, t.a_rows, [&](llvm::Value* first) {
        llvm::Value* end_of_copy = least(b_.CreateAdd(first, number(t.a_rows)), last);
        Block copied = block;
        if (in_strips(shape_of(p))) {
          copied.strips = pack_strips(p, t, block, first, end_of_copy, copy);
        } else {
          copied.a = copy_rows(t, block, first, end_of_copy, copy);
        }
        multiply_block(p, t, copied, first, end_of_copy, number(0), panels_there);
      });
    });
  });
}

// Each panel is packed when its turn comes, by who multiplies with it.
void GemmEmitter::multiply_by_panels(const Problem& p, const Tiling& t, bool accumulate) {
  llvm::Value* last = least(times(up_to_multiples(p.rows, t.rows), t.rows), number(p.m));
  llvm::Value* panels = up_to_multiples(p.columns, t.width());
  share(panels, panels_of(shape_of(p), t), p.m * p.k * t.width(), [&](llvm::Value* begin, llvm::Value* end) {
    llvm::Value* packed = t.pack ? scratch(t.k_block * t.width()) : nullptr;
    for_blocks(p, t, [&](Block block) {
      block.accumulate = accumulate;
      if (!t.pack) return multiply_block(p, t, block, number(0), last, begin, end);
      for_range(begin, end, 1, [&](llvm::Value* panel) {
        llvm::Value* next = b_.CreateAdd(panel, number(1));
        pack_panels(p, t, block, panel, next, packed);
        Block one = block;
        // multiply_block counts from the first panel of all.
        one.packed = b_.CreateGEP(real_, packed, b_.CreateNeg(times(panel, t.k_block * t.width())));
        multiply_block(p, t, one, number(0), last, panel, next);
      });
    });
  });
}

void GemmEmitter::multiply_block(const Problem& p, const Tiling& t, const Block& block, llvm::Value* first,
                                 llvm::Value* last, llvm::Value* begin, llvm::Value* end) {
  if (call_ready_block(p, t, block, first, last, begin, end)) return;
  const int64_t width = t.width(), full_rows = p.m / t.rows * t.rows, full_columns = p.n / width * width;
  llvm::Value* edge_buffer = !has_masks_ && p.n % t.lanes != 0 ? scratch(t.rows * width) : nullptr;
  auto panel = [&](llvm::Value* column, int64_t columns) {
    View tile_b = block.b;
    if (t.pack) {
      // Panels lie one after the other, each k_block x width.
      tile_b = {b_.CreateInBoundsGEP(real_, block.packed, times(column, t.k_block)), width, 1, dtype_};
    } else {
      tile_b.pointer = offset(block.b, number(0), column);
    }
    auto strip = [&](llvm::Value* row, int64_t rows) {
      poll(rows * columns * t.k_block);
      View tile_a = block.a, tile_c = p.c;
      if (block.strips != nullptr) {
        tile_a = {b_.CreateGEP(real_, block.strips, times(row, t.k_block)), 1, t.rows, dtype_};
      } else {
        tile_a.pointer = offset(block.a, row, number(0));
      }
      tile_c.pointer = offset(p.c, row, column);
      tile(t, rows, columns, block.k_count, tile_a, tile_b, tile_c, block.accumulate, edge_buffer);
    };
    for_range(first, least(last, number(full_rows)), t.rows, [&](llvm::Value* row) { strip(row, t.rows); });
    // In the last range only: at most once.
    if (const int64_t rest = p.m - full_rows; rest > 0)
      for_range(number(full_rows), last, t.rows, [&](llvm::Value* row) { strip(row, rest); });
  };
  for_range(times(begin, width), least(times(end, width), number(full_columns)), width,
            [&](llvm::Value* column) { panel(column, width); });
  if (const int64_t rest = p.n - full_columns; rest > 0)
    for_range(number(full_columns), times(end, width), width, [&](llvm::Value* column) { panel(column, rest); });
}

// Of a row of the copy: never a multiple of a large power of two.
int64_t GemmEmitter::a_stride(const Tiling& t) const {
  const int64_t line = 64 / size_;
  return divide_up(t.k_block, 2 * line) * 2 * line + line;
}

GemmEmitter::View GemmEmitter::copy_rows(const Tiling& t, const Block& block, llvm::Value* first, llvm::Value* last,
                                         llvm::Value* to) {
  View from = block.a;
  from.pointer = offset(block.a, first, number(0));
  View copy{to, a_stride(t), 1, dtype_};
  convert_copy(from, copy, b_.CreateSub(last, first), block.k_count, false);
  // As if its first row were the matrix's.
  copy.pointer = b_.CreateGEP(real_, to, b_.CreateNeg(times(first, copy.row_stride)));
  return copy;
}

// What a tile reads of contiguous columns are a few elements of each: put together, they are a fraction of the cache
// lines and pages that they lie on where they are.
llvm::Value* GemmEmitter::pack_strips(const Problem& p, const Tiling& t, const Block& block, llvm::Value* first,
                                      llvm::Value* last, llvm::Value* to) {
  if (p.pairs) return pack_complex_strips(p, t, block, first, last, to);
  llvm::Value* strips = b_.CreateGEP(real_, to, b_.CreateNeg(times(first, t.k_block)));
  const int64_t full_rows = p.m / t.rows * t.rows, rest = p.m - full_rows;
  for_range(block.k_count, 1, [&](llvm::Value* k) {
    llvm::Value* target = b_.CreateGEP(real_, strips, times(k, t.rows));
    auto copy = [&](llvm::Value* row, int64_t rows) {
      const auto lanes = static_cast<unsigned>(rows);
      store_vector(load_vector(offset(block.a, row, k), lanes, lanes),
                   b_.CreateGEP(real_, target, times(row, t.k_block)), rows);
    };
    for_range(first, least(last, number(full_rows)), t.rows, [&](llvm::Value* row) { copy(row, t.rows); });
    if (rest > 0) for_range(number(full_rows), last, t.rows, [&](llvm::Value* row) { copy(row, rest); });
  });
  return strips;
}

void GemmEmitter::pack_panels(const Problem& p, const Tiling& t, const Block& block, llvm::Value* begin,
                              llvm::Value* end, llvm::Value* packed) {
  if (p.complex) return pack_complex_panels(p, t, block, begin, end, packed);
  const int64_t width = t.width();
  const View& b = block.b;
  llvm::Value* k_count = block.k_count;
  llvm::Value* first = times(begin, width);
  auto panel_at = [&](llvm::Value* column) {
    return b_.CreateInBoundsGEP(real_, packed, times(b_.CreateSub(column, first), t.k_block));
  };
  // `columns` of the panel from rows; the rest of its width zeros.
  auto by_elements = [&](llvm::Value* column, int64_t columns) {
    View to{panel_at(column), width, 1, dtype_};
    View from = b;
    from.pointer = offset(b, number(0), column);
    if (columns < width) {
      b_.CreateMemSet(to.pointer, b_.getInt8(0), times(k_count, width * size_), align_);
    }
    convert_copy(from, to, k_count, number(columns), false);
  };
  int64_t full = p.n / width * width;
  for_range(first, least(times(end, width), number(full)), width, [&](llvm::Value* column) {
    View from = b;
    from.pointer = offset(b, number(0), column);
    llvm::Value* to = panel_at(column);
    if (b.column_stride == 1) {
      for_range(k_count, 1, [&](llvm::Value* k) {
        llvm::Value* row = offset(from, k, number(0));
        llvm::Value* target = b_.CreateInBoundsGEP(real_, to, b_.CreateMul(k, number(width)));
        for (int64_t v = 0; v < t.vectors; ++v) {
          store_vector(load_vector(offset(row, v * t.lanes), t.lanes, t.lanes), offset(target, v * t.lanes), t.lanes);
        }
      });
      return;
    }
    if (b.row_stride != 1) return by_elements(column, width);
    // Contiguous along k: square blocks transposed in registers, then what is left of k.
    const unsigned block_size = lanes_of_transposes(t.lanes);
    llvm::Function* transpose = transpose_function(block_size);
    llvm::Value* whole = b_.CreateAnd(k_count, number(-static_cast<int64_t>(block_size)));
    for_range(whole, block_size, [&](llvm::Value* k) {
      for_range(number(width), block_size, [&](llvm::Value* j) {
        View block = from;
        block.pointer = offset(from, k, j);
        llvm::Value* target = b_.CreateInBoundsGEP(real_, to, b_.CreateAdd(b_.CreateMul(k, number(width)), j));
        b_.CreateCall(transpose, {block.pointer, number(block.column_stride), target, number(width)});
      });
    });
    View rest_from = from;
    rest_from.pointer = offset(from, whole, number(0));
    View rest_to{b_.CreateInBoundsGEP(real_, to, b_.CreateMul(whole, number(width))), width, 1, dtype_};
    convert_copy(rest_from, rest_to, b_.CreateSub(k_count, whole), number(width), false);
  });
  if (full < p.n) {
    for_range(number(full), times(end, width), width, [&](llvm::Value* column) { by_elements(column, p.n - full); });
  }
}

// A function of the module, shared by its products: lanes x lanes elements, contiguous down the columns of the source,
// to rows of the destination, by log2(lanes) rounds of exchanges between registers. Strides are in elements.
llvm::Function* GemmEmitter::transpose_function(unsigned lanes) {
  const int64_t which = transpose_number(dtype_, lanes);
  const bool ready = e_.sharing.in_process() && is_ready(ready_level_, which);
  const std::string name = ready ? ready_symbol(ready_level_, which)
                                 : "transpose." + std::to_string(8 * size_) + "." + std::to_string(lanes);
  if (llvm::Function* known = e_.code.module.getFunction(name)) return known;
  llvm::Type *pointer = b_.getPtrTy(), *i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, i64, pointer, i64}, false);
  if (ready) {
    auto* there = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, e_.code.module);
    there->addFnAttr(llvm::Attribute::NoUnwind);
    return there;
  }
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::PrivateLinkage, name, e_.code.module);
  e_.code.target.set_attributes(function);
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(e_.code.context, "entry", function));
  auto line = [&](unsigned base, unsigned i) {
    return b_.CreateInBoundsGEP(real_, function->getArg(base), b_.CreateMul(function->getArg(base + 1), number(i)));
  };
  std::vector<llvm::Value*> lines;
  for (unsigned j = 0; j < lanes; ++j) lines.push_back(load_vector(line(0, j), lanes, lanes));
  for (unsigned distance = 1; distance < lanes; distance *= 2) {
    // A block for each round: instruction selection looks for shorter sequences of shuffles among all of a block's, and
    // there are none.
    auto* round = llvm::BasicBlock::Create(e_.code.context, "round", function);
    b_.CreateBr(round);
    b_.SetInsertPoint(round);
    llvm::SmallVector<int, 16> first, second;
    for (unsigned i = 0; i < lanes; ++i) {
      bool upper = (i & distance) != 0;
      first.push_back(static_cast<int>(upper ? lanes + i - distance : i));
      second.push_back(static_cast<int>(upper ? lanes + i : i + distance));
    }
    for (unsigned j = 0; j < lanes; ++j) {
      if ((j & distance) != 0) continue;
      llvm::Value *a = lines[j], *b = lines[j + distance];
      lines[j] = b_.CreateShuffleVector(a, b, first);
      lines[j + distance] = b_.CreateShuffleVector(a, b, second);
    }
  }
  for (unsigned j = 0; j < lanes; ++j) store_vector(lines[j], line(2, j), lanes);
  b_.CreateRetVoid();
  return function;
}

}  // namespace ct::jit
