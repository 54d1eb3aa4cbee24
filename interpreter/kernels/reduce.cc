// Folds along axes. A reduction is a few passes, one for each run of neighbouring reduced axes, last first; a pass
// folds the middle of an array seen as [outer, length, inner]. Floats are summed pairwise, so that the error grows with
// the logarithm of the length; small floats are folded in float and rounded once at the end.
#include <algorithm>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "interpreter/kernels/folds.h"
#include "interpreter/kernels/kernels.h"
#include "interpreter/scalar_semantics.h"
#include "runtime/float_types.h"

namespace ct::kernels {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kBlock = 256;    // elements folded one after another (in each lane) before pairing starts
constexpr int64_t kRowBlock = 64;  // the same for rows
constexpr int64_t kRowTile = 512;  // elements of a row that are folded together, to stay in the cache

// Not inlined into itself and its callers: that makes ten times the code for nothing.
template <ScalarOp op, class In, class Acc>
[[gnu::noinline]] Acc fold_line(const In* x, int64_t count, Acc identity) {
  if (count > kBlock) {
    const int64_t half = count / 2 / kLanes * kLanes;
    return apply<op>(fold_line<op, In, Acc>(x, half, identity),
                     fold_line<op, In, Acc>(x + half, count - half, identity));
  }
  Acc total = identity;
  int64_t i = 0;
  if (count >= 2 * kLanes) {
    Acc lanes[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = convert_element<Acc>(x[lane]);
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = apply<op>(lanes[lane], convert_element<Acc>(x[i + lane]));
    }
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (int64_t lane = 0; lane < width; ++lane) lanes[lane] = apply<op>(lanes[lane], lanes[lane + width]);
    }
    total = lanes[0];
  }
  for (; i < count; ++i) total = apply<op>(total, convert_element<Acc>(x[i]));
  return total;
}

// Folds `count` rows, `stride` apart, into result[0, width).
template <ScalarOp op, class In, class Acc>
[[gnu::noinline]] void fold_rows(const In* x, int64_t count, int64_t stride, int64_t width, Acc* result) {
  if (count > kRowBlock) {
    const int64_t half = count / 2;
    fold_rows<op>(x, half, stride, width, result);
    Acc other[kRowTile];
    fold_rows<op>(x + half * stride, count - half, stride, width, other);
    for (int64_t j = 0; j < width; ++j) result[j] = apply<op>(result[j], other[j]);
    return;
  }
  for (int64_t j = 0; j < width; ++j) result[j] = convert_element<Acc>(x[j]);
  for (int64_t i = 1; i < count; ++i) {
    const In* row = x + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) result[j] = apply<op>(result[j], convert_element<Acc>(row[j]));
  }
}

// [outer, length, inner] -> [outer, inner]; length > 0.
template <ScalarOp op, class In, class Acc>
void fold_middle(const In* x, int64_t outer, int64_t length, int64_t inner, Acc identity, Acc* result) {
  for (int64_t o = 0; o < outer; ++o, x += length * inner, result += inner) {
    if (inner == 1) {
      *result = fold_line<op, In, Acc>(x, length, identity);
      continue;
    }
    for (int64_t j = 0; j < inner; j += kRowTile) {
      fold_rows<op>(x + j, length, inner, std::min(kRowTile, inner - j), result + j);
    }
  }
}

// A run of neighbouring axes that are all reduced, or all kept.
struct Run {
  int64_t size;
  bool reduced;
};
using Runs = absl::InlinedVector<Run, 6>;

Runs runs_of(const Shape& shape, const Ints& axes) {
  Runs runs;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
    if (!runs.empty() && runs.back().reduced == reduced) {
      runs.back().size *= shape[axis];
    } else {
      runs.push_back({shape[axis], reduced});
    }
  }
  return runs;
}

template <ScalarOp op, class T>
void reduce_as(const Tensor& x, Runs runs, double identity_value, const Tensor& result) {
  using Acc = ComputeType<T>;
  const Acc identity = convert_element<Acc>(convert_element<T>(identity_value));
  if (x.size() == 0) {
    std::fill_n(result.as<T>(), result.size(), convert_element<T>(identity));
    return;
  }
  std::unique_ptr<Acc[]> current;
  for (bool first = true;; first = false) {
    const auto last = std::find_if(runs.rbegin(), runs.rend(), [](const Run& run) { return run.reduced; });
    int64_t outer = 1;
    int64_t inner = 1;
    for (auto run = last + 1; run != runs.rend(); ++run) outer *= run->size;
    for (auto run = runs.rbegin(); run != last; ++run) inner *= run->size;
    const int64_t length = last->size;
    runs.erase(std::next(last).base());
    const bool final = std::none_of(runs.begin(), runs.end(), [](const Run& run) { return run.reduced; });
    std::unique_ptr<Acc[]> next;
    Acc* target;
    if constexpr (std::is_same_v<Acc, T>) {
      if (!final) next.reset(new Acc[outer * inner]);
      target = final ? result.as<T>() : next.get();
    } else {
      next.reset(new Acc[outer * inner]);
      target = next.get();
    }
    if (first) {
      fold_middle<op>(x.as<const T>(), outer, length, inner, identity, target);
    } else {
      fold_middle<op>(static_cast<const Acc*>(current.get()), outer, length, inner, identity, target);
    }
    current = std::move(next);
    if (final) break;
  }
  if constexpr (!std::is_same_v<Acc, T>) {
    for (int64_t i = 0; i < result.size(); ++i) result.as<T>()[i] = convert_element<T>(current[i]);
  }
}

}  // namespace

bool reduce(const KernelInput& input, absl::Span<Tensor> results) {
  const Tensor& x = input.operands[0];
  if (!dtype_info(x.dtype()).computes) return false;
  const Runs runs = runs_of(x.shape(), input.attrs.ints("axes"));
  if (std::none_of(runs.begin(), runs.end(), [](const Run& run) { return run.reduced; })) return alias(input, results);
  Tensor result(input.output_avals[0]);
  const auto& fold = *input.primitive.structure_as<structures::Fold>();
  const double identity = fold.identity(x.dtype());
  const bool done = dispatch_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return dispatch_fold<T>(fold.combine, [&]<ScalarOp op>() { reduce_as<op, T>(x, runs, identity, result); });
  });
  if (done) results[0] = std::move(result);
  return done;
}

}  // namespace ct::kernels
