#include "jit/loop/float_layout.h"

#include "runtime/error.h"

namespace ct::loop {

FloatLayout float_layout(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {16, 10, -14, 65504.0f};
    case DType::kBFloat16:
      return {16, 7, -126, 0};
    case DType::kFloat8E3M4:
      return {8, 4, -2, 15.5f};
    case DType::kFloat8E4M3:
      return {8, 3, -6, 240.0f};
    case DType::kFloat8E4M3B11FNUZ:
      return {8, 3, -10, 30.0f, Specials::kNegativeZeroNan};
    case DType::kFloat8E4M3FN:
      return {8, 3, -6, 448.0f, Specials::kAllOnesNan};
    case DType::kFloat8E4M3FNUZ:
      return {8, 3, -7, 240.0f, Specials::kNegativeZeroNan};
    case DType::kFloat8E5M2:
      return {8, 2, -14, 57344.0f};
    case DType::kFloat8E5M2FNUZ:
      return {8, 2, -15, 57344.0f, Specials::kNegativeZeroNan};
    default:
      CT_CHECK(false);
  }
}

}  // namespace ct::loop
