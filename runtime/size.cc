#include "runtime/size.h"

#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

constexpr const char* kSmaller = "sizes and positions are below 2**61";

}  // namespace

int64_t checked_add(int64_t x, int64_t y, std::string_view what) {
  int64_t result = 0;
  if (!__builtin_add_overflow(x, y, &result)) return result;
  throw Error(ErrorKind::kMemory, concat(what, ", ", x, " + ", y, ", is too large to address"))
      .hint(kSmaller)
      .see("too-large");
}

int64_t checked_multiply(int64_t x, int64_t y, std::string_view what) {
  int64_t result = 0;
  if (!__builtin_mul_overflow(x, y, &result)) return result;
  throw Error(ErrorKind::kMemory, concat(what, ", ", x, " * ", y, ", is too large to address"))
      .hint(kSmaller)
      .see("too-large");
}

void check_addressable(int64_t value, std::string_view what) {
  if (is_addressable(value)) return;
  throw Error(ErrorKind::kValue, concat(what, " is ", value, ", out of range"))
      .hint("numbers that say where elements go are from -2**61 to 2**61");
}

}  // namespace ct
