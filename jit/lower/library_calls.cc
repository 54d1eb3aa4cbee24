// What libraries compute in this process, and loops of ours (kernels/) where a program leaves it.
#include "jit/lower/library_calls.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "ir/primitives.h"
#include "jit/kernels/linear_algebra.h"
#include "jit/loop/expand/fourier.h"

namespace ct::jit {
namespace {

// Up to this size a network (ir/ops/sort.cc) is as fast: it works on many lines, or pairs of one, side by side.
constexpr int64_t kLongestNetwork = 32;

bool is_ragged(const Attrs& attrs) { return attrs.has("ragged") && attrs.flag("ragged"); }

// Behind what they are sorted to, lines stay as they are: what is not wanted of a result is not wanted of its operand.
std::optional<Limit> sorted_limit(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  const Attrs& attrs = graph.attrs(equation);
  if (!is_ragged(attrs) || !limits.any()) return std::nullopt;
  const ElementForm lengths = limits.form(graph, graph.operands(equation).back());
  if (lengths.source == kNoVar) return std::nullopt;
  return Limit{static_cast<int>(attrs.integer("axis")), lengths.source, 0, lengths.source_axes};
}

bool is_wanted_behind(const ElementLimits& limits, Var var, const Limit& limit) {
  return limits.is_wanted(var) && !contains(limits.wanted(var), limit);
}

OperandLimits sort_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  OperandLimits result(equation.operand_count, Limits{});
  const std::optional<Limit> limit = sorted_limit(limits, graph, equation);
  if (!limit) return result;
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    if (!is_wanted_behind(limits, equation.first_output + k, *limit)) result[k] = {*limit};
  }
  return result;
}

AttrsPtr sort_attrs(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  AttrsPtr attrs = graph.attrs_ptr(equation);
  const std::optional<Limit> limit = sorted_limit(limits, graph, equation);
  if (!limit) return attrs;
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    if (is_wanted_behind(limits, equation.first_output + k, *limit)) return attrs;
  }
  return attrs->with("unread", true);
}

bool has_sort(const Attrs& attrs, absl::Span<const Aval> operands) {
  const int64_t size = operands[0].shape()[static_cast<size_t>(attrs.integer("axis"))];
  const bool machine_types =
      std::ranges::none_of(operands, [](const Aval& operand) { return operand.dtype() == DType::kKey; });
  return size > kLongestNetwork && size <= int64_t{INT32_MAX} && machine_types;
}

bool has_fourier(const Attrs& attrs, absl::Span<const Aval>) {
  return std::ranges::all_of(attrs.ints("lengths"),
                             [](int64_t length) { return length == 0 || loop::always_has_fourier(length); });
}

// Matrices up to this size: the expand rules work on all of a batch side by side.
constexpr int64_t kSmallMatrix = 16;

bool is_large(const Attrs&, absl::Span<const Aval> operands) {
  const Aval& matrix = operands[0];
  if (matrix.dtype() != DType::kFloat32 && matrix.dtype() != DType::kFloat64) return false;
  const Shape& shape = matrix.shape();
  return matrix.size() > 0 && std::min(shape[shape.size() - 2], shape.back()) > kSmallMatrix;
}

bool has_eigh(const Attrs&, absl::Span<const Aval> operands) { return operands[0].size() > 0; }

bool has_svd(const Attrs&, absl::Span<const Aval> operands) { return operands.size() == 1 && operands[0].size() > 0; }

// Of an upper factor: expands to the lower one.
bool has_cholesky(const Attrs& attrs, absl::Span<const Aval> operands) {
  return !(attrs.has("upper") && attrs.flag("upper")) && is_large(attrs, operands);
}

bool has_qr(const Attrs& attrs, absl::Span<const Aval> operands) {
  if (operands.size() > 1) return false;
  return attrs.flag("pivoting") ? operands[0].size() > 0 : is_large(attrs, operands);
}

struct LibraryCall {
  loop::Builder& b;
  const Attrs& attrs;
  absl::Span<const Aval> avals;
  absl::Span<const loop::Elements> operands, results;

  // Of matrices whose sizes inside of a mask region would be operand `sizes`.
  loop::MatrixShape matrices(size_t sizes) const {
    const Shape& shape = avals[0].shape();
    const int64_t rows = shape[shape.size() - 2], columns = shape.back();
    loop::MatrixShape matrices{avals[0].size() / (rows * columns), rows, columns};
    if (operands.size() > sizes) matrices.size = operands[sizes];
    return matrices;
  }
};

void emit_sort(const LibraryCall& call) {
  const Shape& shape = call.avals[0].shape();
  const auto axis = static_cast<size_t>(call.attrs.integer("axis"));
  const absl::Span<const int64_t> sizes(shape);
  const int64_t count = call.attrs.has("count") ? call.attrs.integer("count") : shape[axis];
  const loop::SortShape sorted{num_elements(sizes.subspan(0, axis)),
                               shape[axis],
                               num_elements(sizes.subspan(axis + 1)),
                               count,
                               static_cast<size_t>(call.attrs.integer("num_keys")),
                               call.attrs.has("descending") && call.attrs.flag("descending"),
                               is_ragged(call.attrs) ? std::optional(call.operands.back()) : std::nullopt,
                               call.attrs.has("unread") && call.attrs.flag("unread")};
  if (sorted.outer * sorted.inner * count != 0) loop::emit_sort(call.b, sorted, call.operands, call.results);
}

void emit_eigh(const LibraryCall& call) {
  loop::emit_eigh(call.b, call.matrices(1), call.attrs.flag("lower"), call.operands[0], call.results[0],
                  call.results.size() > 1 ? std::optional(call.results[1]) : std::nullopt);
}

void emit_svd(const LibraryCall& call) {
  const bool vectors = call.results.size() > 1;
  loop::emit_svd(call.b, call.matrices(1), call.attrs.flag("full_matrices"), call.operands[0], call.results[0],
                 vectors ? std::optional(loop::SingularVectors{call.results[1], call.results[2]}) : std::nullopt);
}

void emit_cholesky(const LibraryCall& call) {
  loop::emit_cholesky(call.b, call.matrices(1), call.operands[0], call.results[0]);
}

void emit_qr(const LibraryCall& call) {
  if (call.attrs.flag("pivoting")) {
    return loop::emit_pivoted_qr(call.b, call.matrices(1), call.attrs.flag("full_matrices"), call.operands[0],
                                 {call.results[0], call.results[1], call.results[2]});
  }
  loop::emit_qr(call.b, call.matrices(1), call.attrs.flag("full_matrices"), call.operands[0], call.results[0],
                call.results[1]);
}

void emit_lu(const LibraryCall& call) {
  loop::emit_lu(call.b, call.matrices(1), call.operands[0], call.results[0], call.results[1], call.results[2]);
}

void emit_triangular_solve(const LibraryCall& call) {
  loop::MatrixShape matrices = call.matrices(2);
  matrices.columns = call.avals[1].size() / (matrices.count * matrices.rows);
  if (matrices.columns == 0) return;
  const Attrs& attrs = call.attrs;
  loop::emit_triangular_solve(
      call.b, matrices,
      {attrs.flag("left_side"), attrs.flag("lower"), attrs.flag("transpose_a"), attrs.flag("unit_diagonal")},
      call.operands[0], call.operands[1], call.results[0]);
}

// How the loops of one primitive are made.
struct Library {
  bool (*has)(const Attrs& attrs, absl::Span<const Aval> operands);
  void (*emit)(const LibraryCall& call);  // null: by emit_fourier
  // What is not read of the operands, and the attributes that say what is not read of the results.
  OperandLimits (*operand_limits)(const ElementLimits& limits, const Graph& graph, const Equation& equation) = nullptr;
  AttrsPtr (*attrs)(const ElementLimits& limits, const Graph& graph, const Equation& equation) = nullptr;
};

const Library* find_library(const Primitive& primitive) {
  static const auto* const table = new absl::flat_hash_map<const Primitive*, Library>{
      {&kFft, {has_fourier, nullptr}},
      {&kSort, {has_sort, emit_sort, sort_operand_limits, sort_attrs}},
      {&linalg::kEigh, {has_eigh, emit_eigh}},
      {&linalg::kSvd, {has_svd, emit_svd}},
      {&linalg::kCholesky, {has_cholesky, emit_cholesky}},
      {&linalg::kQr, {has_qr, emit_qr}},
      {&linalg::kLu, {is_large, emit_lu}},
      {&linalg::kTriangularSolve, {is_large, emit_triangular_solve}},
  };
  const auto found = table->find(&primitive);
  return found == table->end() ? nullptr : &found->second;
}

}  // namespace

bool always_loops(const Primitive& primitive, const Attrs& attrs, absl::Span<const Aval> operands) {
  const Library* const library = find_library(primitive);
  return library != nullptr && library->has(attrs, operands);
}

OperandLimits library_operand_limits(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  const Library* const library = find_library(*equation.primitive);
  if (library != nullptr && library->operand_limits != nullptr) return library->operand_limits(limits, graph, equation);
  return OperandLimits(equation.operand_count, Limits{});
}

AttrsPtr library_attrs(const ElementLimits& limits, const Graph& graph, const Equation& equation) {
  const Library* const library = find_library(*equation.primitive);
  if (library != nullptr && library->attrs != nullptr) return library->attrs(limits, graph, equation);
  return graph.attrs_ptr(equation);
}

bool emit_library_loops(Frame& frame, const Equation& equation) {
  const Library* const library = find_library(*equation.primitive);
  if (library == nullptr) return false;
  if (library->emit == nullptr) return emit_fourier(frame, equation);
  if (frame.options().host_functions != nullptr || !frame.options().machine.chunks) return false;
  const AttrsPtr from = library_attrs(frame.limits().known(), frame.graph(), equation);
  const Attrs& attrs = *from;
  std::vector<Aval> avals;
  for (Var var : frame.operands(equation)) avals.push_back(frame.aval(var));
  if (!library->has(attrs, avals)) return false;

  std::vector<loop::Elements> operands, results;
  for (Var var : frame.operands(equation)) {
    const Place place = frame.stored_place(var);
    operands.push_back({place.buffer, place.offset});
  }
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Place place = frame.place(equation.first_output + k);
    results.push_back({place.buffer, place.offset});
  }
  library->emit({frame.builder(), attrs, avals, operands, results});
  frame.reload(equation);
  return true;
}

}  // namespace ct::jit
