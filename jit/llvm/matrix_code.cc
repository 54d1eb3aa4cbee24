#include "jit/llvm/matrix_code.h"

#include <algorithm>

#include "jit/llvm/sharing.h"
#include "runtime/pool.h"
#include "runtime/processor.h"

namespace ct::jit {

MatrixCode::MatrixCode(CpuEmission& e, DType dtype)
    : e_(e),
      b_(e.b),
      facts_(e.code.facts),
      dtype_(dtype),
      real_(register_type(e.code.context, dtype)),
      size_(dtype_size(dtype)),
      align_(static_cast<uint64_t>(size_)),
      has_masks_(facts_.masks_words || facts_.masks_any_size) {}

llvm::Value* MatrixCode::number(int64_t value) { return b_.getInt64(value); }

llvm::Value* MatrixCode::least(llvm::Value* a, llvm::Value* b) {
  auto *known_a = llvm::dyn_cast<llvm::ConstantInt>(a), *known_b = llvm::dyn_cast<llvm::ConstantInt>(b);
  if (known_a != nullptr && known_b != nullptr) return known_a->getSExtValue() < known_b->getSExtValue() ? a : b;
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
}

llvm::Value* MatrixCode::scratch(int64_t elements) {
  const int64_t bytes = divide_up(elements * size_, 64) * 64;
  // Threads that share a loop have memory of their own.
  int64_t& used = e_.sharing.in_range ? range_scratch_used_ : scratch_used_;
  used += bytes;
  return scratch_at(e_, used - bytes, bytes);
}

MatrixCode::View MatrixCode::view(const loop::Matrix& matrix) {
  llvm::Value* pointer = e_.addresses.element_pointer(matrix.buffer, uniform_index(e_, matrix.offset));
  return {pointer, matrix.row_stride, matrix.column_stride, real_dtype(e_.program.buffers[matrix.buffer].dtype)};
}

llvm::Value* MatrixCode::offset(const View& v, llvm::Value* row, llvm::Value* column) {
  llvm::Type* type = memory_type(e_.code.context, v.dtype);
  llvm::Value* index =
      b_.CreateAdd(b_.CreateMul(row, number(v.row_stride)), b_.CreateMul(column, number(v.column_stride)));
  return b_.CreateInBoundsGEP(type, v.pointer, index);
}

llvm::Value* MatrixCode::offset(llvm::Value* pointer, int64_t elements) {
  return elements == 0 ? pointer : b_.CreateConstInBoundsGEP1_64(real_, pointer, elements);
}

void MatrixCode::share(llvm::Value* count, int64_t most, int64_t multiply_adds,
                       llvm::function_ref<void(llvm::Value*, llvm::Value*)> body) {
  const double nanoseconds = static_cast<double>(multiply_adds) * kProcessor.multiply_add(dtype_);
  if (e_.sharing.in_range || static_cast<double>(most) * nanoseconds < Pool::kLeastHot) return body(number(0), count);
  share_range(e_, count, nanoseconds, 1, scratch_used_, [&](llvm::Value* begin, llvm::Value* end) {
    range_scratch_used_ = 0;
    body(begin, end);
  });
}

llvm::Constant* MatrixCode::numbers(llvm::ArrayRef<uint64_t> numbers, const char* name) {
  llvm::Constant* data = llvm::ConstantDataArray::get(e_.code.context, numbers);
  return new llvm::GlobalVariable(e_.code.module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, name);
}

llvm::FunctionCallee MatrixCode::function_of_library(const char* name, llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::FunctionCallee callee =
      e_.code.module.getOrInsertFunction(name, llvm::FunctionType::get(b_.getVoidTy(), parameters, false));
  llvm::cast<llvm::Function>(callee.getCallee())->addFnAttr(llvm::Attribute::NoUnwind);
  return callee;
}

void MatrixCode::for_range(llvm::Value* begin, llvm::Value* end, int64_t step,
                           llvm::function_ref<void(llvm::Value*)> body) {
  e_.code.run_loop(begin, end, step, {}, [&](llvm::Value* i, const LlvmValues&) {
    body(i);
    return LlvmValues{};
  });
}

llvm::Value* MatrixCode::first_lanes(unsigned lanes, int64_t active) {
  llvm::SmallVector<llvm::Constant*, 16> bits;
  for (unsigned i = 0; i < lanes; ++i) bits.push_back(b_.getInt1(i < active));
  return llvm::ConstantVector::get(bits);
}

llvm::Value* MatrixCode::first_lanes(unsigned lanes, llvm::Value* active) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(active)) return first_lanes(lanes, known->getSExtValue());
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(b_.getInt32(i));
  llvm::Value* count = b_.CreateVectorSplat(lanes, b_.CreateTrunc(active, b_.getInt32Ty()));
  return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), count);
}

llvm::Value* MatrixCode::up_to_multiples(llvm::Value* value, int64_t of) {
  return of == 1 ? value : b_.CreateUDiv(b_.CreateAdd(value, number(of - 1)), number(of));
}

llvm::Value* MatrixCode::lanes_of(llvm::Value* mask) {
  llvm::Type* type = mask->getType();
  return type->getScalarType()->isIntegerTy(1) ? mask : b_.CreateICmpSLT(mask, llvm::Constant::getNullValue(type));
}

llvm::Value* MatrixCode::load_vector(llvm::Value* pointer, unsigned lanes, llvm::Value* mask) {
  auto* type = vector_type(lanes);
  if (mask == nullptr) return b_.CreateAlignedLoad(type, pointer, align_);
  return b_.CreateMaskedLoad(type, pointer, align_, lanes_of(mask), llvm::Constant::getNullValue(type));
}

void MatrixCode::store_vector(llvm::Value* vector, llvm::Value* pointer, llvm::Value* mask) {
  if (mask == nullptr) {
    b_.CreateAlignedStore(vector, pointer, align_);
  } else {
    b_.CreateMaskedStore(vector, pointer, align_, lanes_of(mask));
  }
}

llvm::Value* MatrixCode::load_vector(llvm::Value* pointer, unsigned lanes, int64_t active) {
  return load_vector(pointer, lanes, active >= lanes ? nullptr : first_lanes(lanes, active));
}

void MatrixCode::store_vector(llvm::Value* vector, llvm::Value* pointer, int64_t active) {
  unsigned lanes = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  store_vector(vector, pointer, active >= lanes ? nullptr : first_lanes(lanes, active));
}

llvm::Value* MatrixCode::broadcast(llvm::Value* pointer, unsigned lanes) {
  return b_.CreateVectorSplat(lanes, b_.CreateAlignedLoad(real_, pointer, align_));
}

void MatrixCode::clear(const View& c, int64_t m, int64_t n) {
  int64_t bytes = dtype_size(c.dtype);
  llvm::Align align(bytes);
  bool rows = c.column_stride == 1 || n == 1, columns = c.row_stride == 1 || m == 1;
  if ((rows && (c.row_stride == n || m == 1)) || (columns && (c.column_stride == m || n == 1))) {
    b_.CreateMemSet(c.pointer, b_.getInt8(0), number(m * n * bytes), align);
    return;
  }
  View v = rows || !columns ? c : transposed(c);
  if (!rows && columns) std::swap(m, n);
  for_range(number(m), 1, [&](llvm::Value* r) {
    if (v.column_stride == 1) {
      b_.CreateMemSet(offset(v, r, number(0)), b_.getInt8(0), number(n * bytes), align);
      return;
    }
    for_range(number(n), 1, [&](llvm::Value* column) {
      b_.CreateAlignedStore(llvm::Constant::getNullValue(memory_type(e_.code.context, v.dtype)), offset(v, r, column),
                            align);
    });
  });
}

void MatrixCode::convert_copy(const View& from, const View& to, llvm::Value* rows, llvm::Value* columns, bool add) {
  auto copy = [&](llvm::Value* row, llvm::Value* column, unsigned lanes) {
    auto load = [&](const View& v) {
      llvm::Type* type = memory_type(e_.code.context, v.dtype);
      if (lanes > 1) type = llvm::FixedVectorType::get(type, lanes);
      llvm::Value* stored = b_.CreateAlignedLoad(type, offset(v, row, column), llvm::Align(dtype_size(v.dtype)));
      return e_.math.decode(stored, v.dtype);
    };
    // Small floats are float32 in registers, so only `to` needs a conversion.
    llvm::Value* value = load(from);
    if (add) value = b_.CreateFAdd(load(to), value);
    if (to.dtype != dtype_) value = e_.math.convert(value, dtype_, to.dtype);
    b_.CreateAlignedStore(e_.math.encode(value, to.dtype), offset(to, row, column), llvm::Align(dtype_size(to.dtype)));
  };
  unsigned lanes = static_cast<unsigned>(facts_.vector_bits / 8 / size_);
  llvm::Value* whole = number(0);
  if (from.column_stride == 1 && to.column_stride == 1) {
    whole = b_.CreateAnd(columns, number(-static_cast<int64_t>(lanes)));
  }
  for_range(rows, 1, [&](llvm::Value* row) {
    for_range(whole, lanes, [&](llvm::Value* column) { copy(row, column, lanes); });
    for_range(whole, columns, 1, [&](llvm::Value* column) { copy(row, column, 1); });
  });
}

void MatrixCode::copy_pairs(const View& from, const View& to, int64_t rows, int64_t columns, bool add) {
  for (int64_t part : {0, 1}) {
    View from_part = from, to_part = to;
    from_part.pointer = offset(from.pointer, part);
    to_part.pointer = offset(to.pointer, part);
    convert_copy(from_part, to_part, number(rows), number(columns), add);
  }
}

}  // namespace ct::jit
