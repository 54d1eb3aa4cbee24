// What libraries compute in this process, and loops of ours (kernels/) where a program leaves it.
#include <algorithm>

#include "ir/primitives.h"
#include "jit/kernels/linear_algebra.h"
#include "jit/loop/expand/fourier.h"
#include "jit/lower/frame.h"

namespace ct::jit {
namespace {

// Up to this size a network (ir/ops/sort.cc) is as fast: it works on many lines, or pairs of one, side by side.
constexpr int64_t kLongestNetwork = 32;

bool has_sort(const Attrs& attrs, absl::Span<const Aval> operands) {
  const int64_t size = operands[0].shape()[static_cast<size_t>(attrs.integer("axis"))];
  const bool machine_types =
      std::ranges::none_of(operands, [](const Aval& operand) { return operand.dtype() == DType::kKey; });
  return size > kLongestNetwork && size <= int64_t{INT32_MAX} && machine_types;
}

bool has_fourier(const Attrs& attrs) {
  return std::ranges::all_of(attrs.ints("lengths"),
                             [](int64_t length) { return length == 0 || loop::always_has_fourier(length); });
}

// Matrices up to this size: the expand rules work on all of a batch side by side.
constexpr int64_t kSmallMatrix = 16;

// Of linear algebra: at which operand the sizes of a mask region would be. -1: no kernel.
int size_operand(const Primitive& primitive, DType dtype) {
  if (&primitive == &linalg::kEigh) return 1;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return -1;
  if (&primitive == &linalg::kCholesky || &primitive == &linalg::kLu) return 1;
  if (&primitive == &linalg::kQr) return 1;
  return &primitive == &linalg::kTriangularSolve ? 2 : -1;
}

}  // namespace

bool always_loops(const Primitive& primitive, const Attrs& attrs, absl::Span<const Aval> operands) {
  if (&primitive == &kFft) return has_fourier(attrs);
  if (&primitive == &kSort) return has_sort(attrs, operands);
  if (size_operand(primitive, operands[0].dtype()) < 0 || operands[0].size() == 0) return false;
  const int64_t rows = operands[0].shape()[operands[0].shape().size() - 2], columns = operands[0].shape().back();
  if (&primitive == &linalg::kQr && (attrs.flag("pivoting") || operands.size() > 1)) return false;
  if (&primitive == &linalg::kCholesky && attrs.has("upper") && attrs.flag("upper"))
    return false;  // expands to the lower one
  return &primitive == &linalg::kEigh || std::min(rows, columns) > kSmallMatrix;
}

bool Frame::emit_kernel(const Equation& equation) {
  const Primitive* const primitive = equation.primitive;
  if (primitive == &kFft) return emit_fourier(equation);
  if (options_.host_functions != nullptr || options_.kernels) return false;
  const Attrs& attrs = graph_.attrs(equation);
  std::vector<Aval> avals;
  for (Var var : graph_.operands(equation)) avals.push_back(graph_.aval(var));
  if (!always_loops(*equation.primitive, attrs, avals)) return false;

  std::vector<loop::Elements> operands, results;
  for (Var var : graph_.operands(equation)) {
    const Place place = stored_place(var);
    operands.push_back({place.buffer, place.offset});
  }
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    ensure_place(var);
    results.push_back({places_[var]->buffer, places_[var]->offset});
  }
  if (primitive == &kSort) {
    const Shape& shape = avals[0].shape();
    const auto axis = static_cast<size_t>(attrs.integer("axis"));
    const absl::Span<const int64_t> sizes(shape);
    const int64_t count = attrs.has("count") ? attrs.integer("count") : shape[axis];
    const loop::SortShape sorted{
        num_elements(sizes.subspan(0, axis)),           shape[axis],
        num_elements(sizes.subspan(axis + 1)),          count,
        static_cast<size_t>(attrs.integer("num_keys")), attrs.has("descending") && attrs.flag("descending")};
    if (sorted.outer * sorted.inner * count != 0) loop::emit_sort(b_, sorted, operands, results);
  } else {
    const Shape& shape = avals[0].shape();
    const int64_t rows = shape[shape.size() - 2], columns = shape.back();
    loop::MatrixShape matrices{avals[0].size() / (rows * columns), rows, columns};
    const auto size = static_cast<size_t>(size_operand(*equation.primitive, avals[0].dtype()));
    if (operands.size() > size) matrices.size = operands[size];
    if (primitive == &linalg::kEigh) {
      loop::emit_eigh(b_, matrices, attrs.flag("lower"), operands[0], results[0],
                      results.size() > 1 ? std::optional(results[1]) : std::nullopt);
    } else if (primitive == &linalg::kCholesky) {
      loop::emit_cholesky(b_, matrices, operands[0], results[0]);
    } else if (primitive == &linalg::kQr) {
      loop::emit_qr(b_, matrices, attrs.flag("full_matrices"), operands[0], results[0], results[1]);
    } else if (primitive == &linalg::kLu) {
      loop::emit_lu(b_, matrices, operands[0], results[0], results[1], results[2]);
    } else {
      const bool left = attrs.flag("left_side");
      matrices.columns = avals[1].size() / (matrices.count * rows);
      if (matrices.columns != 0) {
        loop::emit_triangular_solve(b_, matrices,
                                    {left, attrs.flag("lower"), attrs.flag("transpose_a"), attrs.flag("unit_diagonal")},
                                    operands[0], operands[1], results[0]);
      }
    }
  }
  for (uint32_t k = 0; k < equation.output_count; ++k) {
    const Var var = equation.first_output + k;
    if (graph_.aval(var).size() == 1) registers_[var] = b_.load(places_[var]->buffer, places_[var]->offset);
  }
  return true;
}

}  // namespace ct::jit
