#include "systole/graph/api/math_ops.h"

#include <gtest/gtest.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/math_op_cases.h"

namespace systole {
namespace {

using graph_testing::check_op;
using graph_testing::error_of;
using graph_testing::evaluate;
using graph_testing::MiniSession;

TEST(MathOpsTable, Unary) { graph_testing::check_ops(graph_testing::unary_op_cases()); }
TEST(MathOpsTable, Binary) { graph_testing::check_ops(graph_testing::binary_op_cases()); }
TEST(MathOpsTable, Comparison) { graph_testing::check_ops(graph_testing::comparison_op_cases()); }
TEST(MathOpsTable, Product) { graph_testing::check_ops(graph_testing::product_op_cases()); }
TEST(MathOpsTable, Reduction) { graph_testing::check_ops(graph_testing::reduction_op_cases()); }
TEST(MathOpsTable, Gradient) { graph_testing::check_ops(graph_testing::math_gradient_cases()); }
TEST(MathOpsTable, Error) { graph_testing::check_ops(graph_testing::math_error_cases()); }
TEST(MathOpsTable, DtypeError) { graph_testing::check_ops(graph_testing::dtype_error_cases()); }

// A graph of its own for each test.
class MathOpsTest : public ::testing::Test {
 protected:
  // The message of the error of a run with x fed.
  std::string run_error(const Output& fetch, const Output& x, const Tensor& value) {
    return error_of([&] { evaluate(fetch, {{x, value}}); });
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(MathOpsTest, IntegerDivisionByZeroFailsTheRun) {
  const Output x = placeholder(DType::s32, {2});
  using Function = Output (*)(const Input&, const Input&, const NameOptions&);
  for (const Function op : {floordiv, floormod, truncatediv, truncatemod}) {
    const Output y = op(10, x, {});
    const std::string error = run_error(y, x, Tensor::of<int32_t>({2}, {3, 0}));
    EXPECT_EQ(error, fmt::format("INVALID_ARGUMENT: {}: Integer division by zero, {}",
                                 y.node()->op_name(), y.node()->describe()));
    EXPECT_NE(error.find("at math_ops_test.cc:"), std::string::npos) << error;
    EXPECT_EQ(run_error(y, x, Tensor::of<int32_t>({2}, {3, 1})), "no error");
  }
}

TEST_F(MathOpsTest, DivisionByAKnownNumberIsNotChecked) {
  const Output x = placeholder(DType::s32, {2});
  const auto num_checks = [&](const Output& y) {
    const std::vector<Output> fetches{y};
    const std::vector<Feed> feeds{{x, {DType::s32, {2}}}};
    return std::ssize(specialize(*graph_, fetches, {}, feeds).checks);
  };
  EXPECT_EQ(num_checks(x % 3), 0);
  EXPECT_EQ(num_checks(floordiv(x, Tensor::of<int32_t>({2}, {1, 2}))), 0);
  EXPECT_EQ(num_checks(x % (x + 1)), 1);
  EXPECT_EQ(num_checks(x % 0), 1);
  EXPECT_EQ(num_checks(pow(x, 2)), 0);
  EXPECT_EQ(num_checks(pow(2, x)), 1);
}

TEST_F(MathOpsTest, NegativeIntegerPowersFailTheRun) {
  const Output x = placeholder(DType::s64, {2});
  const std::string error = run_error(pow(2, x), x, Tensor::of<int64_t>({2}, {3, -1}));
  EXPECT_EQ(error.rfind("INVALID_ARGUMENT: Pow: Integers to negative integer powers are not "
                        "allowed, node 'Pow' at "
                        "math_ops_test.cc:",
                        0),
            0)
      << error;
}

TEST_F(MathOpsTest, ShapesThatDoNotFitOnceTheyAreKnownFailTheRun) {
  const Output x = placeholder(DType::f32, {kUnknown});
  const Output y = x + placeholder(DType::f32, {3}, "y");
  EXPECT_EQ(y.shape(), Shape({3}));
  const std::string error = error_of([&] {
    evaluate(y, {{x, Tensor::zeros(DType::f32, {4})},
                 {graph_->tensor("y:0"), Tensor::zeros(DType::f32, {3})}});
  });
  EXPECT_EQ(error.rfind("INVALID_ARGUMENT: Add: shapes, got [4] and [3], expected shapes that "
                        "broadcast, node 'add'",
                        0),
            0)
      << error;
}

TEST_F(MathOpsTest, NodesCarryTheUsersLineAndTensorFlowsNames) {
  const Output x = placeholder(DType::f32, {2, 3});
  const auto expect_node = [](const Output& y, std::string_view op, std::string_view name,
                              uint32_t line) {
    EXPECT_EQ(y.node()->op_name(), op);
    EXPECT_EQ(y.node()->name(), name);
    EXPECT_EQ(y.node()->where().line, line);
  };
  expect_node(x + 1, "Add", "add", __LINE__);
  expect_node(1 - x, "Sub", "sub", __LINE__);
  expect_node(x * x, "Mul", "mul", __LINE__);
  expect_node(x / 2, "RealDiv", "truediv", __LINE__);
  expect_node(x % 2, "FloorMod", "mod", __LINE__);
  expect_node(-x, "Neg", "Neg", __LINE__);
  expect_node(x < 1, "Less", "Less", __LINE__);
  expect_node(x >= 1, "GreaterEqual", "GreaterEqual", __LINE__);
  expect_node(matmul(x, x, {false, true, "product"}), "MatMul", "product", __LINE__);
  expect_node(reduce_mean(x, {.axis = 0}), "Mean", "Mean", __LINE__);
  expect_node(argmax(x, {.axis = 1}), "ArgMax", "ArgMax", __LINE__);
  expect_node(gelu(x), "Mul", "Gelu", __LINE__);
  expect_node(where(x > 0, x, x), "Select", "Select", __LINE__);
  expect_node(einsum("ij,kj->ik", {x, x}), "Einsum", "einsum", __LINE__);
}

TEST_F(MathOpsTest, AttributesAreTensorFlows) {
  const Output x = placeholder(DType::f32, {2, 3});
  const Node& sum = *reduce_sum(x, {.axis = {0, 1}, .keepdims = true}).node();
  EXPECT_EQ(sum.attr<DType>("T"), DType::f32);
  EXPECT_EQ(sum.attr<DType>("Tidx"), DType::s32);
  EXPECT_TRUE(sum.attr<bool>("keep_dims"));
  EXPECT_EQ(sum.input(1).name(), "Sum/reduction_indices:0");
  EXPECT_EQ(matmul(x, x, {.transpose_a = true}).node()->attr<bool>("transpose_a"), true);
  EXPECT_EQ(leaky_relu(x).node()->attr<double>("alpha"), 0.2);
  EXPECT_EQ(cast(x, DType::s32).node()->attr<DType>("DstT"), DType::s32);
}

TEST_F(MathOpsTest, LiteralsTakeTheOtherDtype) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
    EXPECT_EQ((placeholder(dtype) * 2).dtype(), dtype);
    EXPECT_EQ((0.5 + placeholder(dtype)).dtype(), dtype);
  }
  EXPECT_EQ((placeholder(DType::u8) + 200).dtype(), DType::u8);
  EXPECT_EQ(add(1, 2).dtype(), DType::s32);
  EXPECT_EQ(add(1, 2.5).dtype(), DType::f32);
  EXPECT_EQ(evaluate(add(1, 2.5)).item<float>(), 3.5F);
  EXPECT_EQ((placeholder(DType::s32) / 2).dtype(), DType::f64);
  EXPECT_EQ((placeholder(DType::u8) / 2).dtype(), DType::f32);
}

TEST_F(MathOpsTest, OperatorsTakeVariablesAndTensors) {
  const Variable v(Tensor::of<float>({2}, {1, 2}));
  const Output y = v * 2 + Tensor::of<float>({2}, {10, 20});
  MiniSession session;
  session.run(v.initializer());
  EXPECT_TRUE(session.run(-y).identical(Tensor::of<float>({2}, {-12, -24})));
}

TEST_F(MathOpsTest, ACastToTheSameDtypeAddsNothing) {
  const Output x = placeholder(DType::f32, {2});
  EXPECT_EQ(cast(x, DType::f32), x);
  EXPECT_EQ(to_float(x), x);
}

TEST_F(MathOpsTest, UnknownBatchIsInferred) {
  const Output x = placeholder(DType::f32, {kUnknown, 3});
  const Output w = placeholder(DType::f32, {3, 5});
  EXPECT_EQ(matmul(x, w).shape(), Shape({kUnknown, 5}));
  EXPECT_EQ((matmul(x, w) + placeholder(DType::f32, {5})).shape(), Shape({kUnknown, 5}));
  EXPECT_EQ(reduce_sum(x, {.axis = 1}).shape(), Shape({kUnknown}));
  EXPECT_EQ(reduce_mean(x).shape(), Shape());
  EXPECT_EQ(argmax(x, {.axis = 1}).shape(), Shape({kUnknown}));
  EXPECT_EQ(einsum("bi,bj->bij", {x, x}).shape(), Shape({kUnknown, 3, 3}));
  EXPECT_EQ(tensordot(x, w, 1).shape(), Shape({kUnknown, 5}));
}

TEST_F(MathOpsTest, DifferentiatingWhatHasNoGradientGivesNone) {
  const Output x = placeholder(DType::f32, {2});
  for (const Output& y :
       {floor(x), ceil(x), round(x), floordiv(x, 2), cast(argmax(x), DType::f32)}) {
    EXPECT_FALSE(gradients({y}, {x})[0].valid()) << y.name();
  }
  EXPECT_TRUE(gradients({sign(x)}, {x})[0].valid());
}

}  // namespace
}  // namespace systole
