// Facts about dtypes, interned avals and the text of errors.
#include "runtime/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/aval.h"
#include "runtime/error.h"

namespace ct {
namespace {

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kNumDTypes; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

std::vector<DType> computing_dtypes() {
  std::vector<DType> dtypes;
  for (const DType d : all_dtypes()) {
    if (dtype_info(d).computes) dtypes.push_back(d);
  }
  return dtypes;
}

TEST(DType, NamesRoundTrip) {
  for (const DType d : all_dtypes()) {
    EXPECT_EQ(dtype_from_name(dtype_name(d)), d) << dtype_name(d);
    EXPECT_GT(dtype_size(d), 0) << dtype_name(d);
  }
  EXPECT_EQ(dtype_from_name("float31"), std::nullopt);
}

TEST(DType, PromotionIsCommutativeAndIdempotent) {
  for (const DType x : computing_dtypes()) {
    const PromotedType same = promote_types({x, false}, {x, false});
    EXPECT_EQ(same.dtype, x);
    EXPECT_FALSE(same.weak);
    for (const DType y : computing_dtypes()) {
      const PromotedType xy = promote_types({x, false}, {y, false});
      const PromotedType yx = promote_types({y, false}, {x, false});
      EXPECT_EQ(xy.dtype, yx.dtype) << dtype_name(x) << " with " << dtype_name(y);
    }
  }
}

TEST(DType, PromotionIsAssociative) {
  for (const DType x : computing_dtypes()) {
    for (const DType y : computing_dtypes()) {
      for (const DType z : computing_dtypes()) {
        const PromotedType left = promote_types(promote_types({x, false}, {y, false}), {z, false});
        const PromotedType right = promote_types({x, false}, promote_types({y, false}, {z, false}));
        EXPECT_EQ(left.dtype, right.dtype) << dtype_name(x) << ", " << dtype_name(y) << ", " << dtype_name(z);
      }
    }
  }
}

TEST(DType, AWeakScalarDoesNotWidenItsOwnKind) {
  const PromotedType result = promote_types({DType::kBFloat16, false}, {DType::kFloat32, true});
  EXPECT_EQ(result.dtype, DType::kBFloat16);
  EXPECT_FALSE(result.weak);
}

TEST(DType, PairsOfRealsAndComplexes) {
  EXPECT_EQ(real_dtype(DType::kComplex64), DType::kFloat32);
  EXPECT_EQ(real_dtype(DType::kComplex128), DType::kFloat64);
  EXPECT_EQ(real_dtype(DType::kFloat16), DType::kFloat16);
  EXPECT_EQ(complex_dtype(DType::kFloat64), DType::kComplex128);
  EXPECT_EQ(complex_dtype(DType::kBFloat16), DType::kComplex64);
}

TEST(Aval, EqualOnesAreOne) {
  EXPECT_EQ(Aval(DType::kFloat32, {2, 3}), Aval(DType::kFloat32, {2, 3}));
  EXPECT_NE(Aval(DType::kFloat32, {2, 3}), Aval(DType::kFloat32, {3, 2}));
  EXPECT_NE(Aval(DType::kFloat32, {2}), Aval(DType::kFloat64, {2}));
  EXPECT_NE(Aval(DType::kFloat32, {2}), Aval(DType::kFloat32, {2}, true));
  EXPECT_TRUE(same_type(Aval(DType::kFloat32, {2}), Aval(DType::kFloat32, {2}, true)));
}

TEST(Aval, SizesAndText) {
  EXPECT_EQ(Aval(DType::kFloat32, {}).size(), 1);
  EXPECT_EQ(Aval(DType::kFloat32, {4, 0, 3}).size(), 0);
  EXPECT_EQ(Aval(DType::kComplex64, {2, 3}).bytes(), 48);
  EXPECT_EQ(Aval(DType::kFloat32, {2, 3}).to_string(), "float32[2,3]");
  EXPECT_EQ(shape_string({}), "()");
  EXPECT_EQ(shape_string({8}), "(8,)");
  EXPECT_EQ(shape_string({2, 3}), "(2, 3)");
}

TEST(Error, SaysWhatWhereAndWhatToDo) {
  const Error error = Error(ErrorKind::kShape, "shapes (2,) and (3,) differ")
                          .op("add")
                          .at(intern_location(SourceLocation{"train.py", 12, "loss"}))
                          .hint("broadcast one of them");
  EXPECT_THAT(error.what(), testing::HasSubstr("add: shapes (2,) and (3,) differ"));
  EXPECT_THAT(error.what(), testing::HasSubstr("train.py:12 (loss)"));
  EXPECT_THAT(error.what(), testing::HasSubstr("broadcast one of them"));
}

TEST(Error, TheInnermostFrameWins) {
  const Error error = Error(ErrorKind::kValue, "no").op("inner").op("outer");
  EXPECT_THAT(error.what(), testing::StartsWith("inner: no"));
}

TEST(Error, AFailedCheckIsAnInternalError) {
  try {
    CT_CHECK(1 + 1 == 3);
    FAIL() << "CT_CHECK did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_THAT(error.what(), testing::HasSubstr("1 + 1 == 3"));
  }
}

}  // namespace
}  // namespace ct
