#include "systole/base/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace systole {
namespace {

TEST(SuggestTest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("relu", "rleu"), 1U);
  EXPECT_EQ(edit_distance("abcd", "abd"), 1U);
}

TEST(SuggestTest, ClosestName) {
  const std::vector<std::string> names = {"relu", "relu6", "sigmoid", "x"};
  EXPECT_EQ(closest_name("rleu", names), "relu");
  EXPECT_EQ(closest_name("ReLU6", names), "relu6");
  EXPECT_EQ(closest_name("sigmod", names), "sigmoid");
  EXPECT_EQ(closest_name("conv2d", names), "");
  EXPECT_EQ(closest_name("y", names), "");
  EXPECT_EQ(closest_name("a", {}), "");
  EXPECT_EQ(did_you_mean("sigmoyd", names), ", did you mean 'sigmoid'?");
  EXPECT_EQ(did_you_mean("softmax", names), "");
  const std::vector<std::string> optimizers = {"GradientDescentOptimizer", "AdagradOptimizer",
                                               "AdamOptimizer"};
  EXPECT_EQ(closest_name("Adam", optimizers), "AdamOptimizer");
  EXPECT_EQ(closest_name("descent", optimizers), "GradientDescentOptimizer");
  EXPECT_EQ(closest_name("ad", optimizers), "");
}

}  // namespace
}  // namespace systole
