// Part of every test program: what is compiled in it is checked after each pass (jit/compile.h), in release builds too.
#include <cstdlib>

namespace {

[[maybe_unused]] const bool kWanted = setenv("CT_CHECK_PASSES", "1", /*replace=*/0) == 0;

}  // namespace
