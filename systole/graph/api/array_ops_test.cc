#include "systole/graph/api/array_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/array_op_cases.h"

namespace systole {
namespace {

using graph_testing::check_op;
using graph_testing::error_of;
using graph_testing::evaluate;

TEST(ArrayOpsTable, Shape) { graph_testing::check_ops(graph_testing::shape_op_cases()); }
TEST(ArrayOpsTable, Join) { graph_testing::check_ops(graph_testing::join_op_cases()); }
TEST(ArrayOpsTable, StridedSlice) {
  graph_testing::check_ops(graph_testing::strided_slice_op_cases());
}
TEST(ArrayOpsTable, Lookup) { graph_testing::check_ops(graph_testing::lookup_op_cases()); }
TEST(ArrayOpsTable, Fill) { graph_testing::check_ops(graph_testing::fill_op_cases()); }
TEST(ArrayOpsTable, Error) { graph_testing::check_ops(graph_testing::array_error_cases()); }

class ArrayOpsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(ArrayOpsTest, UnknownSizesAreInferred) {
  const Output x = placeholder(DType::f32, {kUnknown, 3, 4});
  const auto expect_shape = [](const Output& y, const Shape& shape) {
    EXPECT_EQ(y.shape(), shape) << y.name();
  };
  expect_shape(reshape(x, {-1, 12}), {kUnknown, 12});
  expect_shape(reshape(x, stack({size(x), 1})), {kUnknown, 1});
  expect_shape(expand_dims(x, 1), {kUnknown, 1, 3, 4});
  expect_shape(squeeze(slice(x, {0, 0, 0}, {-1, 1, -1})), {kUnknown, 4});
  expect_shape(transpose(x), {4, 3, kUnknown});
  expect_shape(concat({x, x}, 0), {kUnknown, 3, 4});
  expect_shape(concat({x, x}, 1), {kUnknown, 6, 4});
  expect_shape(concat({x, placeholder(DType::f32, {2, 5, 4})}, 1), {2, 8, 4});
  expect_shape(stack({x, x}, {.axis = -1}), {kUnknown, 3, 4, 2});
  expect_shape(unstack(x, {.axis = 1})[2], {kUnknown, 4});
  expect_shape(split(x, 2)[0], {kUnknown, 3, 4});
  expect_shape(split(x, 2, {.axis = 2})[1], {kUnknown, 3, 2});
  expect_shape(split(x, std::vector<int64_t>{2, -1})[0], {2, 3, 4});
  expect_shape(pad(x, {{1, 1}, {0, 1}, {0, 0}}), {kUnknown, 4, 4});
  expect_shape(tile(x, {2, 2, 1}), {kUnknown, 6, 4});
  const Output n = placeholder(DType::s32, {});
  expect_shape(tile(x, {2, n, 1}), {kUnknown, kUnknown, 4});
  EXPECT_THAT(error_of([&] {
                tile(x, {n, n});
              }),
              ::testing::HasSubstr(
                  "Tile: multiples, got s32[2] for a tensor of [?,3,4], expected 3 numbers"));
  expect_shape(tile(x, placeholder(DType::s64, {kUnknown})), {kUnknown, kUnknown, kUnknown});
  expect_shape(fill({n}, 1.0F), {kUnknown});
  expect_shape(fill({n, 3}, 1.0F), {kUnknown, 3});
  expect_shape(fill({cast(n, DType::s64), 3}, 1.0F), {kUnknown, 3});
  // A vector alone is the shape itself.
  expect_shape(fill({shape(x)}, 1.0F), {kUnknown, 3, 4});
  expect_shape(zeros({}), {});
  expect_shape(gather(x, placeholder(DType::s32, {kUnknown, 2}), {.axis = 1}),
               {kUnknown, kUnknown, 2, 4});
  expect_shape(one_hot(placeholder(DType::s32, {kUnknown}), 10), {kUnknown, 10});
  expect_shape(top_k(x, {.k = 2}).indices, {kUnknown, 3, 2});
  expect_shape(strided_slice(x, {1, -1}, {0, 0}, {.end_mask = 1, .shrink_axis_mask = 2}),
               {kUnknown, 4});
  expect_shape(x[0], {3, 4});
  expect_shape(x[-1][2], {4});
  expect_shape(shape(x)[0], {});
}

TEST_F(ArrayOpsTest, PartsOfTensors) {
  const Output x = constant(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto floats = [](const Output& y) {
    const Tensor part = evaluate(y);
    const auto values = part.data<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(floats(x[0]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(floats(x[-1]), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(floats(x[-1][-2]), (std::vector<float>{5}));
}

// A filter or a kernel is cut out of a larger variable: what uses its gradient needs known sizes.
TEST_F(ArrayOpsTest, GradientsKeepKnownSizes) {
  const Output x = placeholder(DType::f32, {kUnknown, 3, 4});
  const Output v = placeholder(DType::f32, {5, 4});
  const auto gradient_shape = [](const Output& y, const Output& of) {
    return gradients({y}, {of})[0].shape();
  };
  EXPECT_EQ(gradient_shape(slice(v, {1, 0}, {2, -1}), v), Shape({5, 4}));
  EXPECT_EQ(gradient_shape(slice(x, {1, 0, 0}, {-1, 2, 2}), x), Shape({kUnknown, 3, 4}));
  EXPECT_EQ(gradient_shape(concat({v, v}, 1), v), Shape({5, 4}));
  EXPECT_EQ(gradient_shape(strided_slice(v, {0}, {2}), v), Shape({5, 4}));
  EXPECT_EQ(gradient_shape(gather(v, Tensor::of<int32_t>({2}, {1, 1})), v), Shape({5, 4}));
  EXPECT_EQ(gradient_shape(pad(v, {{1, 1}, {2, 2}}), v), Shape({5, 4}));
  EXPECT_EQ(gradient_shape(top_k(v, {.k = 2}).values, v), Shape({5, 4}));
}

TEST_F(ArrayOpsTest, SizesThatDoNotFitOnceTheyAreKnownFailTheRun) {
  const Output x = placeholder(DType::f32, {kUnknown, 3});
  const auto error = [&](const Output& y) {
    return error_of([&] { evaluate(y, {{x, Tensor::zeros(DType::f32, {5, 3})}}); });
  };
  const auto expect_error = [&](const Output& y, const std::string& start) {
    const std::string got = error(y);
    EXPECT_NE(got.find(": " + start), std::string::npos) << got;
    EXPECT_NE(got.find("at array_ops_test.cc:"), std::string::npos) << got;
  };
  expect_error(split(x, 2)[0], "Split: num, got 2 for axis 0 of [5,3]");
  expect_error(unstack(x, {.num = 4})[0], "Unpack: num, got 4, expected 5 as axis 0 of [5,3] has");
  expect_error(squeeze(x, {.axis = 0}), "Squeeze: axis 0 of [5,3], got size 5, expected 1");
  expect_error(reshape(x, {2, -1}), "Reshape: shape, got [2,?] for a tensor of [5,3]");
  expect_error(slice(x, {4, 0}, {2, 3}), "Slice: elements of axis 0 of [5,3], got [4,6)");
  expect_error(strided_slice(x, {7}, {8}, {.shrink_axis_mask = 1}),
               "StridedSlice: position in axis 0 of [5,3], got 7, expected in [-5, 5)");
  expect_error(x[5], "StridedSlice: position in axis 0 of [5,3], got 5, expected in [-5, 5)");
}

TEST_F(ArrayOpsTest, NodesCarryTheUsersLineAndTensorFlowsNames) {
  const Output x = placeholder(DType::f32, {2, 4}, "x");
  const auto expect_node = [](uint32_t line, const Output& y, std::string_view op,
                              std::string_view name) {
    EXPECT_EQ(y.node()->op_name(), op);
    EXPECT_EQ(y.node()->name(), name);
    EXPECT_EQ(y.node()->where().line, line);
  };
  expect_node(__LINE__, reshape(x, {8}), "Reshape", "Reshape");
  expect_node(__LINE__, expand_dims(x, 0), "ExpandDims", "ExpandDims");
  expect_node(__LINE__, squeeze(expand_dims(x, 0)), "Squeeze", "Squeeze");
  expect_node(__LINE__, squeeze(x), "Identity", "Squeeze_1");
  expect_node(__LINE__, transpose(x), "Transpose", "transpose");
  expect_node(__LINE__, concat({x, x}, 0), "ConcatV2", "concat");
  expect_node(__LINE__, concat({x}, 0, {.name = "one"}), "Identity", "one");
  expect_node(__LINE__, stack({x, x}), "Pack", "stack");
  expect_node(__LINE__, unstack(x)[1], "Unpack", "unstack");
  expect_node(__LINE__, split(x, 2)[1], "Split", "split");
  expect_node(__LINE__, pad(x, {{0, 0}, {1, 1}}), "PadV2", "PadV2");
  expect_node(__LINE__, pad(x, {{0, 0}, {1, 1}}, {.mode = PadMode::reflect}), "Identity",
              "MirrorPad");
  expect_node(__LINE__, tile(x, {1, 2}, {.name = "twice"}), "Tile", "twice");
  expect_node(__LINE__, gather(x, 0), "GatherV2", "GatherV2");
  expect_node(__LINE__, one_hot(1, 3), "OneHot", "one_hot");
  expect_node(__LINE__, top_k(x).values, "TopKV2", "TopKV2");
  expect_node(__LINE__, range(0, 3), "Range", "range");
  expect_node(__LINE__, strided_slice(x, {0}, {1}), "StridedSlice", "StridedSlice");
  EXPECT_TRUE(graph_->find_node("concat/axis") != nullptr);
  EXPECT_TRUE(graph_->find_node("transpose/perm") != nullptr);
  EXPECT_TRUE(graph_->find_node("Reshape/shape") != nullptr ||
              graph_->find_node("Reshape/Const") != nullptr);
}

TEST_F(ArrayOpsTest, LiteralsJoinOtherTensors) {
  const Output x = placeholder(DType::bf16, {});
  EXPECT_EQ(stack({x, 2, 0.5}).dtype(), DType::bf16);
  EXPECT_TRUE(evaluate(stack({1, 2, 3})).identical(Tensor::of<int32_t>({3}, {1, 2, 3})));
}

}  // namespace
}  // namespace systole
