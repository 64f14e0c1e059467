// tf.Print, tf.py_func and tf.Assert in runs of a session.
#include "systole/graph/api/debugging_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/py_func.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/core/gradient_override.h"
#include "systole/graph/gradients/custom_gradient.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/session/host/host_function.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DebuggingSessionTest : public ::testing::Test {
 protected:
  // Lines of the log that tf.Print wrote, which begin with "info: print".
  std::vector<std::string> printed() const {
    std::vector<std::string> lines;
    for (const std::string& line : log_.messages()) {
      if (line.starts_with("info: print")) lines.push_back(line.substr(6));
    }
    return lines;
  }

  LogCapture log_;
  Graph graph_;
  GraphScope scope_{graph_};
  Output x_ = placeholder(DType::f32, {-1}, "x");
  Tensor four_ = Tensor::of<float>({4}, {1, 2, 3, 4});
};

TEST_F(DebuggingSessionTest, PrintWritesWhatTheDeviceComputed) {
  const Output sum = reduce_sum(x_);
  const Output y = print_op(sum, {sum, x_ * 0.5F, 7}, {.message = "print: "}) * 2;
  Session session;
  EXPECT_EQ(session.run(y, {{x_, four_}}).item<float>(), 20);
  EXPECT_THAT(printed(), ElementsAre("print: [10][0.5 1 1.5...][7]"));
  EXPECT_EQ(session.run(sum, {{x_, four_}}).item<float>(), 10);
  EXPECT_THAT(printed(), ElementsAre("print: [10][0.5 1 1.5...][7]"));
}

TEST_F(DebuggingSessionTest, PrintDividesNoProgram) {
  const Variable w(2.0F);
  const Output loss = reduce_sum(square(w * x_));
  const Output shown = print_op(loss, {loss}, {.message = "print"});
  const Output slope = gradients({shown}, {w.value()})[0];
  const Output step = w.assign_sub(slope * 0.01F);
  Session session;
  session.run(global_variables_initializer());
  const int64_t before = session.stats().programs;
  session.run({step, shown}, {{x_, four_}});
  EXPECT_EQ(session.stats().programs, before + 2);  // the run's and, of it, the device's
  EXPECT_THAT(printed(), ElementsAre("print[120]"));
  EXPECT_FLOAT_EQ(session.run(w).item<float>(), 2.0F - 0.01F * 120);
}

// The usual form, in a training step: the names among the data are no reason to go to the host.
TEST_F(DebuggingSessionTest, PrintOfNamedValuesDividesNoProgram) {
  const Variable w(2.0F);
  const Variable b(1.0F);
  const Output loss = reduce_sum(square(w * x_ + b));
  const Output text = constant(Tensor("loss"));
  const Output shown = print_op(loss, {"w:", w, text, loss, "!"}, {.message = "print "});
  const std::vector<Output> slopes = gradients({shown}, {w.value(), b.value()});
  const Output next_w = w.assign_sub(slopes[0] * 0.001F);
  const Output next_b = b.assign_sub(slopes[1] * 0.001F);
  Session session;
  session.run(global_variables_initializer());
  const int64_t before = session.stats().programs;
  session.run({next_w, next_b}, {{x_, four_}});
  EXPECT_EQ(session.stats().programs, before + 2);  // the run's and, of it, the device's
  EXPECT_THAT(printed(), ElementsAre("print [w:][2][loss][164][!]"));
}

TEST_F(DebuggingSessionTest, PrintStopsAfterFirstN) {
  const Output y = print_op(x_, {x_}, {.message = "print", .first_n = 2, .summarize = -1});
  Session session;
  for (int i = 0; i < 4; ++i) session.run(y, {{x_, four_}});
  EXPECT_THAT(printed(), ElementsAre("print[1 2 3 4]", "print[1 2 3 4]"));
}

TEST_F(DebuggingSessionTest, PrintTakesStringsAndFedTensors) {
  const Output text = string_join({as_string(x_, {.precision = 0}), "!"});
  const Output y = print_op(text, {text, x_}, {.message = "print"});
  Session session;
  session.run(y, {{x_, four_}});
  EXPECT_THAT(printed(), ElementsAre("print[1! 2! 3!...][1 2 3...]"));
}

TEST_F(DebuggingSessionTest, PrintWorksInFunctionsOfDataSets) {
  const HostFunction function =
      HostFunction::trace(TensorType{DType::f32, {2}}, [](const Nest<Output>& x) {
        return Nest<Output>(print_op(x, {x}, {.message = "print"}) + 1.0F);
      });
  const auto results = function(std::vector{Tensor::of<float>({2}, {1, 2})});
  EXPECT_EQ(results[0].to_string(), Tensor::of<float>({2}, {2, 3}).to_string());
  EXPECT_THAT(printed(), ElementsAre("print[1 2]"));
}

TEST_F(DebuggingSessionTest, PyFuncRunsBetweenPrograms) {
  const Output doubled = py_func(
      [](std::span<const Tensor> in) {
        Tensor result = in[0].clone();
        for (float& value : result.data<float>()) value *= 2;
        return result;
      },
      {x_ + 1.0F}, {DType::f32, {-1}}, {.name = "double"});
  const Variable w(3.0F);
  const Output loss = reduce_sum(w * doubled);
  const Output step = w.assign_sub(gradients({loss}, {w.value()})[0]);
  Session session;
  session.run(global_variables_initializer());
  const auto values = session.run({loss, step}, {{x_, four_}});
  EXPECT_EQ(values[0].item<float>(), 84);
  EXPECT_EQ(values[1].item<float>(), 3 - 28);
}

TEST_F(DebuggingSessionTest, PyFuncGivesSeveralResults) {
  const std::vector<Output> y = py_func(
      [](std::span<const Tensor> in) {
        return std::vector{Tensor(static_cast<int32_t>(in[0].num_elements())), Tensor("text")};
      },
      {x_}, std::vector<TensorType>{{DType::s32, {}}, {DType::string, {}}});
  Session session;
  const auto values = session.run({y[0] * 2, y[1]}, {{x_, four_}});
  EXPECT_EQ(values[0].item<int32_t>(), 8);
  EXPECT_EQ(values[1].item<std::string>(), "text");
}

TEST_F(DebuggingSessionTest, PyFuncHasTheGradientThatAMapGivesIt) {
  register_gradient("DebuggingSessionTestSquare", [](Node& op, const std::vector<Output>& grads) {
    return std::vector{grads[0] * 2.0F * op.input(0)};
  });
  Output squared;
  {
    const GradientOverrideMap map({{"PyFunc", "DebuggingSessionTestSquare"}});
    squared = py_func(
        [](std::span<const Tensor> in) {
          Tensor result = in[0].clone();
          for (float& value : result.data<float>()) value *= value;
          return result;
        },
        {x_}, {DType::f32, {-1}});
  }
  Session session;
  EXPECT_EQ(session.run(gradients({squared}, {x_})[0], {{x_, four_}}).to_string(),
            Tensor::of<float>({4}, {2, 4, 6, 8}).to_string());
}

TEST_F(DebuggingSessionTest, ErrorsOfPyFuncNameIt) {
  const auto run = [&](std::function<Tensor(std::span<const Tensor>)> func) {
    Session session;
    return error_of([&] {
      session.run(py_func(std::move(func), {x_}, {DType::f32, {-1}}), {{x_, four_}});
    });
  };
  EXPECT_THAT(run([](std::span<const Tensor>) { return Tensor(1); }),
              AllOf(HasSubstr("INVALID_ARGUMENT: PyFunc: result 0 of the function, got s32[], "
                              "expected f32[?], node 'PyFunc"),
                    HasSubstr("debugging_ops_test.cc:")));
  EXPECT_THAT(run([](std::span<const Tensor>) -> Tensor { throw not_found("file, got none"); }),
              HasSubstr("NOT_FOUND: PyFunc: file, got none, node 'PyFunc"));
  EXPECT_THAT(run([](std::span<const Tensor>) -> Tensor { throw std::runtime_error("broken"); }),
              HasSubstr("UNKNOWN: PyFunc: broken, node 'PyFunc"));
  EXPECT_THAT(run(nullptr), HasSubstr("PyFunc: func, got none, expected a function"));
  const Output looped = while_loop(
      [](auto& v) { return less(v[0], 3.0F); },
      [](auto& v) {
        return std::vector{py_func([](std::span<const Tensor> in) { return in[0].clone(); }, {v[0]},
                                   {DType::f32, {}})};
      },
      {0.0F})[0];
  Session session;
  EXPECT_THAT(error_of([&] { session.run(looped); }),
              HasSubstr("PyFunc: lowering, got an op that runs on the host only"));
}

TEST_F(DebuggingSessionTest, AFailedAssertionLeavesTheSessionAsItWas) {
  const Variable count(0);
  const Operation init = global_variables_initializer();
  const Operation positive = assert_positive(x_, {.message = "inputs"});
  const ControlDependencies after({positive});
  const Output counted = count.assign_add(1);
  Session session;
  session.run(init);
  session.run(counted, {{x_, four_}});
  EXPECT_THAT(error_of([&] {
                session.run(counted, {{x_, Tensor::of<float>({1}, {-1})}});
              }),
              AllOf(HasSubstr("INVALID_ARGUMENT: Assert: assertion failed: inputs: "),
                    HasSubstr("debugging_ops_test.cc:")));
  session.run(counted, {{x_, four_}});
  EXPECT_EQ(session.run(count).item<int32_t>(), 2);
}

// What stands before and after a function of the host may be tested.
TEST_F(DebuggingSessionTest, AssertionsStandOnBothSidesOfTheHost) {
  const Variable count(0);
  const Output counts = count.value();
  const Operation init = global_variables_initializer();
  const ControlDependencies before({assert_positive(x_)});
  const Output y = py_func([](std::span<const Tensor> in) { return in[0].clone(); }, {x_ * 2.0F},
                           {DType::f32, {-1}});
  const ControlDependencies behind({assert_less(y, 9.0F)});
  const Output counted = count.assign_add(1);
  Session session;
  session.run(init);
  EXPECT_EQ(session.run(counted, {{x_, four_}}).item<int32_t>(), 1);
  for (const float wrong : {-1.0F, 5.0F}) {
    EXPECT_THAT(error_of([&] {
                  session.run(counted, {{x_, Tensor::of<float>({1}, {wrong})}});
                }),
                HasSubstr("assertion failed"));
  }
  EXPECT_EQ(session.run(counts).item<int32_t>(), 1);
}

// The program that changes variables is that of the last check.
TEST_F(DebuggingSessionTest, AFailedCheckOfTheHostsValueChangesNoVariable) {
  const Variable count(0);
  const Output counted = count.assign_add(1);
  const Output y = py_func([](std::span<const Tensor> in) { return in[0].clone(); }, {x_ * 2.0F},
                           {DType::f32, {-1}});
  const Output checked = check_numerics(y / 0.5F, "y");
  const Operation small = assert_less(y, 9.0F);
  Session session;
  session.run(global_variables_initializer());
  session.run({counted, checked, small}, {{x_, four_}});
  EXPECT_EQ(session.run(count).item<int32_t>(), 1);
  for (const float wrong : {5.0F, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_NE(error_of([&] {
                session.run({counted, checked, small}, {{x_, Tensor::of<float>({1}, {wrong})}});
              }),
              "no error");
    EXPECT_EQ(session.run(count).item<int32_t>(), 1) << wrong;
  }
}

}  // namespace
}  // namespace systole
