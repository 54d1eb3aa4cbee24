// Vectors of the floats that sums and products are made in.
#include <string_view>

#include "jit/c/helpers.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::jit::c {

std::string Helpers::vector(DType dtype, unsigned lanes) {
  const std::string name = concat("ct_", short_name(dtype), "x", lanes);
  const std::string bits = concat("ct_", short_name(is_double(dtype) ? DType::kInt64 : DType::kInt32), "x", lanes);
  return function(name, concat("typedef ", register_type(dtype), " ", name, " __attribute__((vector_size(",
                               lanes * static_cast<unsigned>(dtype_size(dtype)), ")));\ntypedef ",
                               is_double(dtype) ? "int64_t " : "int32_t ", bits, " __attribute__((vector_size(",
                               lanes * static_cast<unsigned>(dtype_size(dtype)), ")));\n"));
}

std::string Helpers::splat(DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_all");
  std::string list;
  for (unsigned i = 0; i < lanes; ++i) list += i == 0 ? "x" : ", x";
  return function(name, concat(kInline, type, " ", name, "(", register_type(dtype), " x) {\n  const ", type, " all = {",
                               list, "};\n  return all;\n}\n"));
}

std::string Helpers::load(DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_load");
  return function(name, concat(kInline, type, " ", name, "(const ", register_type(dtype), "* p) {\n  ", type,
                               " x;\n  __builtin_memcpy(&x, p, sizeof x);\n  return x;\n}\n"));
}

std::string Helpers::store(DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_store");
  return function(name, concat(kInline, "void ", name, "(", register_type(dtype), "* p, ", type,
                               " x) { __builtin_memcpy(p, &x, sizeof x); }\n"));
}

namespace {

// What x86 has for the first elements of a vector: its intrinsic, or nothing.
std::string masked(std::string_view what, DType dtype, unsigned lanes, const TargetFacts& facts) {
  if (facts.arch != TargetFacts::Arch::kX86 || !facts.has_masks()) return "";
  const unsigned bits = 8 * lanes * static_cast<unsigned>(dtype_size(dtype));
  if (bits > 256 && !facts.masks_any_size) return "";
  const std::string_view kind = is_double(dtype) ? "pd" : "ps";
  const std::string prefix = bits == 128 ? "_mm" : concat("_mm", bits);
  if (facts.masks_any_size) {
    const std::string mask = concat("(__mmask", lanes < 16 ? "8" : "16", ")((1u << count) - 1u)");
    return what == "load" ? concat(prefix, "_maskz_loadu_", kind, "(", mask, ", p)")
                          : concat(prefix, "_mask_storeu_", kind, "(p, ", mask, ", (__m", bits,
                                   is_double(dtype) ? "d" : "", ")x)");
  }
  const std::string integers = concat("ct_", short_name(is_double(dtype) ? DType::kInt64 : DType::kInt32), "x", lanes);
  std::string numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers += concat(i == 0 ? "" : ", ", i);
  const std::string mask = concat("(__m", bits, "i)(numbers < count_of_all)");
  const std::string all = concat("const ", integers, " none = {0}, numbers = {", numbers, "}, count_of_all = (",
                                 is_double(dtype) ? "int64_t" : "int32_t", ")count - none;\n  ");
  return concat(all, what == "load" ? concat("return (", "ct_", short_name(dtype), "x", lanes, ")", prefix,
                                             "_maskload_", kind, "(p, ", mask, ")")
                                    : concat(prefix, "_maskstore_", kind, "(p, ", mask, ", (__m", bits,
                                             is_double(dtype) ? "d" : "", ")x)"));
}

}  // namespace

std::string Helpers::load_some(DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_load_some");
  std::string body = masked("load", dtype, lanes, facts_);
  if (body.empty()) {
    body = concat(type, " x = {0};\n  CT_UNROLL\n  for (int i = 0; i < ", lanes,
                  "; ++i)\n    if (i < count) x[i] = p[i];\n  return x");
  } else if (facts_.masks_any_size) {
    body = concat("return (", type, ")", body);
  }
  return function(name, concat("/* The first `count`; the others are 0. */\n", kInline, type, " ", name, "(const ",
                               register_type(dtype), "* p, int64_t count) {\n  ", body, ";\n}\n"));
}

std::string Helpers::store_some(DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_store_some");
  std::string body = masked("store", dtype, lanes, facts_);
  if (body.empty()) {
    body = concat("CT_UNROLL\n  for (int i = 0; i < ", lanes, "; ++i)\n    if (i < count) p[i] = x[i]");
  }
  return function(name, concat(kInline, "void ", name, "(", register_type(dtype), "* p, ", type,
                               " x, int64_t count) {\n  ", body, ";\n}\n"));
}

std::string Helpers::vector_fma(DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_fma");
  const std::string one = concat("__builtin_fma", suffix(dtype));
  const bool once = facts_.fma && (facts_.doubles || !is_double(dtype));
  std::string body = "return a * b + c;";
  if (once) {
    body = concat(R"(
#if defined __has_builtin
#if __has_builtin(__builtin_elementwise_fma)
#define CT_FMA
#endif
#endif
#ifdef CT_FMA
#undef CT_FMA
  return __builtin_elementwise_fma(a, b, c);
#else
  )",
                  type, R"( x;
  CT_UNROLL
  for (int i = 0; i < )",
                  lanes, "; ++i) x[i] = ", one, R"((a[i], b[i], c[i]);
  return x;
#endif
)");
  }
  return function(name, concat(kInline, type, " ", name, "(", type, " a, ", type, " b, ", type, " c) {",
                               once ? "" : " ", body, once ? "" : " ", "}\n"));
}

std::string Helpers::vector_op(ScalarOp op, DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_", scalar_op_info(op).name);
  const std::string bits = concat("ct_", short_name(is_double(dtype) ? DType::kInt64 : DType::kInt32), "x", lanes);
  CT_CHECK(op == ScalarOp::kMax || op == ScalarOp::kMin);
  const std::string_view than = op == ScalarOp::kMax ? ">" : "<";
  return function(name, concat(kInline, type, " ", name, "(", type, " a, ", type, " b) {\n  const ", bits,
                               " first = (a != a) | (a ", than, " b);\n  return (", type, ")((first & (", bits,
                               ")a) | (~first & (", bits, ")b));\n}\n"));
}

std::string Helpers::fold(ScalarOp op, DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_fold_", scalar_op_info(op).name);
  const std::string operation = op == ScalarOp::kAdd   ? "x[i] + x[i + left]"
                                : op == ScalarOp::kMul ? "x[i] * x[i + left]"
                                                       : concat(scalar(op, dtype), "(x[i], x[i + left])");
  return function(name, concat("/* Halves against each other. */\n", kInline, register_type(dtype), " ", name, "(",
                               type, " x) {\n  CT_UNROLL\n  for (int left = ", lanes / 2,
                               "; left > 0; left /= 2)\n    for (int i = 0; i < left; ++i) x[i] = ", operation,
                               ";\n  return x[0];\n}\n"));
}

std::string Helpers::fold_neighbours(DType dtype, unsigned lanes) {
  const std::string type = vector(dtype, lanes), name = concat(type, "_fold_neighbours");
  return function(name, concat("/* Neighbours, neighbouring pairs, ... */\n", kInline, register_type(dtype), " ", name,
                               "(", type, " x) {\n  CT_UNROLL\n  for (int distance = 1; distance < ", lanes,
                               "; distance *= 2)\n    for (int i = 0; i < ", lanes,
                               "; i += 2 * distance) x[i] = x[i] + x[i + distance];\n  return x[0];\n}\n"));
}

}  // namespace ct::jit::c
