#include "runtime/marked_shapes.h"

#include <gtest/gtest.h>

namespace ct {
namespace {

TEST(MarkedShapes, MeetAtTheirLastAxes) {
  EXPECT_EQ(marked_shapes({marked_shape({3, 2}, {1}), marked_shape({3}, {0})}),
            "\n    3  2"
            "\n       3"
            "\n       ^");
}

TEST(MarkedShapes, MarksInOtherPlacesStandBelowTheirShapes) {
  EXPECT_EQ(marked_shapes({marked_shape({2, 30}, {1}), marked_shape({2, 3}, {0})}),
            "\n    2  30"
            "\n        ^"
            "\n    2   3"
            "\n    ^");
}

TEST(MarkedShapes, ColumnsAreAsWideAsTheirSizes) {
  EXPECT_EQ(marked_shapes({marked_shape({100, 1, 7}, {-3}), marked_shape({2, 1000, 7}, {-3})}),
            "\n    100     1  7"
            "\n      2  1000  7"
            "\n      ^");
}

TEST(MarkedShapes, ScalarsAndUnlikeSizes) {
  EXPECT_EQ(marked_shapes({marked_shape({}, {}), marked_where_unlike({4, 5, 6}, {4, 7})}),
            "\n          ()"
            "\n    4  5   6"
            "\n       ^   ^");
}

}  // namespace
}  // namespace ct
