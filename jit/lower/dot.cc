// Matrix products: inner products are folds, all others a matrix product of two axes and an inner one, with loops over
// what else there is around it.
#include <algorithm>

#include "jit/fuse/products.h"
#include "jit/loop/product_loops.h"
#include "jit/lower/frame.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

// An axis of a product, with its strides in the two operands and the result (0 where it does not occur).
struct Axis {
  int64_t size;
  int64_t lhs = 0, rhs = 0, out = 0;
  // Among those of the product (product_limits). Where it ends, in runs of `inner` elements; it is a part from `start`
  // on of `total` elements.
  int id = -1;
  std::optional<Limit> limit = {};
  bool decides = false;  // the ends of others depend on it
  int64_t inner = 1, total = size;
  loop::Index start = 0;
};

// Drops axes of size 1 and joins neighbours that are one run in everything they occur in.
std::vector<Axis> joined(const std::vector<Axis>& axes) {
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!result.empty()) {
      Axis& outer = result.back();
      if (outer.lhs == axis.lhs * axis.size && outer.rhs == axis.rhs * axis.size && outer.out == axis.out * axis.size &&
          !axis.limit && !axis.decides && !outer.decides) {
        const int64_t size = outer.size * axis.size;
        outer = {size, axis.lhs, axis.rhs, axis.out, outer.id, outer.limit, false, outer.inner * axis.size};
        continue;
      }
    }
    result.push_back(axis);
  }
  return result;
}

// Takes out the longest axis, for the matrix product; what is left are loops around it. Among them must be those that
// others depend on.
Axis take_longest(std::vector<Axis>& axes) {
  if (axes.empty()) return {1};
  auto at = std::max_element(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return std::pair(!a.decides, a.size) <= std::pair(!b.decides, b.size);
  });
  const Axis axis = *at;
  axes.erase(at);
  return axis;
}

// Into how many parts, alike, the sums of a product fall along an axis of so many steps, so that threads have something
// to share: 1 where the results themselves are enough. It follows from shapes alone, as do the results.
int64_t parts_of(DType dtype, int64_t products, int64_t rows, int64_t columns, int64_t steps, int64_t outermost) {
  constexpr int64_t kMost = 16, kLeastWork = 1 << 20, kLeastSteps = 128, kManyResults = 1 << 11;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return 1;
  if (products * rows * columns > kManyResults || products >= kMost) return 1;
  const int64_t work = products * rows * columns * steps;
  for (int64_t parts = std::min({kMost, work / kLeastWork, steps / kLeastSteps}); parts > 1; --parts) {
    if (outermost % parts == 0) return parts;
  }
  return 1;
}

class Product {
 public:
  Product(Frame& frame, const Equation& equation)
      : frame_(frame),
        b_(frame.builder()),
        product_(equation.first_output),
        aval_(frame.aval(product_)),
        axes_(dot_axes(frame.graph(), equation)),
        lhs_(frame.strided(frame.operands(equation)[0])),
        rhs_(frame.strided(frame.operands(equation)[1])),
        lhs_at_(lhs_.place.offset),
        rhs_at_(rhs_.place.offset),
        open_(static_cast<size_t>(aval_.rank()) + axes_.lhs_contract.size()) {
    result_ = frame.transposed(product_);
    find_axes(frame.aval(frame.operands(equation)[0]).shape(), frame.aval(frame.operands(equation)[1]).shape(),
              result_strides());
    if (frame.limits().known().any()) find_limits(product_limits(frame.limits().known(), frame.graph(), equation));
  }

  void emit() {
    if (aval_.size() == 0) {
      frame_.place(result_);
      return;
    }
    batch_ = joined(batch_);
    k_ = joined(k_);
    if (axes_.m == 1 && axes_.n == 1) return emit_inner_products();
    const Place out = frame_.place(result_);
    if (axes_.k == 0) return b_.fill(out.buffer, out.offset, aval_.size(), b_.constant(aval_.dtype(), 0));
    m_ = joined(m_);
    n_ = joined(n_);
    row_ = take_longest(m_);
    column_ = take_longest(n_);
    inner_ = take_longest(k_);
    const int64_t products = axes_.batch * (axes_.m / row_.size) * (axes_.n / column_.size);
    const int64_t outermost = k_.empty() ? inner_.size : k_.front().size;
    const int64_t parts = parts_of(aval_.dtype(), products, row_.size, column_.size, axes_.k, outermost);
    if (parts > 1) return multiply_parts(out, parts);
    if (!k_.empty() && is_half(aval_.dtype())) return multiply_wide(out);
    multiply_into(out, {.vectorize = false, .parallel = true}, !k_.empty());
  }

 private:
  Shape result_strides() const {
    if (result_ == product_) return dense_strides(aval_.shape());
    return transposed_strides(frame_.graph(), product_, frame_.equation_of(result_));
  }

  void find_axes(const Shape& lhs_shape, const Shape& rhs_shape, const Shape& out_strides) {
    size_t out = 0;
    for (size_t i = 0; i < axes_.lhs_batch.size(); ++i, ++out) {
      const int64_t l = axes_.lhs_batch[i], r = axes_.rhs_batch[i];
      batch_.push_back({lhs_shape[l], lhs_.strides[l], rhs_.strides[r], out_strides[out]});
    }
    for (int64_t l : axes_.lhs_free) m_.push_back({lhs_shape[l], lhs_.strides[l], 0, out_strides[out++]});
    for (int64_t r : axes_.rhs_free) n_.push_back({rhs_shape[r], 0, rhs_.strides[r], out_strides[out++]});
    for (size_t i = 0; i < axes_.lhs_contract.size(); ++i) {
      const int64_t l = axes_.lhs_contract[i], r = axes_.rhs_contract[i];
      k_.push_back({lhs_shape[l], lhs_.strides[l], rhs_.strides[r]});
    }
    int id = 0;
    for (std::vector<Axis>* axes : {&batch_, &m_, &n_, &k_}) {
      for (Axis& axis : *axes) axis.id = id++;
    }
    // Sums may be taken in any order of the axes.
    std::stable_sort(k_.begin(), k_.end(), [](const Axis& a, const Axis& b) { return a.lhs > b.lhs; });
  }

  void find_limits(std::vector<std::optional<Limit>> limits) {
    std::vector<bool> decides(limits.size(), false);
    for (std::optional<Limit>& limit : limits) {
      if (!limit) continue;
      const bool of_result = limit->axis < aval_.rank();
      if (of_result && !frame_.is_ready(limit->source)) {
        limit.reset();
        continue;
      }
      for (int axis : limit->axes) {
        if (axis >= 0) decides[axis] = true;
      }
    }
    for (std::vector<Axis>* axes : {&batch_, &m_, &n_, &k_}) {
      for (Axis& axis : *axes) {
        axis.limit = limits[axis.id];
        axis.decides = decides[axis.id];
      }
      std::stable_sort(axes->begin(), axes->end(), [](const Axis& a, const Axis& b) { return a.decides > b.decides; });
    }
  }

  // How many iterations there are of a loop over the axis.
  loop::Index count(const Axis& axis) {
    if (!axis.limit) return axis.size;
    // Of what is not wanted there may be more.
    for (int other : axis.limit->axes) {
      if (other >= 0 && !open_[other]) return axis.size;
    }
    const auto index = [&](int other) { return *open_[other]; };
    const loop::Index length = frame_.length(*axis.limit, axis.total / axis.inner, index) * axis.inner;
    if (axis.size == axis.total) return length;
    const loop::Scalar left = b_.apply(ScalarOp::kMax, b_.to_scalar(length - axis.start), number(0));
    return b_.to_index(b_.apply(ScalarOp::kMin, left, number(axis.size)));
  }
  loop::Scalar number(int64_t value) { return b_.constant(DType::kInt64, value); }

  // Loops over the axes, in which the operands and the result are where the iteration finds them.
  void around(absl::Span<const Axis> loops, loop::LoopOptions options, const std::function<void()>& body) {
    if (loops.empty()) return body();
    const loop::Index saved[] = {lhs_at_, rhs_at_, out_at_};
    b_.for_each(count(loops[0]), options, [&](const loop::Index& index) {
      const Frame::Scope scope(frame_);
      open_[loops[0].id] = loops[0].start + index;
      lhs_at_ += index * loops[0].lhs;
      rhs_at_ += index * loops[0].rhs;
      out_at_ += index * loops[0].out;
      around(loops.subspan(1), options, body);
    });
    open_[loops[0].id].reset();
    lhs_at_ = saved[0];
    rhs_at_ = saved[1];
    out_at_ = saved[2];
  }

  // ---- inner products

  // Half floats are summed as float32.
  DType wide() const { return is_half(aval_.dtype()) ? DType::kFloat32 : aval_.dtype(); }
  loop::Scalar zero() { return b_.constant(wide(), 0); }

  loop::Scalar fold_loop(const Axis& axis, const loop::Index& count,
                         const std::function<loop::Scalar(const loop::Index&)>& body) {
    const loop::Scalar sum =
        b_.reduce(count, {.vectorize = true}, ScalarOp::kAdd, zero(), [&](const loop::Index& index) {
          const Frame::Scope scope(frame_);
          open_[axis.id] = axis.start + index;
          return body(index);
        });
    open_[axis.id].reset();
    return sum;
  }

  loop::Scalar fold(size_t axis, const loop::Index& l, const loop::Index& r) {
    if (axis == k_.size()) {
      return b_.apply(ScalarOp::kMul, b_.convert(b_.load(lhs_.place.buffer, l), wide()),
                      b_.convert(b_.load(rhs_.place.buffer, r), wide()));
    }
    return fold_loop(k_[axis], count(k_[axis]), [&](const loop::Index& index) {
      return fold(axis + 1, l + index * k_[axis].lhs, r + index * k_[axis].rhs);
    });
  }

  void emit_inner_products() {
    if (!batch_.empty()) {
      const Place out = frame_.place(result_);
      return around(batch_, {.vectorize = true, .parallel = true}, [&] {
        b_.store(out.buffer, out.offset + out_at_, b_.convert(fold(0, lhs_at_, rhs_at_), aval_.dtype()));
      });
    }
    int64_t each = 1;
    for (size_t i = 1; i < k_.size(); ++i) each *= k_[i].size;
    const Chunks chunks = !k_.empty() && frame_.options().machine.chunks ? chunks_of(k_[0].size, each) : Chunks{};
    const loop::Scalar sum = chunks.count > 1 ? fold_chunks(chunks) : fold(0, lhs_at_, rhs_at_);
    frame_.set_result(result_, b_.convert(sum, aval_.dtype()));
  }

  loop::Scalar fold_chunks(const Chunks& chunks) {
    const loop::BufferId partial = b_.temporary(wide(), chunks.count, 0);
    const auto run = [&](int64_t size, const loop::Index& start) {
      Axis part = k_[0];
      part.size = size;
      part.start = start;
      return fold_loop(part, count(part), [&](loop::Index index) {
        index += start;
        return fold(1, lhs_at_ + index * part.lhs, rhs_at_ + index * part.rhs);
      });
    };
    b_.for_each(chunks.count, {.vectorize = false, .parallel = true}, [&](const loop::Index& chunk) {
      const Frame::Scope scope(frame_);
      b_.store(partial, chunk, run(chunks.size, chunk * chunks.size));
    });
    const loop::Scalar sum = b_.reduce(chunks.count, {.vectorize = true}, ScalarOp::kAdd, zero(),
                                       [&](const loop::Index& chunk) { return b_.load(partial, chunk); });
    if (chunks.rest == 0) return sum;
    return b_.apply(ScalarOp::kAdd, sum, run(chunks.rest, chunks.count * chunks.size));
  }

  // ---- products of matrices

  // On a GPU, where a thread otherwise makes an element.
  bool tiles_pay() const {
    constexpr int64_t kLeastSide = 16, kLeastElements = 1 << 12, kLeastSteps = 32;
    return is_float(aval_.dtype()) && dtype_size(aval_.dtype()) > 1 && inner_.size >= kLeastSteps &&
           std::min(row_.size, column_.size) >= kLeastSide && row_.size * column_.size >= kLeastElements;
  }

  void multiply(const Place& to, bool accumulate) {
    const loop::Matrix a{lhs_.place.buffer, lhs_at_, row_.lhs, inner_.lhs};
    const loop::Matrix b{rhs_.place.buffer, rhs_at_, inner_.rhs, column_.rhs};
    const loop::Matrix c{to.buffer, to.offset + out_at_, row_.out, column_.out};
    const loop::Gemm product{row_.size,   column_.size,   inner_.size,  a, b, c, accumulate,
                             count(row_), count(column_), count(inner_)};
    if (!frame_.options().machine.chunks && !tiles_pay()) return loop::product_loops(b_, product);
    b_.gemm(product);
  }

  void multiply_into(const Place& to, loop::LoopOptions options, bool accumulate) {
    if (accumulate) b_.fill(to.buffer, to.offset, aval_.size(), b_.constant(b_.buffer_dtype(to.buffer), 0));
    std::vector<Axis> loops = batch_;
    loops.insert(loops.end(), m_.begin(), m_.end());
    loops.insert(loops.end(), n_.begin(), n_.end());
    around(loops, options, [&] { around(k_, {}, [&] { multiply(to, accumulate); }); });
  }

  // Sums of several products, which are not rounded to half floats in between.
  void multiply_wide(const Place& out) {
    const loop::BufferId sums = b_.temporary(wide(), aval_.size(), 0);
    multiply_into({sums, 0}, {.vectorize = false, .parallel = true}, true);
    b_.for_each(aval_.size(), {.vectorize = true, .parallel = true}, [&](const loop::Index& at) {
      b_.store(out.buffer, out.offset + at, b_.convert(b_.load(sums, at), aval_.dtype()));
    });
  }

  // Few results of long sums: each part of the sums by itself, for threads to share.
  void multiply_parts(const Place& out, int64_t parts) {
    const bool accumulate = !k_.empty();
    const loop::BufferId partial = b_.temporary(aval_.dtype(), parts * aval_.size(), 0);
    Axis& outermost = k_.empty() ? inner_ : k_.front();
    outermost.size /= parts;
    b_.for_each(parts, {.vectorize = false, .parallel = true}, [&](const loop::Index& part) {
      const Frame::Scope scope(frame_);
      outermost.start = part * outermost.size;
      lhs_at_ += part * (outermost.size * outermost.lhs);
      rhs_at_ += part * (outermost.size * outermost.rhs);
      multiply_into({partial, part * aval_.size()}, {}, accumulate);
    });
    b_.for_each(aval_.size(), {.vectorize = true, .parallel = true}, [&](const loop::Index& at) {
      loop::Scalar sum = b_.load(partial, at);
      for (int64_t part = 1; part < parts; ++part) {
        sum = b_.apply(ScalarOp::kAdd, sum, b_.load(partial, at + part * aval_.size()));
      }
      b_.store(out.buffer, out.offset + at, sum);
    });
  }

  Frame& frame_;
  loop::Builder& b_;
  const Var product_;
  const Aval& aval_;
  const DotAxes axes_;
  const Frame::Strided lhs_, rhs_;
  Var result_ = kNoVar;                           // the product, or its transpose where that is what is stored
  std::vector<Axis> batch_, m_, n_, k_;           // loops; of m, n and k but for
  Axis row_{1}, column_{1}, inner_{1};            // the longest axis of each
  loop::Index lhs_at_, rhs_at_, out_at_ = 0;      // where the loops that are open have come to
  std::vector<std::optional<loop::Index>> open_;  // by id of their axes
};

// Of a product that contracts nothing: one element of each operand.
loop::Scalar outer_element(Frame& frame, const Equation& equation, const Position& position) {
  const DotAxes axes = dot_axes(frame.graph(), equation);
  const absl::Span<const Var> operands = frame.operands(equation);
  const Shape& shape = frame.aval(equation.first_output).shape();
  const auto batches = static_cast<int>(axes.lhs_batch.size());
  auto read = [&](Var operand, const Ints& batch, const Ints& free, int first_free) {
    const Shape& operand_shape = frame.aval(operand).shape();
    Position at;
    for (size_t i = 0; i < batch.size(); ++i) {
      if (operand_shape[batch[i]] == 1) continue;
      at.push_back({static_cast<int>(batch[i]), static_cast<int>(batch[i]),
                    frame.axis_index(position, shape, static_cast<int>(i))});
    }
    for (size_t i = 0; i < free.size(); ++i) {
      if (operand_shape[free[i]] == 1) continue;
      at.push_back({static_cast<int>(free[i]), static_cast<int>(free[i]),
                    frame.axis_index(position, shape, first_free + static_cast<int>(i))});
    }
    std::sort(at.begin(), at.end(), [](const AxisGroup& a, const AxisGroup& b) { return a.first < b.first; });
    return frame.element(operand, at);
  };
  const loop::Scalar lhs = read(operands[0], axes.lhs_batch, axes.lhs_free, batches);
  const loop::Scalar rhs =
      read(operands[1], axes.rhs_batch, axes.rhs_free, batches + static_cast<int>(axes.lhs_free.size()));
  return frame.builder().apply(ScalarOp::kMul, lhs, rhs);
}

class ProductLowering final : public Lowering {
 public:
  bool has_elements(const Graph& graph, const Equation& equation) const override {
    return dot_axes(graph, equation).k == 1;
  }
  ElementFacts element_facts(const Graph&, const Equation& equation, int) const override {
    ElementFacts facts;
    facts.operands.resize(equation.operand_count, {1, false});
    facts.cost = 1;
    return facts;
  }
  loop::Scalar element(Frame& frame, const Equation& equation, Var, const Position& position) const override {
    return outer_element(frame, equation, position);
  }

  OperandLimits operand_limits(const ElementLimits& limits, const Graph& graph,
                               const Equation& equation) const override {
    return product_operand_limits(limits, graph, equation);
  }

  OperandReading reading(const Graph&, const Equation&, int) const override {
    return {.form = OperandReading::Form::kView, .reason = "a matrix product reads it"};
  }
  void emit(Frame& frame, const Equation& equation) const override { Product(frame, equation).emit(); }
};
const LoweringFor<structures::Product, ProductLowering> kProductLowering;

}  // namespace
}  // namespace ct::jit
