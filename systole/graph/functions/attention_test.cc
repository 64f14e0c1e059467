// Values, gradients and errors of attention: graph/testing/attention_op_cases.cc.
#include "systole/graph/functions/attention.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

class AttentionFunctionTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(AttentionFunctionTest, OfSizesThatAreKnownWhenItIsCompiled) {
  const Output x = placeholder(DType::f32, {-1, -1, 4, 8});
  const Output y = attention(x, x, x, {.causal = true});
  EXPECT_EQ(y.shape(), Shape({-1, -1, 4, 8}));
  const Tensor ones = Tensor::full(DType::f32, {2, 3, 4, 8}, 1);
  EXPECT_TRUE(graph_testing::evaluate(y, {{x, ones}}).identical(ones));
}

TEST_F(AttentionFunctionTest, CausalMask) {
  const Tensor mask = graph_testing::evaluate(causal_mask(2, 3));
  EXPECT_TRUE(mask.identical(Tensor::of<bool>({2, 3}, {true, false, false, true, true, false})));
}

TEST_F(AttentionFunctionTest, HasTheNameThatIsGiven) {
  const Output x = placeholder(DType::f32, {1, 2, 1, 4});
  EXPECT_EQ(attention(x, x, x, {.name = "reading"}).node()->name(), "reading");
}

}  // namespace
}  // namespace systole
