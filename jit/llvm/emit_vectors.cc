// A loop over vectors: unrolled with accumulators side by side, then whole vectors one by one, then what is left, under
// a mask or as scalars.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "jit/llvm/emit.h"

namespace ct::jit {

using loop::Carry;
using loop::For;

class Emitter::VectorLoop {
 public:
  VectorLoop(Emitter& emitter, const For& loop, Vectorization how, llvm::Value* begin, llvm::Value* extent)
      : emitter_(emitter),
        b_(emitter.b_),
        loop_(loop),
        how_(how),
        width_(how.width),
        carries_(loop.carries.size()),
        begin_(begin),
        extent_(extent),
        // Pieces of the loop end where it does, or at multiples of any width.
        all_whole_(loop.extent.is_constant() && loop.extent.constant() % how.width == 0 &&
                   kVectorMultiple % how.width == 0),
        held_(emitter.uses_held(loop)),
        // Remaining vectors and tail share one masked body.
        shares_tail_(how.masked_tail && (how.unroll > 1 || how.one_body) && !held_),
        time_(emitter.time_if_long(loop)) {}

  void emit() {
    emitter_.lanes_ = {loop_.variable, width_, nullptr};
    emitter_.constants_block_ = b_.GetInsertBlock();
    emitter_.constants_.clear();
    Values sums;
    for (unsigned u = 0; u < how_.unroll; ++u) {
      for (const Carry& carry : loop_.carries) sums.push_back(identity(carry));
    }
    unrolled_ = how_.unroll > 1 ? round_down(width_ * how_.unroll) : begin_;
    whole_ = round_down(width_);
    const auto whole_vectors = [&](const Values& start) { return emit_whole(start); };
    sums = emitter_.streams_from(loop_, width_) ? emitter_.in_both_ways(loop_, begin_, sums, whole_vectors)
                                                : whole_vectors(sums);
    sums = emit_masked(std::move(sums));
    emitter_.lanes_ = {loop::kNoValue, 0, nullptr};

    for (size_t c = 0; c < carries_; ++c) {
      const Carry& carry = loop_.carries[c];
      llvm::Value* sum = emitter_.combine_lanes(*carry.combine, dtype(carry), sums[c]);
      sums[c] = combine(carry, emitter_.value(carry.init), sum);
    }
    const auto one = [&](llvm::Value* i, const Values& arguments) { return vector_at(i, arguments); };
    if (!how_.masked_tail && !all_whole_) sums = emitter_.run_loop(whole_, extent_, 1, sums, one);
    for (size_t c = 0; c < carries_; ++c) emitter_.define(loop_.carries[c].result, sums[c]);
  }

 private:
  DType dtype(const Carry& carry) const { return emitter_.program_.values[carry.init].dtype; }
  llvm::Value* combine(const Carry& carry, llvm::Value* a, llvm::Value* b) {
    return emitter_.combine(*carry.combine, dtype(carry), a, b);
  }
  llvm::Value* identity(const Carry& carry) {
    return emitter_.widen(emitter_.scalar_.identity(*carry.combine, dtype(carry)));
  }

  llvm::Value* round_down(unsigned multiple) {
    if (all_whole_ && multiple == width_) return extent_;
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(extent_)) {
      const int64_t n = std::max<int64_t>(known->getSExtValue(), 0);
      return b_.getInt64(n - n % multiple);
    }
    llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent_, b_.getInt64(0));
    return b_.CreateAnd(count, b_.getInt64(-static_cast<int64_t>(multiple)));
  }

  // One vector of iterations from `i` on: accumulators [offset, offset + carries) take the contributions.
  void step(llvm::Value* i, Values& accumulators, size_t offset) {
    emitter_.define(loop_.variable, i);
    emitter_.emit_block(loop_.body);
    for (size_t c = 0; c < carries_; ++c) {
      const Carry& carry = loop_.carries[c];
      llvm::Value* contribution = emitter_.widen(emitter_.value(carry.next));
      if (llvm::Value* mask = emitter_.lanes_.mask) contribution = b_.CreateSelect(mask, contribution, identity(carry));
      accumulators[offset + c] = combine(carry, accumulators[offset + c], contribution);
    }
  }

  Values vector_at(llvm::Value* i, const Values& arguments) {
    Values next = arguments;
    step(i, next, 0);
    return next;
  }

  Values masked_vector_at(llvm::Value* i, const Values& arguments) {
    auto& lanes = emitter_.lanes_;
    lanes.mask = tail_mask(i);
    if (shares_tail_ && !emitter_.facts_.masks_any_size) {
      lanes.tail = lanes.mask;
      lanes.whole = b_.CreateICmpSLE(b_.CreateNSWAdd(i, b_.getInt64(width_)), extent_);
    }
    Values next = vector_at(i, arguments);
    lanes.mask = lanes.tail = lanes.whole = nullptr;
    return next;
  }

  llvm::Value* tail_mask(llvm::Value* i) {
    llvm::IntegerType* lane = width_ > 16 ? b_.getInt8Ty() : b_.getInt32Ty();
    llvm::Value* left = b_.CreateSub(extent_, i);
    // More than a vector is left when this is the loop over an unrolled loop's remainder.
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, b_.getInt64(width_));
    return b_.CreateICmpULT(emitter_.lane_numbers(lane, width_),
                            b_.CreateVectorSplat(width_, b_.CreateTrunc(left, lane)));
  }

  Values emit_whole(const Values& start) {
    const Values sums = how_.unroll > 1 ? emit_unrolled(start) : start;
    if (shares_tail_ || held_) return sums;
    return emitter_.run_long_loop(unrolled_, whole_, width_, sums, width_ * time_,
                                  [&](llvm::Value* i, const Values& arguments) { return vector_at(i, arguments); });
  }

  Values emit_unrolled(const Values& start) {
    const unsigned at_once = width_ * how_.unroll;
    Values sums = emitter_.run_long_loop(begin_, unrolled_, at_once, start, at_once * time_,
                                         [&](llvm::Value* i, const Values& arguments) {
                                           Values next = arguments;
                                           for (unsigned u = 0; u < how_.unroll; ++u) {
                                             llvm::Value* at = u == 0 ? i : b_.CreateNSWAdd(i, b_.getInt64(u * width_));
                                             step(at, next, u * carries_);
                                           }
                                           return next;
                                         });
    for (unsigned half = how_.unroll / 2; half > 0; half /= 2) {
      for (size_t c = 0; c < half * carries_; ++c) {
        sums[c] = combine(loop_.carries[c % carries_], sums[c], sums[half * carries_ + c]);
      }
    }
    sums.resize(carries_);
    return sums;
  }

  Values emit_masked(Values sums) {
    const auto masked = [&](llvm::Value* i, const Values& arguments) { return masked_vector_at(i, arguments); };
    if (held_) {
      // Registers have no address: one vector after the other.
      const int64_t all = llvm::cast<llvm::ConstantInt>(extent_)->getSExtValue();
      for (int64_t i = 0; i < all; i += width_) {
        sums = i + width_ <= all ? vector_at(b_.getInt64(i), sums) : masked(b_.getInt64(i), sums);
      }
      return sums;
    }
    if (!how_.masked_tail || (!shares_tail_ && all_whole_)) return sums;
    return emitter_.run_long_loop(shares_tail_ ? unrolled_ : whole_, extent_, width_, sums, width_ * time_, masked);
  }

  Emitter& emitter_;
  decltype(Emitter::b_)& b_;
  const For& loop_;
  const Vectorization how_;
  const unsigned width_;
  const size_t carries_;
  llvm::Value *begin_, *extent_;
  llvm::Value *unrolled_ = nullptr, *whole_ = nullptr;  // where the unrolled part ends, and the whole vectors
  const bool all_whole_, held_, shares_tail_;
  const double time_;
};

void Emitter::emit_vector_for(const For& loop, Vectorization how, llvm::Value* begin, llvm::Value* extent) {
  VectorLoop(*this, loop, how, begin, extent).emit();
}

llvm::Value* Emitter::combine(ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  return scalar_.apply(op, dtype, a, b);
}

// Halves against each other: the same tree whatever the target makes of it.
llvm::Value* Emitter::combine_lanes(ScalarOp op, DType dtype, llvm::Value* vector) {
  unsigned width = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  while (width > 1) {
    width /= 2;
    llvm::SmallVector<int, 64> low, high;
    for (unsigned i = 0; i < width; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(width + i));
    }
    vector = combine(op, dtype, b_.CreateShuffleVector(vector, low), b_.CreateShuffleVector(vector, high));
  }
  return b_.CreateExtractElement(vector, uint64_t{0});
}

// --------------------------------------------------------------------------------------------------------- while and
// if

}  // namespace ct::jit
