// A scalar with operators, so that numerical code in terms of a Builder reads as formulas.
#pragma once

#include "jit/loop/loop.h"

namespace ct::loop {

class Num {
 public:
  Num() = default;
  Num(Builder& builder, Scalar scalar) : builder_(&builder), scalar_(scalar) {}

  Builder& builder() const { return *builder_; }
  const Scalar& scalar() const { return scalar_; }
  DType dtype() const { return scalar_.dtype; }

  Num apply(ScalarOp op) const { return {*builder_, builder_->apply(op, scalar_)}; }
  Num apply(ScalarOp op, const Num& b) const { return {*builder_, builder_->apply(op, scalar_, b.scalar_)}; }
  Num convert(DType dtype) const { return {*builder_, builder_->convert(scalar_, dtype)}; }
  Num bitcast(DType dtype) const { return {*builder_, builder_->bitcast(scalar_, dtype)}; }
  // Of integers, by a known count; the right one keeps the sign.
  Num operator<<(int count) const { return apply(ScalarOp::kShl, {*builder_, builder_->constant(dtype(), count)}); }
  Num shift_right(int count) const {
    return apply(ScalarOp::kShrArithmetic, {*builder_, builder_->constant(dtype(), count)});
  }

  Num operator-() const { return apply(ScalarOp::kNeg); }
  Num operator!() const { return apply(ScalarOp::kNot); }

 private:
  Builder* builder_ = nullptr;
  Scalar scalar_;
};

inline Num operator+(const Num& a, const Num& b) { return a.apply(ScalarOp::kAdd, b); }
inline Num operator-(const Num& a, const Num& b) { return a.apply(ScalarOp::kSub, b); }
inline Num operator*(const Num& a, const Num& b) { return a.apply(ScalarOp::kMul, b); }
inline Num operator/(const Num& a, const Num& b) { return a.apply(ScalarOp::kDiv, b); }
inline Num operator&(const Num& a, const Num& b) { return a.apply(ScalarOp::kAnd, b); }
inline Num operator|(const Num& a, const Num& b) { return a.apply(ScalarOp::kOr, b); }
inline Num operator==(const Num& a, const Num& b) { return a.apply(ScalarOp::kEq, b); }
inline Num operator!=(const Num& a, const Num& b) { return a.apply(ScalarOp::kNe, b); }
inline Num operator<(const Num& a, const Num& b) { return a.apply(ScalarOp::kLt, b); }
inline Num operator<=(const Num& a, const Num& b) { return a.apply(ScalarOp::kLe, b); }
inline Num operator>(const Num& a, const Num& b) { return a.apply(ScalarOp::kGt, b); }
inline Num operator>=(const Num& a, const Num& b) { return a.apply(ScalarOp::kGe, b); }
inline Num select(const Num& condition, const Num& a, const Num& b) {
  return {a.builder(), a.builder().select(condition.scalar(), a.scalar(), b.scalar())};
}
inline Num fma(const Num& a, const Num& b, const Num& c) {
  return {a.builder(), a.builder().fma(a.scalar(), b.scalar(), c.scalar())};
}
inline Num scale(const Num& x, const Num& exponent, const Num& exponent_as_float) {
  return {x.builder(), x.builder().scale(x.scalar(), exponent.scalar(), exponent_as_float.scalar())};
}
inline Num mul_high(const Num& a, const Num& b) { return {a.builder(), a.builder().mul_high(a.scalar(), b.scalar())}; }

}  // namespace ct::loop
