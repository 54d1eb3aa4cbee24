// The Builder's loops and branches: how carries of any dtype become machine carries.
#include <algorithm>

#include "jit/loop/loop.h"
#include "jit/loop/product_loops.h"
#include "jit/loop/ranges.h"
#include "runtime/error.h"

namespace ct::loop {

namespace {

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// How one caller's carry is held in machine carries.
enum class CarryForm : uint8_t {
  kDirect,    // one machine carry per part
  kWidened,   // sums and products of float16/bfloat16: accumulated in float32, rounded once at the end
  kExplicit,  // combines that machine carries lack (complex products ...): combined in the body
};

CarryForm carry_form(const Builder::CarrySpec& spec) {
  if (!spec.combine) return CarryForm::kDirect;
  bool adds = spec.combine == ScalarOp::kAdd || spec.combine == ScalarOp::kMul;
  if (is_half(spec.init.dtype) && adds) return CarryForm::kWidened;
  if (is_complex(spec.init.dtype) && spec.combine != ScalarOp::kAdd) return CarryForm::kExplicit;
  return CarryForm::kDirect;
}

ScalarOp machine_combine(ScalarOp op, DType dtype) {
  if (!is_bool(dtype)) return op;
  if (op == ScalarOp::kAdd || op == ScalarOp::kMax) return ScalarOp::kOr;
  if (op == ScalarOp::kMul || op == ScalarOp::kMin) return ScalarOp::kAnd;
  return op;
}

}  // namespace

Builder::ForScope Builder::begin_for(const Index& extent, LoopOptions options, absl::Span<const CarrySpec> carries) {
  OpenFor open;
  open.specs.assign(carries.begin(), carries.end());
  ForScope scope;
  For loop{.variable = kNoValue, .extent = extent, .body = kNoBlock, .options = options, .carries = {}};
  for (const CarrySpec& spec : carries) {
    open.position.push_back(static_cast<uint32_t>(loop.carries.size()));
    CarryForm form = carry_form(spec);
    // What is combined in the body goes one iteration after the other.
    if (form == CarryForm::kExplicit) loop.options = {};
    Scalar init = form == CarryForm::kWidened ? convert(spec.init, DType::kFloat32) : spec.init;
    bool combines = spec.combine && form != CarryForm::kExplicit;
    auto part = [&](Value v) {
      Carry carry{.init = v};
      carry.result = new_value(dtype_of(v));
      if (combines) {
        carry.combine = machine_combine(*spec.combine, dtype_of(v));
      } else {
        carry.argument = new_value(dtype_of(v));
      }
      loop.carries.push_back(carry);
      return carry.argument;
    };
    Scalar argument{spec.init.dtype, part(init.re)};
    if (is_complex(init.dtype)) argument.im = part(init.im);
    scope.arguments.push_back(argument);
  }
  loop.variable = new_value(DType::kInt64, variable_range(program_, extent));
  if (!extent.is_constant()) computed_extents_.insert_or_assign(loop.variable, extent);
  loop.body = new_block();
  scope.variable = Index::of(loop.variable);
  open.index = static_cast<uint32_t>(program_.fors.size());
  statement({.kind = StatementKind::kFor, .detail = open.index});
  program_.fors.push_back(std::move(loop));
  open_fors_.push_back(std::move(open));
  outer_blocks_.push_back(block_);
  block_ = program_.fors.back().body;
  return scope;
}

Scalars Builder::end_for(absl::Span<const Scalar> yields) {
  CT_CHECK(!open_fors_.empty());
  OpenFor open = std::move(open_fors_.back());
  open_fors_.pop_back();
  CT_CHECK(yields.size() == open.specs.size());
  auto carry_at = [&](size_t spec, uint32_t part) -> Carry& {
    return program_.fors[open.index].carries[open.position[spec] + part];
  };
  for (size_t i = 0; i < yields.size(); ++i) {
    const CarrySpec& spec = open.specs[i];
    CT_CHECK(yields[i].dtype == spec.init.dtype);
    CarryForm form = carry_form(spec);
    Scalar next = yields[i];
    if (form == CarryForm::kWidened) next = convert(next, DType::kFloat32);
    if (form == CarryForm::kExplicit) {
      next = apply(*spec.combine, {next.dtype, carry_at(i, 0).argument, carry_at(i, 1).argument}, next);
    }
    carry_at(i, 0).next = next.re;
    if (is_complex(next.dtype)) carry_at(i, 1).next = next.im;
  }
  block_ = outer_blocks_.back();
  outer_blocks_.pop_back();
  Scalars results;
  for (size_t i = 0; i < yields.size(); ++i) {
    DType dtype = open.specs[i].init.dtype;
    Scalar result{dtype, carry_at(i, 0).result};
    if (is_complex(dtype)) result.im = carry_at(i, 1).result;
    if (carry_form(open.specs[i]) == CarryForm::kWidened) result = convert({DType::kFloat32, result.re}, dtype);
    results.push_back(result);
  }
  return results;
}

void Builder::for_each(const Index& extent, LoopOptions options, const std::function<void(Index)>& body) {
  ForScope scope = begin_for(extent, options);
  body(scope.variable);
  end_for();
}

Scalar Builder::reduce(const Index& extent, LoopOptions options, ScalarOp combine, Scalar init,
                       const std::function<Scalar(Index)>& contribution) {
  CarrySpec spec{init, combine};
  ForScope scope = begin_for(extent, options, absl::MakeConstSpan(&spec, 1));
  Scalar value = contribution(scope.variable);
  return end_for(absl::MakeConstSpan(&value, 1))[0];
}

Scalars Builder::while_loop(absl::Span<const Scalar> init,
                            const std::function<Scalar(absl::Span<const Scalar>)>& condition,
                            const std::function<Scalars(absl::Span<const Scalar>)>& body) {
  While loop{};
  Scalars arguments, results;
  for (const Scalar& scalar : init) {
    auto part = [&](Value v, Value* result) {
      Carry carry{.init = v};
      carry.argument = new_value(dtype_of(v));
      *result = carry.result = new_value(dtype_of(v));
      loop.carries.push_back(carry);
      return carry.argument;
    };
    Scalar argument{scalar.dtype}, result{scalar.dtype};
    argument.re = part(scalar.re, &result.re);
    if (is_complex(scalar.dtype)) argument.im = part(scalar.im, &result.im);
    arguments.push_back(argument);
    results.push_back(result);
  }
  BlockId outer = block_;
  loop.condition_block = block_ = new_block();
  Scalar test = condition(arguments);
  CT_CHECK(is_bool(test.dtype));
  loop.condition = test.re;
  loop.body = block_ = new_block();
  Scalars next = body(arguments);
  CT_CHECK(next.size() == init.size());
  size_t carry = 0;
  for (size_t i = 0; i < next.size(); ++i) {
    CT_CHECK(next[i].dtype == init[i].dtype);
    loop.carries[carry++].next = next[i].re;
    if (is_complex(next[i].dtype)) loop.carries[carry++].next = next[i].im;
  }
  block_ = outer;
  program_.whiles.push_back(std::move(loop));
  statement({.kind = StatementKind::kWhile, .detail = static_cast<uint32_t>(program_.whiles.size() - 1)});
  return results;
}

Scalars Builder::if_else(Scalar condition, const std::function<Scalars()>& then_body,
                         const std::function<Scalars()>& else_body) {
  CT_CHECK(is_bool(condition.dtype));
  If branch{.condition = condition.re, .then_block = kNoBlock, .else_block = kNoBlock, .merges = {}};
  BlockId outer = block_;
  branch.then_block = block_ = new_block();
  Scalars if_true = then_body();
  branch.else_block = block_ = new_block();
  Scalars if_false = else_body();
  block_ = outer;
  CT_CHECK(if_true.size() == if_false.size());
  Scalars results;
  for (size_t i = 0; i < if_true.size(); ++i) {
    CT_CHECK(if_true[i].dtype == if_false[i].dtype);
    auto part = [&](Value t, Value f) {
      branch.merges.push_back({t, f, new_value(dtype_of(t))});
      return branch.merges.back().result;
    };
    Scalar result{if_true[i].dtype, part(if_true[i].re, if_false[i].re)};
    if (is_complex(result.dtype)) result.im = part(if_true[i].im, if_false[i].im);
    results.push_back(result);
  }
  program_.ifs.push_back(std::move(branch));
  statement({.kind = StatementKind::kIf, .detail = static_cast<uint32_t>(program_.ifs.size() - 1)});
  return results;
}

void Builder::gemm(Gemm gemm) {
  DType from = buffer_dtype(gemm.a.buffer), to = buffer_dtype(gemm.c.buffer);
  for (const Matrix& factor : {gemm.a, gemm.b}) {
    const DType own = buffer_dtype(factor.buffer);
    CT_CHECK(own == to || (is_half(own) && to == DType::kFloat32));
  }
  if (gemm.m == 0 || gemm.n == 0 || (gemm.accumulate && gemm.k == 0)) return;
  // Matrices of complex numbers are put together as real ones, which pays where elements are used several times.
  constexpr int64_t kLeastSide = 4, kLeastWork = 1 << 12;
  const bool complex =
      is_complex(from) && std::min(gemm.m, gemm.n) >= kLeastSide && gemm.m * gemm.n * gemm.k >= kLeastWork;
  if (!is_float(from) && !complex) return product_loops(*this, gemm);
  if (complex) {
    CT_CHECK(gemm.steps == Index(gemm.k));
    gemm.rows = gemm.m;
    gemm.columns = gemm.n;
    for (Matrix* matrix : {&gemm.a, &gemm.b, &gemm.c}) {
      *matrix = {matrix->buffer, matrix->offset * 2, matrix->row_stride * 2, matrix->column_stride * 2};
    }
  }
  program_.gemms.push_back(std::move(gemm));
  statement({.kind = StatementKind::kGemm, .detail = static_cast<uint32_t>(program_.gemms.size() - 1)});
}

void product_loops(Builder& builder, const Gemm& gemm) {
  auto at = [](const Matrix& matrix, const Index& row, const Index& column) {
    return matrix.offset + row * matrix.row_stride + column * matrix.column_stride;
  };
  builder.for_each(gemm.rows, {.parallel = true}, [&](const Index& row) {
    builder.for_each(gemm.columns, {.vectorize = true, .parallel = true}, [&](const Index& column) {
      const DType dtype = builder.buffer_dtype(gemm.c.buffer), wide = is_half(dtype) ? DType::kFloat32 : dtype;
      const auto load = [&](const Matrix& matrix, const Index& index) {
        return builder.convert(builder.load(matrix.buffer, index), wide);
      };
      const Scalar zero = builder.constant(wide, 0);
      Scalar sum = builder.reduce(gemm.steps, {}, ScalarOp::kAdd, zero, [&](const Index& inner) {
        return builder.apply(ScalarOp::kMul, load(gemm.a, at(gemm.a, row, inner)),
                             load(gemm.b, at(gemm.b, inner, column)));
      });
      const Index target = at(gemm.c, row, column);
      if (gemm.accumulate) sum = builder.apply(ScalarOp::kAdd, load(gemm.c, target), sum);
      builder.store(gemm.c.buffer, target, builder.convert(sum, dtype));
    });
  });
}

Builder::Mark Builder::mark() const {
  const Program& p = program_;
  return {block_,
          p.blocks[block_].statements.size(),
          p.buffers.size(),
          p.values.size(),
          p.blocks.size(),
          p.fors.size(),
          p.whiles.size(),
          p.ifs.size(),
          p.gemms.size(),
          p.ranges.size(),
          p.host_calls.size()};
}

void Builder::begin_group() {
  program_.groups.emplace_back();
  group_ = static_cast<uint32_t>(program_.groups.size() - 1);
}

void Builder::name_group(std::string name) { program_.groups[group_] = std::move(name); }

void Builder::rollback(const Mark& mark) {
  CT_CHECK(block_ == mark.block);
  Program& p = program_;
  p.buffers.resize(mark.buffers);
  while (!constant_buffers_.empty() && constant_buffers_.back() >= mark.buffers) constant_buffers_.pop_back();
  p.values.resize(mark.values);
  p.blocks.resize(mark.blocks);
  p.blocks[block_].statements.resize(mark.statements);
  p.fors.resize(mark.fors);
  p.whiles.resize(mark.whiles);
  p.ifs.resize(mark.ifs);
  p.gemms.resize(mark.gemms);
  absl::erase_if(computed_extents_, [&](const auto& item) { return item.first >= mark.values; });
  p.ranges.resize(mark.ranges);
  p.host_calls.resize(mark.host_calls);
}

Program Builder::finish() {
  CT_CHECK(open_fors_.empty() && block_ == 0);
  return std::move(program_);
}

}  // namespace ct::loop
