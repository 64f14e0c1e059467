#include "systole/graph/functions/variable_scope.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/op_tester.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::MiniSession;
using ::testing::HasSubstr;

class VariableScopeTest : public ::testing::Test {
 protected:
  Tensor initial_value(const Initializer& initializer, const Shape& shape,
                       DType dtype = DType::f32) {
    return graph_testing::evaluate(initializer(shape, dtype));
  }
  // The largest magnitude and the variance.
  std::pair<double, double> spread(const Initializer& initializer, const Shape& shape) {
    const Tensor value = initial_value(initializer, shape);
    double largest = 0;
    double squares = 0;
    for (const float x : value.data<float>()) {
      largest = std::max(largest, std::abs(static_cast<double>(x)));
      squares += static_cast<double>(x) * x;
    }
    return {largest, squares / static_cast<double>(value.num_elements())};
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(VariableScopeTest, names_variables_by_scopes) {
  const VariableScope a("a");
  const VariableScope b("b");
  const Variable v = get_variable("v", {2});
  EXPECT_EQ(v.name(), "a/b/v");
  EXPECT_EQ(v.type(), (TensorType{DType::f32, {2}}));
  EXPECT_EQ(constant(1.0F).name(), "a/b/Const:0");
  {
    const NameScope ops("ops");
    EXPECT_EQ(get_variable("w", {2}).name(), "a/b/w");
  }
}

TEST_F(VariableScopeTest, gives_a_variable_again_when_told_to) {
  Variable first;
  {
    const VariableScope scope("layer");
    first = get_variable("v", {2});
  }
  {
    const VariableScope scope("layer");
    EXPECT_THAT(error_of([] { get_variable("v", {2}); }),
                HasSubstr("ALREADY_EXISTS: get_variable: variable 'layer/v', got it again"));
    EXPECT_EQ(constant(1.0F).name(), "layer_1/Const:0");
  }
  const VariableScope scope("layer", {.reuse = Reuse::yes});
  EXPECT_EQ(get_variable("v", {2}), first);
  EXPECT_THAT(error_of([] { get_variable("v", {3}); }),
              HasSubstr("get_variable: variable 'layer/v', got f32[3], expected f32[2]"));
  EXPECT_THAT(error_of([] { get_variable("w", {2}); }),
              HasSubstr("NOT_FOUND: get_variable: variable 'layer/w'"));
  const VariableScope inner("inner");
  EXPECT_THAT(error_of([] { get_variable("v", {2}); }), HasSubstr("NOT_FOUND"));
}

TEST_F(VariableScopeTest, auto_reuse_makes_it_once) {
  Variable v[2];
  for (Variable& variable : v) {
    const VariableScope scope("layer", {.reuse = Reuse::auto_reuse});
    variable = get_variable("v", {2});
  }
  EXPECT_EQ(v[0], v[1]);
  EXPECT_EQ(global_variables().size(), 1U);
}

TEST_F(VariableScopeTest, default_names_are_counted) {
  for (const char* name : {"dense", "dense_1", "dense_2"}) {
    const VariableScope scope("", {.default_name = "dense"});
    EXPECT_EQ(scope.name(), name);
  }
  EXPECT_THAT(error_of([] { const VariableScope scope(""); }),
              HasSubstr("variable_scope: name, got none"));
}

TEST_F(VariableScopeTest, scopes_give_defaults) {
  const VariableScope scope("a", {.initializer = ones_initializer(), .dtype = DType::f64});
  const Variable v = get_variable("v", {2});
  EXPECT_EQ(v.dtype(), DType::f64);
  MiniSession session;
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(v.value()).as_double(1), 1);
  EXPECT_EQ(v.initial_value().name(), "a/v/Initializer/ones:0");
}

TEST_F(VariableScopeTest, scopes_belong_to_their_graph) {
  const VariableScope scope("a");
  Graph other;
  const GraphScope graph_scope(other);
  EXPECT_EQ(get_variable("v", {2}).name(), "v");
}

TEST_F(VariableScopeTest, initializers_have_their_values) {
  using graph_testing::expect_close;
  expect_close(initial_value(zeros_initializer(), {2}), Tensor::of<float>({2}, {0, 0}), 0);
  expect_close(initial_value(ones_initializer(), {2}, DType::s32), Tensor::of<int32_t>({2}, {1, 1}),
               0);
  expect_close(initial_value(constant_initializer(2.5F), {2}), Tensor::of<float>({2}, {2.5F, 2.5F}),
               0);
  expect_close(initial_value(constant_initializer(Tensor::of<float>({4}, {1, 2, 3, 4})), {2, 2}),
               Tensor::of<float>({2, 2}, {1, 2, 3, 4}), 0);
}

TEST_F(VariableScopeTest, initializers_have_their_spread) {
  const Shape shape = {100, 50};
  const auto uniform = spread(glorot_uniform_initializer(1), shape);
  EXPECT_LE(uniform.first, std::sqrt(6.0 / 150));
  EXPECT_NEAR(uniform.second, 2.0 / 150, 0.001);
  const auto normal = spread(glorot_normal_initializer(1), shape);
  EXPECT_LE(normal.first, 2 * std::sqrt(2.0 / 150) / 0.8796);
  EXPECT_NEAR(normal.second, 2.0 / 150, 0.001);
  EXPECT_NEAR(spread(he_normal_initializer(1), shape).second, 2.0 / 100, 0.002);
  EXPECT_NEAR(spread(lecun_uniform_initializer(1), {5, 5, 4, 8}).second, 1.0 / 100, 0.002);
  EXPECT_NEAR(spread(random_normal_initializer({.stddev = 3, .seed = 1}), shape).second, 9, 0.6);
  EXPECT_NEAR(
      spread(variance_scaling_initializer(
                 {.scale = 3, .mode = "fan_out", .distribution = "untruncated_normal", .seed = 1}),
             shape)
          .second,
      3.0 / 50, 0.006);
}

TEST_F(VariableScopeTest, asks_custom_getters_from_the_inner_scope_to_the_outer) {
  std::string asked;
  const auto noting = [&asked](const std::string& who) {
    return [&asked, who](const VariableGetter& getter, std::string_view name, const Shape& shape,
                         const GetVariableOptions& options) {
      asked += fmt::format("{} {} {}; ", who, name, options.dtype);
      return getter(name, shape, options);
    };
  };
  const VariableScope outer("outer", {.dtype = DType::f64, .custom_getter = noting("outer")});
  const VariableScope inner("inner", {.custom_getter = noting("inner")});
  EXPECT_EQ(get_variable("v", {2}).name(), "outer/inner/v");
  EXPECT_EQ(asked, "inner v f64; outer v f64; ");
}

TEST_F(VariableScopeTest, bfloat16_scope_stores_f32_and_gives_bf16) {
  const Bfloat16Scope bfloat16;
  const VariableScope layer("layer", {.reuse = Reuse::auto_reuse});
  const GetVariableOptions options{.dtype = DType::bf16,
                                   .initializer = constant_initializer(1.00390625)};
  const Variable w = get_variable("w", {1}, options);
  EXPECT_EQ(w.name(), "layer/w");
  EXPECT_EQ(w.dtype(), DType::bf16);
  EXPECT_EQ(get_variable("w", {1}, options), w);
  EXPECT_EQ(get_variable("b", {1}).dtype(), DType::f32);
  ASSERT_EQ(trainable_variables().size(), 2);
  EXPECT_EQ(trainable_variables()[0].dtype(), DType::f32);
  MiniSession session;
  session.run(global_variables_initializer());
  const Output delta = constant(Tensor::of<float>({1}, {0.001953125F}));
  EXPECT_EQ(session.run(w.assign_add(delta)).data<float>()[0], 1.005859375F);
  EXPECT_EQ(session.run(cast(w, DType::f32)).data<float>()[0], 1.0078125F);
}

TEST_F(VariableScopeTest, bfloat16_scope_with_a_name_is_a_scope) {
  const Bfloat16Scope bfloat16("half");
  EXPECT_EQ(get_variable("w", {1}, {.dtype = DType::bf16}).name(), "half/w");
}

TEST_F(VariableScopeTest, regularizes_a_variable_once) {
  const auto penalty = [](const Output& value) { return reduce_sum(square(value)); };
  for (int i = 0; i < 2; ++i) {
    const VariableScope scope("layer", {.reuse = Reuse::auto_reuse});
    get_variable("w", {2}, {.regularizer = penalty});
  }
  EXPECT_EQ(graph_->collection<Output>(graph_keys::regularization_losses).size(), 1);
}

}  // namespace
}  // namespace systole
