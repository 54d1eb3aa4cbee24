// The small functions that generated C uses beside C itself: what the loop IR's operations mean where C leaves it open
// or says otherwise (wrapping, saturating, NaN), formats that C has no type for, vectors. Each is written once into a
// source that needs it, before its first use; start at Helpers::text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/scalar_op.h"
#include "jit/machine/target_facts.h"
#include "runtime/dtype.h"

namespace ct::jit::c {

// In registers; small floats are floats there. In memory bool is uint8_t, and small floats are their bits.
std::string_view register_type(DType dtype);
std::string_view memory_type(DType dtype);
// "f32", "i8", "u64", "bf16", "bool".
std::string short_name(DType dtype);
bool is_small_float(DType dtype);
inline bool is_double(DType dtype) { return dtype == DType::kFloat64; }
// Of C's functions and numbers of a float.
inline std::string suffix(DType dtype) { return is_double(dtype) ? "" : "f"; }

// What the definition of a small function begins with.
inline constexpr std::string_view kInline = "CT_INLINE ";

class Helpers {
 public:
  explicit Helpers(const TargetFacts& facts) : facts_(facts) {}

  // Definitions of all that has been asked for, in an order in which they compile.
  std::string text() const;

  // Each gives the name of a function.
  std::string scalar(ScalarOp op, DType dtype);  // of one or two operands
  std::string convert(DType from, DType to);     // where no cast does it
  std::string bitcast(DType from, DType to);
  std::string scale(DType dtype);
  std::string mul_high(DType dtype);
  std::string fma(DType dtype);
  std::string decode(DType small), encode(DType small), round_to(DType small);

  // Vectors of `lanes` float32 or float64: the name of the type.
  std::string vector(DType dtype, unsigned lanes);
  std::string splat(DType dtype, unsigned lanes);
  std::string load(DType dtype, unsigned lanes);        // (const T*)
  std::string load_some(DType dtype, unsigned lanes);   // (const T*, int64_t count): others are 0
  std::string store(DType dtype, unsigned lanes);       // (T*, vector)
  std::string store_some(DType dtype, unsigned lanes);  // (T*, vector, int64_t count)
  std::string vector_fma(DType dtype, unsigned lanes);
  std::string vector_op(ScalarOp op, DType dtype, unsigned lanes);  // max, min; others are operators
  std::string fold(ScalarOp op, DType dtype, unsigned lanes);       // halves against each other
  std::string fold_neighbours(DType dtype, unsigned lanes);         // a sum of pairs of pairs

  // Any other: `body` is the whole definition, `name` what it defines. The same name is the same body.
  std::string function(const std::string& name, const std::string& body);
  bool knows(const std::string& name) const { return known_.contains(name); }
  // A name like `wanted` for this body: equal bodies, which say `$` for it, are one function.
  std::string function_like(const std::string& wanted, const std::string& body);

  const TargetFacts& facts() const { return facts_; }

 private:
  // Whether there is an intrinsic for numbers of the format.
  bool converts(DType small) const {
    return small == DType::kFloat16 && facts_.arch == TargetFacts::Arch::kX86 && facts_.has_masks() &&
           facts_.half_conversions;
  }
  std::string half_type(), decode_half(), encode_half(), round_to_half();  // halves.cc
  std::string scalar_float(ScalarOp op, DType dtype);
  std::string scalar_integer(ScalarOp op, DType dtype);

  const TargetFacts& facts_;
  std::vector<std::string> definitions_;
  absl::flat_hash_map<std::string, std::string> known_;   // by name: the definition
  absl::flat_hash_map<std::string, std::string> bodies_;  // of function_like: the name
};

// What a source begins with: includes, and what makes compilers keep to the roundings that are written.
std::string preamble(const TargetFacts& facts);

// A number as C writes it.
std::string literal(DType dtype, uint64_t bits);

}  // namespace ct::jit::c
