#include "systole/graph/functions/ranked_copy.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/state_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::MiniSession;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RankedCopyTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  Output x_ = unranked_placeholder(DType::f32, "x");
  Output y_ = unranked_placeholder(DType::f32, "y");
};

const Tensor kThree = Tensor::of<float>({3}, {1, 2, 3});
const Tensor kMatrix = Tensor::of<float>({2, 2}, {1, 2, 3, 4});

TEST_F(RankedCopyTest, ValuesHaveTheAxesOfThePlaceholder) {
  const Output twice = x_ * 2;
  const Output total = reduce_sum(twice);
  EXPECT_EQ(twice.shape(), Shape());
  MiniSession session;
  EXPECT_EQ(session.run(total, {{x_, Tensor(3.0F)}}).item<float>(), 6);
  RankedCopy vector(*graph_, {{x_, 1}});
  EXPECT_EQ(vector.of(twice).shape(), Shape({-1}));
  EXPECT_EQ(vector.of(total).shape(), Shape());
  EXPECT_EQ(session.run(vector.of(total), {{vector.of(x_), kThree}}).item<float>(), 12);
  RankedCopy matrix(*graph_, {{x_, 2}});
  EXPECT_THAT(session.run(matrix.of(twice), {{matrix.of(x_), kMatrix}}).data<float>(),
              ElementsAre(2, 4, 6, 8));
}

// Sums over the axes that broadcasting added, and means over numbers that the rank tells.
TEST_F(RankedCopyTest, GradientsAreThoseOfTheRank) {
  const Output w = placeholder(DType::f32, {}, "w");
  const Output squares = reduce_sum(square(x_ * w - y_));
  const Output by_sum = gradients({squares}, {w})[0];
  const Output by_mean = gradients({reduce_mean(x_ * w)}, {w})[0];
  const Output by_max = gradients({reduce_max(x_ * w)}, {w})[0];
  MiniSession session;
  RankedCopy ranked(*graph_, {{x_, 1}, {y_, 1}});
  const Tensor two(2.0F);
  // 2 * sum(x * (2 x - y)) of x = (1, 2, 3), y = (1, 2, 3)
  EXPECT_EQ(
      session.run(ranked.of(by_sum), {{ranked.of(x_), kThree}, {ranked.of(y_), kThree}, {w, two}})
          .item<float>(),
      28);
  EXPECT_EQ(session.run(ranked.of(by_mean), {{ranked.of(x_), kThree}, {w, two}}).item<float>(), 2);
  EXPECT_EQ(session.run(ranked.of(by_max), {{ranked.of(x_), kThree}, {w, two}}).item<float>(), 3);
}

TEST_F(RankedCopyTest, CopiesWhatDependsAndKeepsTheRest) {
  const Output other = placeholder(DType::f32, {}, "other") + 1;
  const Output of_x = x_ + other;
  const Output of_both = of_x + y_;
  RankedCopy ranked(*graph_, {{x_, 1}});
  EXPECT_EQ(ranked.of(other), other);
  EXPECT_NE(ranked.of(of_x), of_x);
  EXPECT_EQ(ranked.of(of_x).name(), "ranked/0.1/" + of_x.name());
  EXPECT_EQ(ranked.of(of_both).shape(), Shape({-1}));
  // The same node for the same ranks, and for more where they do not matter.
  const int64_t nodes = graph_->version();
  EXPECT_EQ(RankedCopy(*graph_, {{x_, 1}}).of(of_x), ranked.of(of_x));
  EXPECT_EQ(RankedCopy(*graph_, {{y_, 2}, {x_, 1}}).of(of_x), ranked.of(of_x));
  EXPECT_EQ(graph_->version(), nodes);
  EXPECT_THAT(unranked_placeholders(of_both), ElementsAre(x_, y_));
  EXPECT_THAT(unranked_placeholders(ranked.of(of_both)), ElementsAre(y_));
}

TEST_F(RankedCopyTest, OperationsRunAfterTheCopies) {
  const Variable total(constant(1.0F), {.name = "total"});
  const Operation step = group({total.assign_add(reduce_sum(x_))});
  MiniSession session;
  session.run(global_variables_initializer());
  RankedCopy ranked(*graph_, {{x_, 1}});
  session.run(ranked.of(step), {{ranked.of(x_), kThree}});
  EXPECT_EQ(session.run(total.value()).item<float>(), 7);
}

TEST_F(RankedCopyTest, AnOpThatDoesNotFitTheRankSaysSo) {
  const Output sum = x_ + placeholder(DType::f32, {5}, "five");
  const Output row = reshape(sum, {5});
  RankedCopy ranked(*graph_, {{x_, 2}});
  EXPECT_EQ(ranked.of(row).shape(), Shape({5}));
  const Output pairs = concat({stack({x_, x_}), constant(Tensor::of<float>({1}, {0}))}, 0);
  RankedCopy vectors(*graph_, {{x_, 1}});
  EXPECT_THAT(error_of([&] { vectors.of(pairs); }), HasSubstr("ConcatV2"));
}

}  // namespace
}  // namespace systole
