// What products of matrices are written in: views of matrices, vectors of their elements, loops and copies.
#pragma once

#include <array>
#include <bit>

#include "jit/llvm/emit.h"
#include "jit/machine/product_plan.h"

namespace ct::jit {

class MatrixCode {
 protected:
  MatrixCode(CpuEmission& e, DType dtype);

  // An operand while emitting: element (r, c) is at pointer + r * row_stride + c * column_stride elements.
  struct View {
    llvm::Value* pointer;
    int64_t row_stride;
    int64_t column_stride;
    DType dtype;
  };
  static View transposed(const View& v) { return {v.pointer, v.column_stride, v.row_stride, v.dtype}; }
  View view(const loop::Matrix& matrix);

  unsigned most_lanes() const { return static_cast<unsigned>(facts_.vector_bits / 8 / size_); }
  llvm::Value* scratch(int64_t elements);
  llvm::Value* offset(const View& v, llvm::Value* row, llvm::Value* column);
  llvm::Value* offset(llvm::Value* pointer, int64_t elements);
  llvm::Value* number(int64_t value);
  llvm::Value* times(llvm::Value* value, int64_t factor) { return b_.CreateMul(value, number(factor)); }
  llvm::Value* up_to_multiples(llvm::Value* value, int64_t of);  // how many of them hold so many
  llvm::Value* half(llvm::Value* value) { return b_.CreateLShr(value, number(1)); }
  llvm::Value* least(llvm::Value* a, llvm::Value* b);
  llvm::FixedVectorType* vector_type(unsigned lanes) { return llvm::FixedVectorType::get(real_, lanes); }
  llvm::Value* first_lanes(unsigned lanes, int64_t active);  // a mask
  llvm::Value* first_lanes(unsigned lanes, llvm::Value* active);
  llvm::Value* lanes_of(llvm::Value* mask);  // which may be lanes, or integers whose signs count
  llvm::Value* load_vector(llvm::Value* pointer, unsigned lanes, int64_t active);
  llvm::Value* load_vector(llvm::Value* pointer, unsigned lanes, llvm::Value* mask);
  void store_vector(llvm::Value* vector, llvm::Value* pointer, int64_t active);
  void store_vector(llvm::Value* vector, llvm::Value* pointer, llvm::Value* mask);
  llvm::Value* broadcast(llvm::Value* pointer, unsigned lanes);
  void for_range(llvm::Value* begin, llvm::Value* end, int64_t step, llvm::function_ref<void(llvm::Value*)> body);
  void for_range(llvm::Value* end, int64_t step, llvm::function_ref<void(llvm::Value*)> body) {
    for_range(number(0), end, step, body);
  }
  // Units [0, count) of about so many multiply-adds each, by the threads that are there.
  void share(int64_t count, int64_t multiply_adds,
             llvm::function_ref<void(llvm::Value* begin, llvm::Value* end)> body) {
    share(number(count), count, multiply_adds, body);
  }
  // Of which there are at most so many.
  void share(llvm::Value* count, int64_t most, int64_t multiply_adds,
             llvm::function_ref<void(llvm::Value* begin, llvm::Value* end)> body);

  // A record of a function of this library, all of int64, as a constant of the module; and such a function.
  template <class Record>
  llvm::Constant* record(const Record& record, const char* name) {
    constexpr size_t kNumbers = sizeof record / sizeof(uint64_t);
    return numbers(std::bit_cast<std::array<uint64_t, kNumbers>>(record), name);
  }
  llvm::FunctionCallee function_of_library(const char* name, llvm::ArrayRef<llvm::Type*> parameters);

  void clear(const View& c, int64_t m, int64_t n);
  // to (+)= from, element by element, converting.
  void convert_copy(const View& from, const View& to, llvm::Value* rows, llvm::Value* columns, bool add);
  // to (+)= from, each of complex elements whose parts lie side by side.
  void copy_pairs(const View& from, const View& to, int64_t rows, int64_t columns, bool add);

  CpuEmission& e_;
  llvm::IRBuilder<>& b_;
  const TargetFacts& facts_;
  DType dtype_;  // of the arithmetic
  llvm::Type* real_;
  int64_t size_;  // bytes of real_
  llvm::Align align_;
  bool has_masks_;

 private:
  llvm::Constant* numbers(llvm::ArrayRef<uint64_t> numbers, const char* name);

  int64_t scratch_used_ = 0, range_scratch_used_ = 0;
};

}  // namespace ct::jit
