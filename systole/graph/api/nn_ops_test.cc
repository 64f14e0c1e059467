#include "systole/graph/api/nn_ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/nn_op_cases.h"

namespace systole {
namespace {

using graph_testing::check_op;
using graph_testing::evaluate;
using graph_testing::MiniSession;

TEST(NnOpsTable, Attention) { graph_testing::check_ops(graph_testing::attention_op_cases()); }
TEST(NnOpsTable, Softmax) { graph_testing::check_ops(graph_testing::softmax_op_cases()); }
TEST(NnOpsTable, Convolution) { graph_testing::check_ops(graph_testing::convolution_op_cases()); }
TEST(NnOpsTable, Pooling) { graph_testing::check_ops(graph_testing::pooling_op_cases()); }
TEST(NnOpsTable, Normalization) {
  graph_testing::check_ops(graph_testing::normalization_op_cases());
}
TEST(NnOpsTable, Error) { graph_testing::check_ops(graph_testing::nn_error_cases()); }

class NnOpsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(NnOpsTest, UnknownSizesAreInferred) {
  const Output x = placeholder(DType::f32, {kUnknown, kUnknown, 8, 3});
  const Output filter = placeholder(DType::f32, {3, 3, 3, 5});
  EXPECT_EQ(conv2d(x, filter).shape(), Shape({kUnknown, kUnknown, 6, 5}));
  EXPECT_EQ(conv2d(x, filter, {.strides = {2}, .padding = Padding::same}).shape(),
            Shape({kUnknown, kUnknown, 4, 5}));
  EXPECT_EQ(depthwise_conv2d(x, filter).shape(), Shape({kUnknown, kUnknown, 6, 15}));
  EXPECT_EQ(max_pool(x).shape(), Shape({kUnknown, kUnknown, 4, 3}));
  const Output volumes = placeholder(DType::f32, {kUnknown, kUnknown, 6, 8, 3});
  const Output solid = placeholder(DType::f32, {3, 1, 3, 3, 5});
  EXPECT_EQ(conv3d(volumes, solid).shape(), Shape({kUnknown, kUnknown, 6, 6, 5}));
  EXPECT_EQ(avg_pool3d(volumes).shape(), Shape({kUnknown, kUnknown, 3, 4, 3}));
  EXPECT_EQ(fused_batch_norm(x, 1, 0).y.shape(), x.shape());
  EXPECT_EQ(moments(x, {0, 1, 2}).mean.shape(), Shape({3}));
  const Output logits = placeholder(DType::f32, {kUnknown, 10});
  const Output labels = placeholder(DType::s32, {kUnknown});
  EXPECT_EQ(softmax(logits).shape(), Shape({kUnknown, 10}));
  EXPECT_EQ(softmax(logits, {.axis = 0}).shape(), Shape({kUnknown, 10}));
  EXPECT_EQ(sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits}).shape(),
            Shape({kUnknown}));
  EXPECT_EQ(gradients({conv2d(x, filter)}, {filter})[0].shape(), filter.shape());
}

TEST_F(NnOpsTest, StridesAreOneTwoOrFourNumbers) {
  const Output x = placeholder(DType::f32, {1, 3, 8, 8});
  const Output filter = placeholder(DType::f32, {1, 1, 3, 5});
  const auto strides_of = [&](const std::vector<int64_t>& strides) {
    return conv2d(x, filter, {.strides = strides, .data_format = "NCHW"})
        .node()
        ->attr<std::vector<int64_t>>("strides");
  };
  EXPECT_EQ(strides_of({2}), std::vector<int64_t>({1, 1, 2, 2}));
  EXPECT_EQ(strides_of({2, 3}), std::vector<int64_t>({1, 1, 2, 3}));
  EXPECT_EQ(strides_of({1, 1, 3, 2}), std::vector<int64_t>({1, 1, 3, 2}));
  EXPECT_EQ(padding_from_string("SAME"), Padding::same);
  EXPECT_EQ(padding_from_string("valid"), Padding::valid);
}

TEST_F(NnOpsTest, NodesCarryTheUsersLineAndTensorFlowsNames) {
  const Output x = placeholder(DType::f32, {2, 4, 4, 3}, "x");
  const Output rows = placeholder(DType::f32, {2, 3}, "rows");
  const auto expect_node = [](uint32_t line, const Output& y, std::string_view op,
                              std::string_view name) {
    EXPECT_EQ(y.node()->op_name(), op);
    EXPECT_EQ(y.node()->name(), name);
    EXPECT_EQ(y.node()->where().line, line);
  };
  const Output filter = placeholder(DType::f32, {1, 1, 3, 3}, "filter");
  expect_node(__LINE__, conv2d(x, filter), "Conv2D", "Conv2D");
  expect_node(__LINE__, depthwise_conv2d(x, filter), "DepthwiseConv2dNative", "depthwise");
  expect_node(__LINE__, max_pool(x), "MaxPool", "MaxPool");
  expect_node(__LINE__, avg_pool(x), "AvgPool", "AvgPool");
  const Output volume = placeholder(DType::f32, {2, 4, 4, 4, 3}, "volume");
  const Output solid = placeholder(DType::f32, {1, 1, 1, 3, 3}, "solid");
  expect_node(__LINE__, conv3d(volume, solid), "Conv3D", "Conv3D");
  expect_node(__LINE__, max_pool3d(volume), "MaxPool3D", "MaxPool3D");
  expect_node(__LINE__, softmax(rows), "Softmax", "Softmax");
  expect_node(__LINE__, softmax(rows, {.axis = 0}), "Transpose", "Softmax_1");
  expect_node(__LINE__, log_softmax(rows, {.name = "log_p"}), "LogSoftmax", "log_p");
  expect_node(__LINE__, softmax_cross_entropy_with_logits({.labels = rows, .logits = rows}),
              "SoftmaxCrossEntropyWithLogits", "softmax_cross_entropy_with_logits");
  expect_node(__LINE__, sigmoid_cross_entropy_with_logits({.labels = rows, .logits = rows}), "Add",
              "logistic_loss");
  expect_node(__LINE__, bias_add(x, Tensor::zeros(DType::f32, {3})), "BiasAdd", "BiasAdd");
  expect_node(__LINE__, dropout(rows, 0.5), "SelectV2", "dropout");
  expect_node(__LINE__, l2_normalize(rows, 1), "Mul", "l2_normalize");
  expect_node(__LINE__, batch_normalization(rows, 0, 1), "Add", "batchnorm");
  expect_node(__LINE__, fused_batch_norm(x, 1, 0).y, "Identity", "FusedBatchNorm");
  const Tensor weights = Tensor::zeros(DType::f32, {3, 3});
  const Tensor biases = Tensor::zeros(DType::f32, {3});
  expect_node(__LINE__, xw_plus_b(rows, weights, biases), "BiasAdd", "xw_plus_b");
  expect_node(__LINE__, embedding_lookup(rows, 0), "GatherV2", "embedding_lookup");
}

TEST_F(NnOpsTest, DropoutOfALiteral1IsTheTensorItself) {
  const Output x = placeholder(DType::f32, {2, 3});
  EXPECT_EQ(dropout(x, 1), x);
  EXPECT_EQ(dropout(x, 1.0F), x);
}

TEST_F(NnOpsTest, DropoutKeepsTheShareAndTheMean) {
  constexpr int64_t kCount = 20000;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    for (const double keep : {0.1, 0.5, 0.9}) {
      const Output y = dropout(Tensor::full(dtype, {kCount}, 1), keep, {.seed = 7});
      EXPECT_EQ(y.dtype(), dtype);
      const Tensor value = evaluate(y);
      const double kept =
          Tensor::full(dtype, {}, 1 / Tensor::full(dtype, {}, keep).as_double(0)).as_double(0);
      double share = 0;
      for (int64_t i = 0; i < kCount; ++i) {
        const double element = value.as_double(i);
        if (element == 0) continue;
        EXPECT_NEAR(element, kept, 0.01 * kept);
        share += 1.0 / kCount;
      }
      // Four standard deviations.
      EXPECT_NEAR(share, keep, 4 * std::sqrt(keep * (1 - keep) / kCount)) << to_string(dtype);
    }
  }
}

TEST_F(NnOpsTest, DropoutSharesDrawsAlongNoiseAxesOfSize1) {
  const Output y =
      dropout(Tensor::full(DType::f32, {50, 4}, 1), 0.5, {.noise_shape = {50, 1}, .seed = 1});
  const Tensor value = evaluate(y);
  int kept = 0;
  for (int64_t row = 0; row < 50; ++row) {
    for (int64_t column = 1; column < 4; ++column) {
      EXPECT_EQ(value.as_double(4 * row + column), value.as_double(4 * row));
    }
    kept += value.as_double(4 * row) == 0 ? 0 : 1;
  }
  EXPECT_GT(kept, 10);
  EXPECT_LT(kept, 40);
}

TEST_F(NnOpsTest, DropoutDrawsAnewInEveryRun) {
  const Output y = dropout(Tensor::full(DType::f32, {100}, 1), 0.5, {.seed = 1});
  MiniSession session;
  const Tensor first = session.run(y);
  EXPECT_FALSE(session.run(y).identical(first));
  EXPECT_TRUE(MiniSession().run(y).identical(first));
}

TEST_F(NnOpsTest, DropoutHidesWhatItDrops) {
  const Output x = placeholder(DType::f32, {64});
  const Output y = dropout(x, 0.5, {.seed = 1});
  const Tensor value = evaluate(y, {{x, Tensor::full(DType::f32, {64}, INFINITY)}});
  for (int64_t i = 0; i < 64; ++i) EXPECT_FALSE(std::isnan(value.as_double(i)));
}

}  // namespace
}  // namespace systole
