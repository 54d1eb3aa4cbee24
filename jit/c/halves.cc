// float16 where the processor converts vectors of it: with the bits of its instructions, NaN's payloads too. GCC makes
// vectors of arithmetic only, Clang of the conversions themselves.
#include "jit/c/helpers.h"
#include "runtime/text.h"

namespace ct::jit::c {

namespace {

std::string half_function(std::string_view head, std::string_view conversion, std::string_view arithmetic) {
  return concat(kInline, head, " {\n#ifdef CT_HALF\n", conversion, "#else\n", arithmetic, "#endif\n}\n");
}

}  // namespace

std::string Helpers::half_type() {
  return function("ct_half", R"(#if defined __clang__ && __clang_major__ >= 15 && defined __F16C__
#define CT_HALF
typedef _Float16 ct_half;
#endif
)");
}

std::string Helpers::decode_half() {
  half_type();
  const std::string to_bits = bitcast(DType::kFloat32, DType::kUInt32),
                    from_bits = bitcast(DType::kUInt32, DType::kFloat32);
  return function(
      "ct_from_float16",
      half_function("float ct_from_float16(uint16_t stored)", R"(  ct_half x;
  __builtin_memcpy(&x, &stored, sizeof x);
  return (float)x;
)",
                    concat(R"(  const uint32_t magnitude = (stored & 0x7fffu) << 13;
  const uint32_t number = )",
                           to_bits, "(", from_bits, R"((magnitude) * 5.192297e+33f);
  const uint32_t special = magnitude | (magnitude > 0xf800000u ? 0x7fc00000u : 0x7f800000u);
  return )",
                           from_bits, R"(((magnitude >= 0xf800000u ? special : number) | (stored & 0x8000u) << 16);
)")));
}

std::string Helpers::encode_half() {
  half_type();
  const std::string to_bits = bitcast(DType::kFloat32, DType::kUInt32);
  return function(
      "ct_to_float16",
      concat("/* Of a number that there is in the format. */\n",
             half_function("uint16_t ct_to_float16(float x)", R"(  const ct_half stored = (ct_half)x;
  uint16_t bits;
  __builtin_memcpy(&bits, &stored, sizeof bits);
  return bits;
)",
                           concat("  const uint32_t magnitude = ", to_bits,
                                  "(__builtin_fabsf(x) * 1.9259299e-34f) >> 13 & 0x7fffu;\n",
                                  "  return (uint16_t)(magnitude | (", to_bits, "(x) >> 16 & 0x8000u));\n"))));
}

std::string Helpers::round_to_half() {
  half_type();
  const std::string to_bits = bitcast(DType::kFloat32, DType::kUInt32),
                    from_bits = bitcast(DType::kUInt32, DType::kFloat32);
  return function(
      "ct_round_to_float16",
      concat("/* The nearest number that there is in the format, of two the even one: by a sum with a number of as few "
             "fraction\n"
             " * bits. */\n",
             half_function("float ct_round_to_float16(float x)", "  return (float)(ct_half)x;\n",
                           concat("  const uint32_t bits = ", to_bits, R"((x), power = bits & 0x7f800000u;
  const uint32_t normal = power > 0x38800000u ? power : 0x38800000u;
  const float unit = )",
                                  from_bits, R"(((normal < 0x47800000u ? normal : 0x47800000u) + 0x6800000u);
  const float size = __builtin_fabsf(x) + unit - unit;
  const uint32_t rounded = size > 65504.0f ? 0x7f800000u : )",
                                  to_bits, "(size) & 0xffffe000u;\n  return ", from_bits,
                                  "(rounded | (bits & 0x80000000u));\n"))));
}

}  // namespace ct::jit::c
