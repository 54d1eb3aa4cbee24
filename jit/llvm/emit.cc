#include "jit/llvm/emit.h"

#include <llvm/IR/Intrinsics.h>

#include <utility>

#include "device/cpu/pool.h"
#include "device/host_call.h"
#include "ir/error.h"
#include "jit/llvm/gemm.h"

namespace ct::jit {

using loop::BlockId;
using loop::Buffer;
using loop::BufferId;
using loop::BufferKind;
using loop::Index;
using loop::Statement;
using loop::StatementKind;

Emitter::Emitter(const loop::Program& program, const Outline& outline, Target& target, llvm::Module& module,
                 bool shares_loops)
    : program_(program),
      outline_(outline),
      target_(target),
      facts_(target.facts()),
      module_(module),
      context_(target.context()),
      b_(context_),
      scalar_(b_, facts_),
      cost_(program),
      shares_loops_(shares_loops),
      arena_bytes_(outline.arena_bytes),
      i64_(b_.getInt64Ty()) {
  globals_.resize(program.buffers.size());
  polls_ = (shares_loops || outline.stop_slot >= 0) && may_take_long(program);
}

llvm::BasicBlock* Emitter::new_block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }

int64_t Emitter::reserve_scratch(int64_t bytes) {
  int64_t offset = (outline_.arena_bytes + 63) / 64 * 64;
  arena_bytes_ = std::max(arena_bytes_, offset + bytes);
  return offset;
}

// -------------------------------------------------------------------------------------------------------------
// statements

void Emitter::emit_block(BlockId id) {
  emit_statements(id, 0, static_cast<uint32_t>(program_.blocks[id].statements.size()), outline_.calls_in(id));
}

void Emitter::emit_statements(BlockId id, uint32_t begin, uint32_t end, absl::Span<const OutlinedCall> calls) {
  const std::vector<Statement>& statements = program_.blocks[id].statements;
  double pending = 0;  // time since the last question
  for (uint32_t i = begin; i < end; ++i) {
    if (!calls.empty() && calls.front().begin == i) {
      const uint32_t after = calls.front().end;
      emit_call(calls.front());
      if (may_stop(id, i, after)) stop_if_told(1e9);
      for (uint32_t j = i; j < after; ++j) count_time(statements[j], pending);
      i = after - 1;
      calls.remove_prefix(1);
      continue;
    }
    bool took_following = false;
    const bool outermost = !std::exchange(bases_known_, true);
    const auto bases = outermost ? know_bases(statements[i]) : llvm::SmallVector<BufferId, 16>();
    emit_statement(statements[i], i + 1 < end ? &statements[i + 1] : nullptr, &took_following);
    if (outermost) {
      forget_bases(bases);
      bases_known_ = false;
    }
    count_time(statements[i], pending);
    if (took_following) ++i;
  }
}

void Emitter::emit_statement(const Statement& s, const Statement* following, bool* took_following) {
  switch (s.kind) {
    case StatementKind::kStore: {
      bool even = is_complex(program_.buffers[s.buffer].dtype) && lanes_.width != 0;
      if (even && following != nullptr && following->kind == StatementKind::kStore && following->buffer == s.buffer &&
          following->index == s.index + 1 &&
          (s.index.coefficient_of(lanes_.variable) == 2 ||
           (s.index.coefficient_of(lanes_.variable) == -2 && lanes_.mask == nullptr))) {
        *took_following = true;
        return store_complex(s.buffer, s.index, value(s.operands[0]), value(following->operands[0]));
      }
      return store(s.buffer, s.index, value(s.operands[0]));
    }
    case StatementKind::kFor:
      return emit_for(program_.fors[s.detail]);
    case StatementKind::kWhile:
      return emit_while(program_.whiles[s.detail]);
    case StatementKind::kIf:
      return emit_if(program_.ifs[s.detail]);
    case StatementKind::kGemm:
      return GemmEmitter(*this, program_.gemms[s.detail]).emit();
    case StatementKind::kFill:
    case StatementKind::kCopy:
      return emit_range(s);
    case StatementKind::kSwap:
      return emit_swap(s.buffer, s.other);
    case StatementKind::kHostCall:
      return emit_host_call(program_.host_calls[s.detail]);
    default:
      define(s.result, emit_instruction(s));
  }
}

llvm::Value* Emitter::emit_instruction(const Statement& s) {
  llvm::Value* operands[3] = {nullptr, nullptr, nullptr};
  bool vector = false;
  for (int i = 0; i < 3; ++i) {
    if (s.operands[i] == loop::kNoValue) continue;
    operands[i] = value(s.operands[i]);
    vector |= operands[i]->getType()->isVectorTy();
  }
  if (vector) {
    for (llvm::Value*& operand : operands) {
      if (operand != nullptr) operand = widen(operand);
    }
  }
  auto operand_dtype = [&] { return program_.values[s.operands[0]].dtype; };
  switch (s.kind) {
    case StatementKind::kConstant:
      if (const auto at = varied_.find(s.result); at != varied_.end()) return at->second;
      return scalar_.constant(s.dtype, s.bits);
    case StatementKind::kScalar:
      // Index arithmetic is mostly of numbers known not to be negative, whose unsigned division is cheaper.
      if ((s.op == ScalarOp::kDiv || s.op == ScalarOp::kRem) && s.dtype == DType::kInt64 &&
          program_.values[s.operands[0]].range.low >= 0 && program_.values[s.operands[1]].range.low > 0) {
        return s.op == ScalarOp::kDiv ? b_.CreateUDiv(operands[0], operands[1])
                                      : b_.CreateURem(operands[0], operands[1]);
      }
      return scalar_.apply(s.op, operand_dtype(), operands[0], operands[1]);
    case StatementKind::kFma:
      return scalar_.fma(operands[0], operands[1], operands[2]);
    case StatementKind::kScale:
      return scalar_.scale(operands[0], operands[1], operands[2]);
    case StatementKind::kMulHigh:
      return scalar_.mul_high(operands[0], operands[1]);
    case StatementKind::kSelect:
      return b_.CreateSelect(operands[0], operands[1], operands[2]);
    case StatementKind::kConvert:
      return scalar_.convert(operands[0], operand_dtype(), s.dtype);
    case StatementKind::kBitcast: {
      llvm::Value* stored = scalar_.encode(operands[0], operand_dtype());
      llvm::Type* type = memory_type(context_, s.dtype);
      if (auto* shape = llvm::dyn_cast<llvm::FixedVectorType>(stored->getType())) {
        type = llvm::FixedVectorType::get(type, shape->getNumElements());
      }
      return scalar_.decode(b_.CreateBitCast(stored, type), s.dtype);
    }
    case StatementKind::kIndex:
      return index_value(s.index);
    case StatementKind::kLoad:
      return load(s.buffer, s.index, s.bits == 1);
    default:
      CT_CHECK(false);
  }
}

llvm::Value* Emitter::widen(llvm::Value* value) {
  if (lanes_.width == 0 || value->getType()->isVectorTy()) return value;
  if (llvm::isa<llvm::ConstantFP, llvm::Argument>(value)) return hoisted(value);
  return b_.CreateVectorSplat(lanes_.width, value);
}

// A constant inside a loop would be rebuilt, element by element, by each pass of instruction selection: half of all
// compile time. Outside, and behind a fence that no pass sees through, it is one register: all registers that the lanes
// take are that one.
llvm::Value* Emitter::hoisted(llvm::Value* value) {
  const auto in_register = static_cast<unsigned>(facts_.vector_bits) / value->getType()->getScalarSizeInBits();
  const unsigned lanes = std::min(lanes_.width, in_register);
  llvm::Value*& known = constants_[value];
  if (known == nullptr) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    if (llvm::Instruction* end = constants_block_->getTerminator()) {
      b_.SetInsertPoint(end);
    } else {
      b_.SetInsertPoint(constants_block_);
    }
    known = b_.CreateVectorSplat(lanes, value);
    if (llvm::isa<llvm::Constant>(known)) {
      known = b_.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {known->getType()}, {known});
    }
  }
  if (lanes == lanes_.width) return known;
  llvm::SmallVector<int, 64> repeated;
  for (unsigned i = 0; i < lanes_.width; ++i) repeated.push_back(static_cast<int>(i % lanes));
  return b_.CreateShuffleVector(known, repeated);
}

void Emitter::unify(std::initializer_list<llvm::Value**> values) {
  bool vector = false;
  for (llvm::Value** value : values) vector |= (*value)->getType()->isVectorTy();
  if (!vector) return;
  for (llvm::Value** value : values) *value = widen(*value);
}

void Emitter::emit_range(const Statement& s) {
  const loop::MemoryRange& range = program_.ranges[s.detail];
  DType dtype = program_.buffers[range.destination].dtype;
  int64_t real_parts = is_complex(dtype) ? 2 : 1;
  llvm::Value* bytes = b_.CreateMul(uniform_index(range.count), b_.getInt64(dtype_size(dtype)));
  llvm::Align align(dtype_size(dtype) / real_parts);
  llvm::Value* to = element_pointer(range.destination, uniform_index(range.destination_offset * real_parts));
  if (s.kind == StatementKind::kCopy) {
    llvm::Value* from = element_pointer(range.source, uniform_index(range.source_offset * real_parts));
    b_.CreateMemCpy(to, align, from, align, bytes);
    return;
  }
  const auto fill = [&](llvm::Value* begin, llvm::Value* end) {
    llvm::Value* first = b_.CreateInBoundsGEP(b_.getInt8Ty(), to, begin);
    b_.CreateMemSet(first, b_.getInt8(static_cast<uint8_t>(s.bits)), b_.CreateSub(end, begin), align);
  };
  // Pages of what is long, for threads to share.
  constexpr int64_t kPage = 4096;
  const double nanoseconds = cost_.statement(s);
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(bytes);
  if (known == nullptr || lanes_.width != 0 || nanoseconds < Pool::kLeastHot) return fill(b_.getInt64(0), bytes);
  share_range(bytes, nanoseconds / static_cast<double>(known->getSExtValue()), kPage, 0, fill);
}

void Emitter::emit_swap(BufferId a, BufferId b) {
  llvm::Value *of_a = base(a), *of_b = base(b);
  b_.CreateStore(of_b, arena_at(outline_.pointer_slots.at(a)));
  b_.CreateStore(of_a, arena_at(outline_.pointer_slots.at(b)));
}

void Emitter::emit_host_call(const loop::HostCall& call) {
  CT_CHECK(lanes_.width == 0);
  llvm::PointerType* pointer = b_.getPtrTy();
  // On the stack from the entry block on: the call may be in a loop.
  const auto list = [&](const std::vector<loop::HostCall::Array>& arrays) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    llvm::Value* pointers = entry.CreateAlloca(pointer, entry.getInt64(std::max<size_t>(arrays.size(), 1)));
    for (size_t i = 0; i < arrays.size(); ++i) {
      const BufferId buffer = arrays[i].buffer;
      const int64_t parts = is_complex(program_.buffers[buffer].dtype) ? 2 : 1;
      b_.CreateStore(element_pointer(buffer, uniform_index(arrays[i].offset * parts)),
                     b_.CreateConstInBoundsGEP1_64(pointer, pointers, i));
    }
    return pointers;
  };
  llvm::Value* inputs = list(call.inputs);
  llvm::Value* outputs = list(call.outputs);
  llvm::FunctionCallee host =
      module_.getOrInsertFunction(kHostCallSymbol, b_.getInt1Ty(), b_.getInt32Ty(), pointer, pointer);
  auto* declared = llvm::cast<llvm::Function>(host.getCallee());
  declared->addRetAttr(llvm::Attribute::ZExt);
  declared->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::Value* succeeded = b_.CreateCall(host, {b_.getInt32(call.function), inputs, outputs});
  go_on_if(succeeded);
}

// --------------------------------------------------------------------------------------------------------------
// addresses

Emitter::Address Emitter::address(const Index& index) {
  Address result{nullptr};
  for (const Index::Term& term : index.terms()) {
    llvm::Value* number = values_[term.value];
    auto* factor = llvm::ConstantInt::getSigned(number->getType(), term.coefficient);
    llvm::Value* part = term.coefficient == 1 ? number : b_.CreateMul(number, factor);
    if (lanes_.width != 0 && term.value == lanes_.variable) result.stride = term.coefficient;
    llvm::Value*& sum = number->getType()->isVectorTy() ? result.varying : result.uniform;
    sum = sum == nullptr ? part : b_.CreateAdd(sum, part);
  }
  // The constant last: it becomes the displacement of the memory operand.
  if (result.uniform == nullptr) {
    result.uniform = b_.getInt64(index.constant());
  } else if (index.constant() != 0) {
    result.uniform = b_.CreateAdd(result.uniform, b_.getInt64(index.constant()));
  }
  return result;
}

llvm::Value* Emitter::lane_numbers(llvm::Type* element, unsigned width) {
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (unsigned i = 0; i < width; ++i) numbers.push_back(llvm::ConstantInt::get(element, i));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* Emitter::index_value(const Index& index) {
  Address a = address(index);
  if (a.is_uniform()) return a.uniform;
  llvm::Value* result = widen(a.uniform);
  if (a.stride != 0) {
    llvm::Value* lanes = lane_numbers(i64_, lanes_.width);
    result = b_.CreateAdd(result, b_.CreateMul(lanes, widen(b_.getInt64(a.stride))));
  }
  return a.varying == nullptr ? result : b_.CreateAdd(result, a.varying);
}

llvm::Value* Emitter::uniform_index(const Index& index) {
  Address a = address(index);
  CT_CHECK(a.is_uniform());
  return a.uniform;
}

llvm::Value* Emitter::base(BufferId id) {
  if (bases_[id] != nullptr) return bases_[id];
  if (program_.buffers[id].kind == BufferKind::kConstant) return table(id);
  if (const auto slot = outline_.pointer_slots.find(id); slot != outline_.pointer_slots.end())
    return b_.CreateLoad(b_.getPtrTy(), arena_at(slot->second));
  return table_ == nullptr ? original_base(id) : base_by_table(id);
}

llvm::Value* Emitter::element_pointer(BufferId buffer, llvm::Value* index) {
  llvm::Type* element = memory_type(context_, real_dtype(program_.buffers[buffer].dtype));
  // What a shared function is given may point outside of the array, until the index is added.
  return is_shared_ ? b_.CreateGEP(element, base(buffer), index) : b_.CreateInBoundsGEP(element, base(buffer), index);
}

llvm::Value* Emitter::interleaved_mask() {
  llvm::SmallVector<int, 128> twice;
  for (unsigned i = 0; i < 2 * lanes_.width; ++i) twice.push_back(static_cast<int>(i / 2));
  return b_.CreateShuffleVector(lanes_.mask, twice);
}

llvm::Value* Emitter::load(BufferId buffer, const Index& index, bool any_lane_may) {
  DType dtype = real_dtype(program_.buffers[buffer].dtype);
  if (dtype == DType::kKey) dtype = DType::kUInt64;
  llvm::Type* type = memory_type(context_, dtype);
  llvm::Align align(dtype_size(dtype));
  Address a = address(index);
  if (llvm::Value* held = load_held(buffer, a, dtype)) return scalar_.decode(held, dtype);
  if (a.is_uniform())
    return scalar_.decode(b_.CreateAlignedLoad(type, element_pointer(buffer, a.uniform), align), dtype);

  unsigned width = lanes_.width;
  auto* vector = llvm::FixedVectorType::get(type, width);
  llvm::Value* stored;
  if (a.varying == nullptr && a.stride == 1) {
    llvm::Value* pointer = element_pointer(buffer, a.uniform);
    stored =
        lanes_.mask == nullptr ? b_.CreateAlignedLoad(vector, pointer, align) : load_masked(vector, pointer, align);
  } else if (a.varying == nullptr && a.stride == -1 && lanes_.mask == nullptr) {
    llvm::Value* first = b_.CreateSub(a.uniform, b_.getInt64(width - 1));
    stored = b_.CreateVectorReverse(b_.CreateAlignedLoad(vector, element_pointer(buffer, first), align));
  } else if (a.varying == nullptr && (a.stride == 2 || (a.stride == -2 && lanes_.mask == nullptr)) &&
             is_complex(program_.buffers[buffer].dtype)) {
    // Both parts of `width` complex numbers; a clean-up pass shares the load between the real and the imaginary parts.
    int parity = static_cast<int>(index.constant() & 1);
    auto* pairs = llvm::FixedVectorType::get(type, 2 * width);
    llvm::Value* first = address(index - parity).uniform;
    const bool reversed = a.stride < 0;
    if (reversed) first = b_.CreateSub(first, b_.getInt64(2 * (width - 1)));
    llvm::Value* pointer = element_pointer(buffer, first);
    llvm::Value* both = lanes_.mask == nullptr
                            ? b_.CreateAlignedLoad(pairs, pointer, align)
                            : static_cast<llvm::Value*>(b_.CreateMaskedLoad(pairs, pointer, align, interleaved_mask(),
                                                                            llvm::Constant::getNullValue(pairs)));
    llvm::SmallVector<int, 64> picked;
    for (unsigned i = 0; i < width; ++i) {
      picked.push_back(static_cast<int>(2 * (reversed ? width - 1 - i : i)) + parity);
    }
    stored = b_.CreateShuffleVector(both, picked);
  } else if (a.varying == nullptr && lanes_.mask == nullptr && is_near(facts_, width, a.stride)) {
    stored = load_near(element_pointer(buffer, a.uniform), vector, a.stride, align);
  } else {
    llvm::Value* pointers = element_pointer(buffer, index_value(index));
    stored = b_.CreateMaskedGather(vector, pointers, align, any_lane_may ? nullptr : lanes_.mask,
                                   llvm::Constant::getNullValue(vector));
  }
  return scalar_.decode(stored, dtype);
}

// Elements a few apart: all that lies between the first and the last, in as many vectors, and the right lanes of each.
llvm::Value* Emitter::load_near(llvm::Value* pointer, llvm::FixedVectorType* type, int64_t stride, llvm::Align align) {
  const auto width = static_cast<int64_t>(type->getNumElements());
  const int64_t last_vector = (width - 1) * stride + 1 - width;  // nothing behind the last element is read
  llvm::Value* result = nullptr;
  llvm::SmallVector<int, 64> lanes(width, -1);
  for (int64_t part = 0; part < stride; ++part) {
    const int64_t start = std::min(part * width, last_vector);
    llvm::Value* loaded =
        b_.CreateAlignedLoad(type, b_.CreateConstInBoundsGEP1_64(type->getElementType(), pointer, start), align);
    for (int64_t lane = 0; lane < width; ++lane) {
      const int64_t at = lane * stride;
      if (at >= part * width && at < (part + 1) * width) {
        lanes[lane] = static_cast<int>(at - start + (part == 0 ? 0 : width));
      } else if (at < part * width) {
        lanes[lane] = static_cast<int>(lane);  // from the parts before
      }
    }
    result = part == 0 ? b_.CreateShuffleVector(loaded, lanes) : b_.CreateShuffleVector(result, loaded, lanes);
  }
  return result;
}

void Emitter::store(BufferId buffer, const Index& index, llvm::Value* value) {
  DType dtype = real_dtype(program_.buffers[buffer].dtype);
  if (dtype == DType::kKey) dtype = DType::kUInt64;
  llvm::Align align(dtype_size(dtype));
  Address a = address(index);
  if (a.is_uniform()) {
    b_.CreateAlignedStore(scalar_.encode(value, dtype), element_pointer(buffer, a.uniform), align);
    return;
  }
  llvm::Value* stored = scalar_.encode(widen(value), dtype);
  if (store_held(buffer, a, stored)) return;
  if (a.varying == nullptr && a.stride == 1) {
    llvm::Value* pointer = element_pointer(buffer, a.uniform);
    if (lanes_.mask == nullptr) {
      if (streaming_ && streams(buffer)) return store_past_caches(stored, pointer);
      store_whole(stored, pointer, align);
    } else {
      store_masked(stored, pointer, align, lanes_.mask);
    }
  } else if (a.varying == nullptr && a.stride == -1 && lanes_.mask == nullptr) {
    llvm::Value* first = b_.CreateSub(a.uniform, b_.getInt64(lanes_.width - 1));
    b_.CreateAlignedStore(b_.CreateVectorReverse(stored), element_pointer(buffer, first), align);
  } else {
    b_.CreateMaskedScatter(stored, element_pointer(buffer, index_value(index)), align, lanes_.mask);
  }
}

// Stores of the real and the imaginary parts of consecutive complex numbers as one.
void Emitter::store_complex(BufferId buffer, const Index& index, llvm::Value* re, llvm::Value* im) {
  Address a = address(index);
  if (a.varying != nullptr) {
    store(buffer, index, re);
    return store(buffer, index + 1, im);
  }
  llvm::SmallVector<int, 128> zip;
  const bool reversed = a.stride < 0;
  for (unsigned i = 0; i < lanes_.width; ++i) {
    const unsigned lane = reversed ? lanes_.width - 1 - i : i;
    zip.push_back(static_cast<int>(lane));
    zip.push_back(static_cast<int>(lanes_.width + lane));
  }
  if (reversed) a.uniform = b_.CreateSub(a.uniform, b_.getInt64(2 * (lanes_.width - 1)));
  llvm::Value* both = b_.CreateShuffleVector(widen(re), widen(im), zip);
  llvm::Align align(dtype_size(real_dtype(program_.buffers[buffer].dtype)));
  llvm::Value* pointer = element_pointer(buffer, a.uniform);
  if (lanes_.mask == nullptr) {
    b_.CreateAlignedStore(both, pointer, align);
  } else {
    store_masked(both, pointer, align, interleaved_mask());
  }
}

// Where most vectors are whole, a branch that is predicted costs less than a masked access: without AVX-512 some
// processors take tens of cycles for a store, and several for a load.
void Emitter::if_whole(llvm::function_ref<void()> plain, llvm::function_ref<void()> masked) {
  if (lanes_.whole == nullptr || lanes_.mask != lanes_.tail) return masked();
  llvm::BasicBlock* whole = new_block("whole");
  llvm::BasicBlock* tail = new_block("tail");
  llvm::BasicBlock* joined = new_block("joined");
  b_.CreateCondBr(lanes_.whole, whole, tail);
  b_.SetInsertPoint(whole);
  plain();
  b_.CreateBr(joined);
  b_.SetInsertPoint(tail);
  masked();
  b_.CreateBr(joined);
  b_.SetInsertPoint(joined);
}

// LLVM would store a choice between a value and what was there before under a mask: see above.
void Emitter::store_whole(llvm::Value* stored, llvm::Value* pointer, llvm::Align align) {
  if (!target_.facts().masks_any_size && llvm::isa<llvm::SelectInst>(stored)) stored = b_.CreateFreeze(stored);
  b_.CreateAlignedStore(stored, pointer, align);
}

void Emitter::store_masked(llvm::Value* stored, llvm::Value* pointer, llvm::Align align, llvm::Value* mask) {
  if_whole([&] { store_whole(stored, pointer, align); }, [&] { b_.CreateMaskedStore(stored, pointer, align, mask); });
}

llvm::Value* Emitter::load_masked(llvm::FixedVectorType* vector, llvm::Value* pointer, llvm::Align align) {
  llvm::Value *whole = nullptr, *tail = nullptr;
  if_whole(
      [&] { whole = b_.CreateAlignedLoad(vector, pointer, align); },
      [&] { tail = b_.CreateMaskedLoad(vector, pointer, align, lanes_.mask, llvm::Constant::getNullValue(vector)); });
  if (whole == nullptr) return tail;
  llvm::PHINode* phi = b_.CreatePHI(vector, 2);
  phi->addIncoming(whole, llvm::cast<llvm::Instruction>(whole)->getParent());
  phi->addIncoming(tail, llvm::cast<llvm::Instruction>(tail)->getParent());
  return phi;
}

llvm::Value* Emitter::any_lane(llvm::Value* mask) {
  return mask->getType()->isVectorTy() ? b_.CreateOrReduce(mask) : mask;
}

}  // namespace ct::jit
