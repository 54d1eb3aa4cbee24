// What a primitive does with whole arrays, where a rule for one element does not say it. A primitive has at most one
// structure, whose type says what it is and whose members what is particular to this primitive:
//
//   if (const auto* fold = primitive.structure_as<structures::Fold>()) … fold->combine …
//
// The types here are those that several layers ask for. The set is open: a primitive may have a type that is defined in
// its own file. What a layer does for a type is registered in that layer, as the compiler's lowerings are
// (jit/fuse/lowering.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/scalar_op.h"
#include "runtime/dtype.h"

namespace ct {

class Attrs;

struct Structure {
  Structure() = default;
  Structure(const Structure&) = delete;
  Structure& operator=(const Structure&) = delete;
  virtual ~Structure() = default;
};

namespace structures {

// What a fold of no elements is. An infinity becomes the highest or lowest number of an integer dtype when it is
// converted; of bool, stated here.
struct Identity {
  double value;
  double operator()(DType dtype) const { return is_bool(dtype) ? static_cast<double>(value > 0) : value; }
};

// `combine` folds operand 0 along attribute `axes`.
struct Fold final : Structure {
  Fold(ScalarOp combine, double identity) : combine(combine), identity{identity} {}
  ScalarOp combine;
  Identity identity;
};

// `combine` folds operand 0 along attribute `axis`, from the end when `reverse`; each element is the fold so far.
struct RunningFold final : Structure {
  RunningFold(ScalarOp combine, double identity) : combine(combine), identity{identity} {}
  ScalarOp combine;
  Identity identity;
};

// Sums of products of two operands: DotDimensions.
struct Product final : Structure {};

// A copy of operand 0, into which operand 2 is combined at the indices in operand 1, in row-major order: IndexedAxis.
struct Scatter final : Structure {
  explicit Scatter(std::optional<ScalarOp> combine) : combine(combine) {}
  std::optional<ScalarOp> combine;  // none: updates replace what was there
};

// Operand 0 with operand 1 in place of a window, at the starts that follow.
struct WindowUpdate final : Structure {};

// Operand 0's bytes, perhaps under another shape.
struct SameBytes final : Structure {};

// Sub-graphs: run for each step (ScanAttrs), as long as a condition holds, one of several.
struct Scan final : Structure {};
struct While final : Structure {};
struct Branches final : Structure {};

// `reference` runs it, outside of generated code: a library (sorting, LAPACK, FFT) or Python. An `expand` rule is for
// programs that must do without.
struct HostCall final : Structure {
  // How long an axis of an operand or a result is, if operand `size` is given: int32 numbers, of the shape of the axes
  // that matrices are batches along. What lies behind is not read of operands, and 0 in results.
  struct SizedAxis {
    bool of_result;
    size_t index;
    int from_last;  // 0: the last axis
    size_t size;
  };
  using SizedAxes = std::vector<SizedAxis>;

  HostCall() = default;
  explicit HostCall(std::function<SizedAxes(const Attrs& attrs)> sized_axes) : sized_axes(std::move(sized_axes)) {}
  std::function<SizedAxes(const Attrs& attrs)> sized_axes;  // null: none
};

}  // namespace structures
}  // namespace ct
