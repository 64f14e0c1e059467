#include "systole/graph/core/variable.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::MiniSession;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VariableTest : public ::testing::Test {
 protected:
  float value(const Output& fetch) { return session_.run(fetch).item<float>(); }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  MiniSession session_;
};

TEST_F(VariableTest, keeps_its_value_between_runs) {
  const Variable v(1.5F);
  EXPECT_EQ(v.name(), "Variable");
  session_.run(global_variables_initializer());
  EXPECT_EQ(value(v.value()), 1.5F);
  EXPECT_EQ(value(v.assign(4.0F)), 4.0F);
  EXPECT_EQ(value(v.value()), 4.0F);
}

TEST_F(VariableTest, has_tensorflows_names) {
  const NameScope scope("dense");
  const Variable v(1.5F, {.name = "kernel"});
  EXPECT_EQ(v.name(), "dense/kernel");
  EXPECT_EQ(v.initializer().name(), "dense/kernel/Assign");
  EXPECT_EQ(v.value().name(), "dense/kernel/Read/ReadVariableOp:0");
  EXPECT_EQ(Variable(1.5F, {.name = "kernel"}).name(), "dense/kernel_1");
}

TEST_F(VariableTest, as_an_input_is_its_value_at_the_start_of_the_run) {
  const Variable v(1.0F);
  const Output updated = v.assign(10.0F);
  const Output later = add(v, 1);
  session_.run(v.initializer());
  const auto values = session_.run({updated, later});
  EXPECT_EQ(values[0].item<float>(), 10);
  EXPECT_EQ(values[1].item<float>(), 2);
}

TEST_F(VariableTest, read_value_sees_what_was_assigned_before_it) {
  const Variable v(1.0F);
  const Output before = v.read_value();
  const Output once = v.assign_add(1);
  const Output between = v.read_value();
  const Output twice = v.assign_sub(5);
  const Output after = v.read_value();
  session_.run(v.initializer());
  const auto values = session_.run({after, twice, between, once, before});
  EXPECT_EQ(values[0].item<float>(), -3);
  EXPECT_EQ(values[1].item<float>(), -3);
  EXPECT_EQ(values[2].item<float>(), 2);
  EXPECT_EQ(values[3].item<float>(), 2);
  EXPECT_EQ(values[4].item<float>(), 1);
}

TEST_F(VariableTest, control_dependencies_make_a_read_see_an_assignment) {
  const Variable v(1.0F);
  const Output updated = v.assign(2.0F);
  const ControlDependencies after({updated});
  const Output read = v.read_value();
  session_.run(v.initializer());
  EXPECT_EQ(value(read), 2);
}

TEST_F(VariableTest, one_program_initialises_and_updates) {
  const Variable v(2.0F);
  Output squared;
  {
    const ControlDependencies after({v.initializer()});
    squared = v.assign(square(v.read_value()));
  }
  EXPECT_EQ(value(squared), 4);
}

TEST_F(VariableTest, reading_it_without_a_value_is_an_error) {
  const Variable v(1.0F, {.name = "w"});
  EXPECT_THAT(error_of([&] { value(v.value()); }),
              HasSubstr("FAILED_PRECONDITION: run: variable 'w'"));
  EXPECT_THAT(error_of([&] { value(v.assign_add(1)); }), HasSubstr("FAILED_PRECONDITION"));
}

TEST_F(VariableTest, assignments_must_fit) {
  const Variable v(Tensor::zeros(DType::f32, {2}), {.name = "v"});
  EXPECT_THAT(error_of([&] { v.assign(Tensor::zeros(DType::f32, {3})); }),
              HasSubstr("AssignVariableOp: value for variable 'v', got f32[3], expected f32[2]"));
  EXPECT_THAT(error_of([&] { v.assign_add(Tensor::zeros(DType::f64, {2})); }),
              HasSubstr("got f64[2]"));
}

TEST_F(VariableTest, its_initial_value_must_have_a_known_shape) {
  const Output x = placeholder("float", {kUnknown}, "x");
  EXPECT_EQ(
      error_of([&] { Variable v(x, {.name = "v"}); }),
      "INVALID_ARGUMENT: Variable: initial value of 'v', got f32[?], expected a fully known shape");
  EXPECT_THAT(error_of([&] { Variable v(Tensor(1.0F), {.name = "v", .dtype = DType::f64}); }),
              HasSubstr("got f32[], expected dtype f64"));
}

TEST_F(VariableTest, takes_a_literals_value_in_its_dtype) {
  const Variable v(0, {.dtype = DType::s64});
  EXPECT_EQ(v.dtype(), DType::s64);
}

TEST_F(VariableTest, stands_in_its_collections) {
  const Variable a(1.0F, {.name = "a"});
  const Variable b(1.0F, {.name = "b", .trainable = false});
  const Variable c(1.0F, {.name = "c", .trainable = false, .collections = {"local_variables"}});
  EXPECT_THAT(global_variables(), ElementsAre(a, b));
  EXPECT_THAT(trainable_variables(), ElementsAre(a));
  EXPECT_THAT(local_variables(), ElementsAre(c));
}

TEST_F(VariableTest, is_made_outside_of_functions_and_control_dependencies) {
  const Variable v(1.0F);
  const ControlDependencies after({v.assign(5.0F)});
  Variable inner;
  const Output y = cond(
      true,
      [&] {
        inner = Variable(3.0F, {.name = "inner"});
        return add(inner, 1);
      },
      [] { return constant(0.0F); });
  EXPECT_TRUE(inner.initializer().node()->control_inputs().empty());
  session_.run(inner.initializer());
  session_.run(v.initializer());
  EXPECT_EQ(value(y), 4);
}

TEST_F(VariableTest, group_waits_for_all) {
  const Variable a(1.0F);
  const Variable b(2.0F);
  session_.run(group({a.initializer(), b.initializer()}));
  EXPECT_EQ(value(add(a, b)), 3);
}

TEST_F(VariableTest, there_is_one_global_step) {
  EXPECT_THAT(error_of([] { get_global_step(); }), HasSubstr("NOT_FOUND: get_global_step"));
  Variable step;
  {
    const NameScope scope("model");
    step = get_or_create_global_step();
  }
  EXPECT_EQ(step.name(), "global_step");
  EXPECT_EQ(step.dtype(), DType::s64);
  EXPECT_EQ(get_or_create_global_step(), step);
  EXPECT_EQ(get_global_step(), step);
  EXPECT_THAT(trainable_variables(), ElementsAre());
  session_.run(step.initializer());
  EXPECT_EQ(session_.run(step.assign_add(1)).item<int64_t>(), 1);
}

}  // namespace
}  // namespace systole
