#include "jit/fuse/element_facts.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "jit/loop/expand/math.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

int cost_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::kNeg:
    case ScalarOp::kConj:
    case ScalarOp::kReal:
    case ScalarOp::kImag:
    case ScalarOp::kComplex:
      return 0;
    case ScalarOp::kSqrt:
    case ScalarOp::kDiv:
      return 4;
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kRem:
      return 16;
    case ScalarOp::kPow:
    case ScalarOp::kAtan2:
      return 40;
    default:
      return 1;
  }
}

// The statements that `op` becomes, as its expansion says.
int statements_of(ScalarOp op, DType dtype) {
  if (!loop::is_math_function(op) && !is_complex(dtype)) return 1;
  static std::array<std::array<std::atomic<int>, kNumDTypes>, std::size(kScalarOpTable)> known;
  std::atomic<int>& count = known[static_cast<size_t>(op)][static_cast<size_t>(dtype)];
  if (count == 0) {
    loop::Builder b("count");
    const loop::Scalar x = b.load(b.input(dtype, 1), 0);
    const std::array<loop::Scalar, 2> operands = {x, x};
    b.apply(op, absl::MakeConstSpan(operands).first(static_cast<size_t>(scalar_op_info(op).arity)));
    const loop::Program program = b.finish();
    int sum = 0;
    loop::visit_statements(program, 0,
                           [&](const loop::Statement& s) { sum += s.kind != loop::StatementKind::kConstant; });
    count = sum;
  }
  return count;
}

// An index as an affine function of the result's position, where it is one.
struct Affine {
  bool known = true;
  int64_t constant = 0;
  Shape coefficients;  // one an axis of the result

  bool is_constant() const {
    return known && std::all_of(coefficients.begin(), coefficients.end(), [](int64_t c) { return c == 0; });
  }
};

class SymbolBuilder final : public ElementBuilder {
 public:
  SymbolBuilder(const Graph& graph, const Equation& equation, const Aval& result)
      : graph_(graph), operands_(graph.operands(equation)), result_(result) {
    facts.operands.resize(operands_.size());
    for (int axis = 0; axis < result.rank(); ++axis) {
      Affine index = constant_index(0);
      index.coefficients[axis] = 1;
      position_.push_back(push(index));
    }
  }

  ElementFacts facts;
  absl::Span<const Index> position() const { return position_; }
  // The read that `element` is, if it is nothing but one.
  struct Read {
    int operand;
    std::vector<Affine> position;
  };
  const Read* read_behind(Scalar element) const {
    const int read = scalars_[element.id];
    return read < 0 ? nullptr : &reads_[read];
  }

  Scalar read(int operand, absl::Span<const Index> position) override {
    const Aval& aval = operand_aval(operand);
    OperandAccess& access = facts.operands[operand];
    ++access.reads;
    Read read{operand, {}};
    bool same = aval.shape() == result_.shape();
    for (size_t axis = 0; axis < position.size(); ++axis) {
      read.position.push_back(indices_[position[axis].id]);
      same = same && is_axis(read.position.back(), axis);
    }
    access.same = access.same && same;
    reads_.push_back(std::move(read));
    return make(aval.dtype(), static_cast<int>(reads_.size() - 1));
  }
  Scalar read_guarded(int operand, absl::Span<const Index> position, Scalar, Scalar) override {
    facts.cost += 2;
    read(operand, position);
    return make(operand_aval(operand).dtype());
  }
  const Aval& operand_aval(int operand) const override { return graph_.aval(operands_[operand]); }

  Scalar constant(DType dtype, double) override { return make(dtype); }
  Scalar constant_integer(DType dtype, int64_t) override { return make(dtype); }
  Scalar constant_complex(DType dtype, double, double) override { return make(dtype); }
  Scalar unary(ScalarOp op, Scalar x) override {
    facts.cost += cost_of(op);
    facts.statements += statements_of(op, x.dtype);
    if (op == ScalarOp::kIsFinite) return make(DType::kBool);
    const bool parts = op == ScalarOp::kReal || op == ScalarOp::kImag || op == ScalarOp::kAbs;
    return make(parts ? real_dtype(x.dtype) : x.dtype);
  }
  Scalar binary(ScalarOp op, Scalar x, Scalar) override {
    facts.cost += cost_of(op);
    facts.statements += statements_of(op, x.dtype);
    if (is_comparison(op)) return make(DType::kBool);
    return make(op == ScalarOp::kComplex ? complex_dtype(x.dtype) : x.dtype);
  }
  Scalar select(Scalar, Scalar if_true, Scalar) override {
    facts.cost += 1;
    return make(if_true.dtype);
  }
  Scalar convert(Scalar, DType dtype) override {
    facts.cost += 1;
    return make(dtype);
  }
  Scalar bitcast(Scalar, DType dtype) override { return make(dtype); }

  Index index_constant(int64_t value) override { return push(constant_index(value)); }
  Index index_add(Index x, Index y) override {
    Affine sum = indices_[x.id];
    const Affine& other = indices_[y.id];
    sum.known = sum.known && other.known;
    sum.constant += other.constant;
    for (size_t axis = 0; axis < sum.coefficients.size(); ++axis) sum.coefficients[axis] += other.coefficients[axis];
    return push(sum);
  }
  Index index_scale(Index x, int64_t factor) override {
    Affine product = indices_[x.id];
    product.constant *= factor;
    for (int64_t& coefficient : product.coefficients) coefficient *= factor;
    return push(product);
  }
  Index index_div(Index x, int64_t divisor) override { return quotient(x, divisor, true); }
  Index index_mod(Index x, int64_t divisor) override { return quotient(x, divisor, false); }
  Index index_from(Scalar) override { return unknown(); }
  Scalar index_value(Index, DType dtype) override { return make(dtype); }

 private:
  Affine constant_index(int64_t value) const { return {true, value, Shape(result_.rank(), 0)}; }
  static bool is_axis(const Affine& index, size_t axis) {
    if (!index.known || index.constant != 0) return false;
    for (size_t i = 0; i < index.coefficients.size(); ++i) {
      if (index.coefficients[i] != (i == axis ? 1 : 0)) return false;
    }
    return true;
  }
  Index push(Affine index) {
    indices_.push_back(std::move(index));
    return {static_cast<uint32_t>(indices_.size() - 1)};
  }
  Index unknown() {
    Affine index = constant_index(0);
    index.known = false;
    return push(index);
  }
  Index quotient(Index x, int64_t divisor, bool whole) {
    const Affine& index = indices_[x.id];
    if (divisor == 1) return whole ? x : index_constant(0);
    if (!index.is_constant()) return unknown();
    return index_constant(whole ? index.constant / divisor : index.constant % divisor);
  }
  Scalar make(DType dtype, int read = -1) {
    scalars_.push_back(read);
    return {static_cast<uint32_t>(scalars_.size() - 1), dtype};
  }

  const Graph& graph_;
  absl::Span<const Var> operands_;
  const Aval& result_;
  Indices position_;
  std::vector<Affine> indices_;
  std::vector<int> scalars_;  // the read that it is, or -1
  std::vector<Read> reads_;
};

}  // namespace

Shape dense_strides(absl::Span<const int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

ElementFacts rule_facts(const Graph& graph, const Equation& equation, int output) {
  const Primitive& primitive = *equation.primitive;
  if (primitive.scalar) {
    ElementFacts facts;
    facts.operands.resize(equation.operand_count, {1, true});
    facts.cost = cost_of(primitive.scalar_op);
    facts.statements = statements_of(primitive.scalar_op, graph.aval(graph.operands(equation)[0]).dtype());
    return facts;
  }
  const Aval& aval = graph.aval(equation.first_output + output);
  SymbolBuilder symbols(graph, equation, aval);
  primitive.element(symbols, graph.attrs(equation), aval, output, symbols.position());
  return symbols.facts;
}

View whole_view(const Graph& graph, Var var) { return {var, 0, dense_strides(graph.aval(var).shape())}; }

std::optional<View> rule_view(const Graph& graph, const Equation& equation, const ViewOf& view_of) {
  const Primitive& primitive = *equation.primitive;
  if (equation.output_count != 1 || !primitive.element || primitive.scalar) return std::nullopt;
  const Aval& aval = graph.aval(equation.first_output);
  SymbolBuilder symbols(graph, equation, aval);
  const Scalar element = primitive.element(symbols, graph.attrs(equation), aval, 0, symbols.position());
  const SymbolBuilder::Read* read = symbols.read_behind(element);
  if (read == nullptr) return std::nullopt;
  for (const Affine& index : read->position) {
    if (!index.known) return std::nullopt;
  }
  const View operand = view_of(read->operand);
  View view{operand.base, operand.offset, Shape(aval.rank(), 0)};
  for (size_t axis = 0; axis < read->position.size(); ++axis) {
    view.offset += read->position[axis].constant * operand.strides[axis];
    for (int i = 0; i < aval.rank(); ++i)
      view.strides[i] += read->position[axis].coefficients[i] * operand.strides[axis];
  }
  return view;
}

}  // namespace ct::jit
