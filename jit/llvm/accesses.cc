#include "jit/llvm/accesses.h"

#include "jit/llvm/streams.h"
#include "jit/machine/vectorize.h"

namespace ct::jit {

using loop::BufferId;
using loop::Index;

namespace {

llvm::Value* interleaved_mask(Emission& e) {
  llvm::SmallVector<int, 128> twice;
  for (unsigned i = 0; i < 2 * e.lanes.width; ++i) twice.push_back(static_cast<int>(i / 2));
  return e.b.CreateShuffleVector(e.lanes.mask, twice);
}

// Where most vectors are whole, a branch that is predicted costs less than a masked access: without AVX-512 some
// processors take tens of cycles for a store, and several for a load.
void if_whole(Emission& e, llvm::function_ref<void()> plain, llvm::function_ref<void()> masked) {
  if (e.lanes.whole == nullptr || e.lanes.mask != e.lanes.tail) return masked();
  llvm::BasicBlock* whole = e.code.new_block("whole");
  llvm::BasicBlock* tail = e.code.new_block("tail");
  llvm::BasicBlock* joined = e.code.new_block("joined");
  e.b.CreateCondBr(e.lanes.whole, whole, tail);
  e.b.SetInsertPoint(whole);
  plain();
  e.b.CreateBr(joined);
  e.b.SetInsertPoint(tail);
  masked();
  e.b.CreateBr(joined);
  e.b.SetInsertPoint(joined);
}

// LLVM would store a choice between a value and what was there before under a mask: see above.
void store_whole(Emission& e, llvm::Value* stored, llvm::Value* pointer, llvm::Align align) {
  if (!e.code.facts.masks_any_size && llvm::isa<llvm::SelectInst>(stored)) stored = e.b.CreateFreeze(stored);
  e.b.CreateAlignedStore(stored, pointer, align);
}

void store_masked(Emission& e, llvm::Value* stored, llvm::Value* pointer, llvm::Align align, llvm::Value* mask) {
  if_whole(
      e, [&] { store_whole(e, stored, pointer, align); }, [&] { e.b.CreateMaskedStore(stored, pointer, align, mask); });
}

llvm::Value* load_masked(Emission& e, llvm::FixedVectorType* vector, llvm::Value* pointer, llvm::Align align) {
  llvm::Value *whole = nullptr, *tail = nullptr;
  if_whole(
      e, [&] { whole = e.b.CreateAlignedLoad(vector, pointer, align); },
      [&] { tail = e.b.CreateMaskedLoad(vector, pointer, align, e.lanes.mask, llvm::Constant::getNullValue(vector)); });
  if (whole == nullptr) return tail;
  llvm::PHINode* phi = e.b.CreatePHI(vector, 2);
  phi->addIncoming(whole, llvm::cast<llvm::Instruction>(whole)->getParent());
  phi->addIncoming(tail, llvm::cast<llvm::Instruction>(tail)->getParent());
  return phi;
}

// Elements a few apart: all that lies between the first and the last, in as many vectors, and the right lanes of each.
llvm::Value* load_near(Emission& e, llvm::Value* pointer, llvm::FixedVectorType* type, int64_t stride,
                       llvm::Align align) {
  const auto width = static_cast<int64_t>(type->getNumElements());
  const int64_t last_vector = (width - 1) * stride + 1 - width;  // nothing behind the last element is read
  llvm::Value* result = nullptr;
  llvm::SmallVector<int, 64> lanes(width, -1);
  for (int64_t part = 0; part < stride; ++part) {
    const int64_t start = std::min(part * width, last_vector);
    llvm::Value* loaded =
        e.b.CreateAlignedLoad(type, e.b.CreateConstInBoundsGEP1_64(type->getElementType(), pointer, start), align);
    for (int64_t lane = 0; lane < width; ++lane) {
      const int64_t at = lane * stride;
      if (at >= part * width && at < (part + 1) * width) {
        lanes[lane] = static_cast<int>(at - start + (part == 0 ? 0 : width));
      } else if (at < part * width) {
        lanes[lane] = static_cast<int>(lane);  // from the parts before
      }
    }
    result = part == 0 ? e.b.CreateShuffleVector(loaded, lanes) : e.b.CreateShuffleVector(result, loaded, lanes);
  }
  return result;
}

// Where masks have registers of their own, elements `stride` apart are lanes of vectors that lie next to each other:
// `use` gets the start of each such vector, which lanes of the elements are in it (-1: none), and the mask of these.
template <typename Use>
void over_near(Emission& e, unsigned width, int64_t stride, Use&& use) {
  llvm::Value* none = llvm::Constant::getNullValue(llvm::FixedVectorType::get(e.b.getInt1Ty(), width));
  llvm::Value* wanted = e.lanes.mask == nullptr ? llvm::Constant::getAllOnesValue(none->getType()) : e.lanes.mask;
  for (int64_t part = 0; part < stride; ++part) {
    llvm::SmallVector<int, 64> elements, chosen;
    for (int64_t lane = 0; lane < width; ++lane) {
      const int64_t at = part * width + lane;
      const bool is_one = at % stride == 0 && at / stride < width;
      elements.push_back(is_one ? static_cast<int>(at / stride) : -1);
      chosen.push_back(static_cast<int>(is_one ? at / stride : width));
    }
    use(part * width, elements, e.b.CreateShuffleVector(wanted, none, chosen));
  }
}

// The one lane that a constant mask has, or -1.
int only_lane(llvm::Value* mask, int width) {
  const auto* known = llvm::dyn_cast<llvm::Constant>(mask);
  int found = -1;
  for (int lane = 0; known != nullptr && lane < width; ++lane) {
    const llvm::Constant* wanted = known->getAggregateElement(static_cast<unsigned>(lane));
    if (wanted != nullptr && wanted->isNullValue()) continue;
    if (found >= 0 || wanted == nullptr || !wanted->isOneValue()) return -1;
    found = lane;
  }
  return found;
}

void store_near(Emission& e, llvm::Value* stored, llvm::Value* pointer, int64_t stride, llvm::Align align) {
  auto* type = llvm::cast<llvm::FixedVectorType>(stored->getType());
  const unsigned width = type->getNumElements();
  over_near(e, width, stride, [&](int64_t start, absl::Span<const int> elements, llvm::Value* mask) {
    llvm::Value* place = e.b.CreateConstInBoundsGEP1_64(type->getElementType(), pointer, start);
    // LLVM makes a scalar store of such a mask, and of a truncated vector stores elements that are not truncated.
    if (const int lane = only_lane(mask, static_cast<int>(width)); lane >= 0) {
      llvm::Value* one = e.b.CreateExtractElement(stored, static_cast<uint64_t>(elements[lane]));
      e.b.CreateAlignedStore(one, e.b.CreateConstInBoundsGEP1_64(type->getElementType(), place, lane), align);
      return;
    }
    e.b.CreateMaskedStore(e.b.CreateShuffleVector(stored, llvm::ArrayRef<int>(elements.data(), elements.size())), place,
                          align, mask);
  });
}

llvm::Value* load_near_masked(Emission& e, llvm::Value* pointer, llvm::FixedVectorType* type, int64_t stride,
                              llvm::Align align) {
  const unsigned width = type->getNumElements();
  llvm::Value* result = llvm::Constant::getNullValue(type);
  over_near(e, width, stride, [&](int64_t start, absl::Span<const int> elements, llvm::Value* mask) {
    llvm::Value* place = e.b.CreateConstInBoundsGEP1_64(type->getElementType(), pointer, start);
    llvm::Value* loaded = e.b.CreateMaskedLoad(type, place, align, mask, llvm::Constant::getNullValue(type));
    llvm::SmallVector<int, 64> lanes(width);
    for (unsigned lane = 0; lane < width; ++lane) lanes[lane] = static_cast<int>(lane);
    for (unsigned lane = 0; lane < width; ++lane) {
      if (elements[lane] >= 0) lanes[elements[lane]] = static_cast<int>(width + lane);
    }
    result = e.b.CreateShuffleVector(result, loaded, lanes);
  });
  return result;
}

}  // namespace

llvm::Value* emit_load(Emission& e, BufferId buffer, const Index& index, bool any_lane_may) {
  DType dtype = real_dtype(e.program.buffers[buffer].dtype);
  if (dtype == DType::kKey) dtype = DType::kUInt64;
  llvm::Type* type = memory_type(e.code.context, dtype);
  llvm::Align align(dtype_size(dtype));
  Address a = address_of(e, index);
  if (llvm::Value* held = load_held(e, buffer, a, dtype)) return e.math.decode(held, dtype);
  if (a.is_uniform())
    return e.math.decode(e.b.CreateAlignedLoad(type, e.addresses.element_pointer(buffer, a.uniform), align), dtype);

  unsigned width = e.lanes.width;
  auto* vector = llvm::FixedVectorType::get(type, width);
  llvm::Value* stored;
  if (a.varying == nullptr && a.stride == 1) {
    llvm::Value* pointer = e.addresses.element_pointer(buffer, a.uniform);
    stored = e.lanes.mask == nullptr ? e.b.CreateAlignedLoad(vector, pointer, align)
                                     : load_masked(e, vector, pointer, align);
  } else if (a.varying == nullptr && a.stride == -1 && e.lanes.mask == nullptr) {
    llvm::Value* first = e.b.CreateSub(a.uniform, e.b.getInt64(width - 1));
    stored = e.b.CreateVectorReverse(e.b.CreateAlignedLoad(vector, e.addresses.element_pointer(buffer, first), align));
  } else if (a.varying == nullptr && (a.stride == 2 || (a.stride == -2 && e.lanes.mask == nullptr)) &&
             is_complex(e.program.buffers[buffer].dtype)) {
    // Both parts of `width` complex numbers; a clean-up pass shares the load between the real and the imaginary parts.
    int parity = static_cast<int>(index.constant() & 1);
    auto* pairs = llvm::FixedVectorType::get(type, 2 * width);
    llvm::Value* first = address_of(e, index - parity).uniform;
    const bool reversed = a.stride < 0;
    if (reversed) first = e.b.CreateSub(first, e.b.getInt64(2 * (width - 1)));
    llvm::Value* pointer = e.addresses.element_pointer(buffer, first);
    llvm::Value* both = e.lanes.mask == nullptr
                            ? e.b.CreateAlignedLoad(pairs, pointer, align)
                            : static_cast<llvm::Value*>(e.b.CreateMaskedLoad(pairs, pointer, align, interleaved_mask(e),
                                                                             llvm::Constant::getNullValue(pairs)));
    llvm::SmallVector<int, 64> picked;
    for (unsigned i = 0; i < width; ++i) {
      picked.push_back(static_cast<int>(2 * (reversed ? width - 1 - i : i)) + parity);
    }
    stored = e.b.CreateShuffleVector(both, picked);
  } else if (a.varying == nullptr && e.lanes.mask == nullptr && is_near(e.code.facts, width, a.stride)) {
    stored = load_near(e, e.addresses.element_pointer(buffer, a.uniform), vector, a.stride, align);
  } else if (a.varying == nullptr && e.code.facts.masks_any_size && is_near(e.code.facts, width, a.stride)) {
    stored = load_near_masked(e, e.addresses.element_pointer(buffer, a.uniform), vector, a.stride, align);
  } else {
    llvm::Value* pointers = e.addresses.element_pointer(buffer, index_value(e, index));
    stored = e.b.CreateMaskedGather(vector, pointers, align, any_lane_may ? nullptr : e.lanes.mask,
                                    llvm::Constant::getNullValue(vector));
  }
  return e.math.decode(stored, dtype);
}

void emit_store(Emission& e, BufferId buffer, const Index& index, llvm::Value* value) {
  DType dtype = real_dtype(e.program.buffers[buffer].dtype);
  if (dtype == DType::kKey) dtype = DType::kUInt64;
  llvm::Align align(dtype_size(dtype));
  Address a = address_of(e, index);
  if (a.is_uniform()) {
    e.b.CreateAlignedStore(e.math.encode(value, dtype), e.addresses.element_pointer(buffer, a.uniform), align);
    return;
  }
  llvm::Value* stored = e.math.encode(widen(e, value), dtype);
  if (store_held(e, buffer, a, stored)) return;
  if (a.varying == nullptr && a.stride == 1) {
    llvm::Value* pointer = e.addresses.element_pointer(buffer, a.uniform);
    if (e.lanes.mask == nullptr) {
      if (e.streams.active && streams(e, buffer)) return store_past_caches(e, stored, pointer);
      store_whole(e, stored, pointer, align);
    } else {
      store_masked(e, stored, pointer, align, e.lanes.mask);
    }
  } else if (a.varying == nullptr && a.stride == -1 && e.lanes.mask == nullptr) {
    llvm::Value* first = e.b.CreateSub(a.uniform, e.b.getInt64(e.lanes.width - 1));
    e.b.CreateAlignedStore(e.b.CreateVectorReverse(stored), e.addresses.element_pointer(buffer, first), align);
  } else if (a.varying == nullptr && e.code.facts.masks_any_size && is_near(e.code.facts, e.lanes.width, a.stride) &&
             (e.lanes.mask == nullptr || llvm::isa<llvm::Constant>(e.lanes.mask) ||
              !llvm::isa<llvm::TruncInst>(stored))) {
    store_near(e, stored, e.addresses.element_pointer(buffer, a.uniform), a.stride, align);
  } else {
    e.b.CreateMaskedScatter(stored, e.addresses.element_pointer(buffer, index_value(e, index)), align, e.lanes.mask);
  }
}

// Stores of the real and the imaginary parts of consecutive complex numbers as one.
void emit_store_complex(Emission& e, BufferId buffer, const Index& index, llvm::Value* re, llvm::Value* im) {
  Address a = address_of(e, index);
  if (a.varying != nullptr) {
    emit_store(e, buffer, index, re);
    return emit_store(e, buffer, index + 1, im);
  }
  llvm::SmallVector<int, 128> zip;
  const bool reversed = a.stride < 0;
  for (unsigned i = 0; i < e.lanes.width; ++i) {
    const unsigned lane = reversed ? e.lanes.width - 1 - i : i;
    zip.push_back(static_cast<int>(lane));
    zip.push_back(static_cast<int>(e.lanes.width + lane));
  }
  if (reversed) a.uniform = e.b.CreateSub(a.uniform, e.b.getInt64(2 * (e.lanes.width - 1)));
  llvm::Value* both = e.b.CreateShuffleVector(widen(e, re), widen(e, im), zip);
  llvm::Align align(dtype_size(real_dtype(e.program.buffers[buffer].dtype)));
  llvm::Value* pointer = e.addresses.element_pointer(buffer, a.uniform);
  if (e.lanes.mask == nullptr) {
    e.b.CreateAlignedStore(both, pointer, align);
  } else {
    store_masked(e, both, pointer, align, interleaved_mask(e));
  }
}

}  // namespace ct::jit
