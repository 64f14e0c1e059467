#include "systole/graph/lowering/specialize.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/testing/op_tester.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::evaluate;
using graph_testing::expect_close;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SpecializeTest : public ::testing::Test {
 protected:
  SpecializedProgram specialize_for(const std::vector<Output>& fetches,
                                    const std::vector<Feed>& feeds = {},
                                    const std::vector<Node*>& targets = {}) {
    return specialize(*graph_, fetches, targets, feeds);
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(SpecializeTest, makes_unknown_sizes_those_that_are_fed) {
  const Output x = placeholder("float", {kUnknown, 2}, "x");
  const Output y = add(x, ones(shape(x)));
  const SpecializedProgram program = specialize_for({y}, {{x, {DType::f32, {3, 2}}}});
  const hlo::Computation& main = program.module->entry();
  EXPECT_EQ(main.num_parameters(), 1);
  EXPECT_EQ(main.results()[0].shape(), (Shape{3, 2}));
}

TEST_F(SpecializeTest, leaves_out_what_is_not_needed) {
  const Output x = placeholder("float", {}, "x");
  const Output unused = placeholder("float", {}, "unused");
  exp(unused);
  const SpecializedProgram program = specialize_for({negative(x)}, {{x, {DType::f32, {}}}});
  EXPECT_EQ(program.module->entry().num_instructions(), 3);  // parameter, negate, return
}

TEST_F(SpecializeTest, instructions_name_node_and_line) {
  const Output x = placeholder("float", {}, "x");
  const Output y = negative(x, {.name = "y"});
  const std::string line = std::to_string(__LINE__ - 1);
  const SpecializedProgram program = specialize_for({y}, {{x, {DType::f32, {}}}});
  EXPECT_EQ(program.module->entry().results()[0].def->metadata().to_string(),
            "node 'y' at specialize_test.cc:" + line);
}

TEST_F(SpecializeTest, takes_feeds_for_inner_values) {
  const Output x = placeholder("float", {}, "x");
  const Output y = exp(x);
  const Output z = multiply(y, 2);
  EXPECT_EQ(evaluate(z, {{y, Tensor(5.0F)}}).item<float>(), 10);
}

TEST_F(SpecializeTest, a_missing_feed_names_placeholder_and_fetch) {
  const Output x = placeholder("float", {kUnknown, 2}, "x");
  const std::string line = std::to_string(__LINE__ - 1);
  const Output y = exp(x, {.name = "y"});
  EXPECT_EQ(
      error_of([&] { specialize_for({y}); }),
      "INVALID_ARGUMENT: run: placeholder 'x' is needed by 'y:0', got no value for it, expected a "
      "feed of f32[?,2], node 'x' at specialize_test.cc:" +
          line);
}

TEST_F(SpecializeTest, feeds_must_fit) {
  const Output x = placeholder("float", {kUnknown, 2}, "x");
  const Output y = exp(x);
  EXPECT_THAT(error_of([&] {
                specialize_for({y}, {{x, {DType::f32, {3, 4}}}});
              }),
              HasSubstr("run: feed of 'x:0', got f32[3,4], expected f32[?,2]"));
  EXPECT_THAT(error_of([&] {
                specialize_for({y}, {{x, {DType::f64, {3, 2}}}});
              }),
              HasSubstr("got f64[3,2], expected f32[?,2]"));
  const Feed feed{x, {DType::f32, {3, 2}}};
  EXPECT_THAT(error_of([&] { specialize_for({y}, {feed, feed}); }), HasSubstr("got 'x:0' twice"));
}

TEST_F(SpecializeTest, fetches_must_be_of_the_graph) {
  Graph other;
  Output elsewhere;
  {
    const GraphScope scope(other);
    elsewhere = constant(1.0F, {.name = "elsewhere"});
  }
  EXPECT_EQ(error_of([&] { specialize_for({elsewhere}); }),
            "INVALID_ARGUMENT: run: fetch, got 'elsewhere:0' of another graph, expected a tensor "
            "of this graph");
  const Variable v(1.0F, {.name = "v"});
  EXPECT_THAT(error_of([&] { specialize_for({v.handle()}); }), HasSubstr("got 'v:0', a handle"));
}

TEST_F(SpecializeTest, shapes_that_clash_once_known_name_the_node) {
  const Output x = placeholder("float", {kUnknown}, "x");
  const Output y = placeholder("float", {kUnknown}, "y");
  const Output sum = add(x, y, {.name = "sum"});
  const std::string error = error_of([&] {
    specialize_for({sum}, {{x, {DType::f32, {2}}}, {y, {DType::f32, {3}}}});
  });
  EXPECT_THAT(error, HasSubstr("INVALID_ARGUMENT: "));
  EXPECT_THAT(error, HasSubstr("node 'sum' at specialize_test.cc"));
}

TEST_F(SpecializeTest, a_shape_that_depends_on_fed_values_is_an_error) {
  const Output n = placeholder(DType::s32, {2}, "n");
  const Output y = fill(n, 1.0F, {.name = "filled"});
  EXPECT_EQ(y.shape(), (Shape{kUnknown, kUnknown}));
  EXPECT_THAT(
      error_of([&] {
        specialize_for({y}, {{n, {DType::s32, {2}}}});
      }),
      HasSubstr("Fill: input 0 must be known when the program is compiled, got 'n:0', expected a "
                "constant, node 'filled'"));
}

TEST_F(SpecializeTest, folds_arithmetic_on_shapes) {
  const Output x = placeholder("float", {kUnknown, 2}, "x");
  const Output y = fill(multiply(shape(x), 2), 1.0F);
  const Tensor value = evaluate(y, {{x, Tensor::zeros(DType::f32, {3, 2})}});
  EXPECT_EQ(value.shape(), (Shape{6, 4}));
}

TEST_F(SpecializeTest, lists_variables_reads_and_updates) {
  const Variable a(1.0F, {.name = "a"});
  const Variable b(2.0F, {.name = "b"});
  const Variable c(3.0F, {.name = "c"});
  const Output updated = b.assign_add(a);
  const Operation set = c.initializer();
  const SpecializedProgram program = specialize_for({updated}, {}, {set.node()});
  EXPECT_THAT(program.variables,
              ElementsAre(a.handle().node(), b.handle().node(), c.handle().node()));
  EXPECT_THAT(program.variable_read, ElementsAre(true, true, false));
  EXPECT_THAT(program.updated, ElementsAre(1, 2));
  EXPECT_THAT(program.module->aliases, ElementsAre(hlo::Module::Alias{1, 1}));
}

TEST_F(SpecializeTest, a_program_with_checks_aliases_nothing) {
  const Variable v(7, {.name = "v"});
  const Output divisor = placeholder(DType::s32, {}, "divisor");
  const Output updated = v.assign(floordiv(v, divisor));
  const SpecializedProgram program = specialize_for({updated}, {{divisor, {DType::s32, {}}}});
  ASSERT_EQ(program.checks.size(), 1U);
  EXPECT_EQ(program.checks[0].code, Code::invalid_argument);
  EXPECT_TRUE(program.module->aliases.empty());
  EXPECT_EQ(program.module->entry().results().size(), 3U);

  graph_testing::MiniSession session;
  session.run(v.initializer());
  EXPECT_THAT(error_of([&] {
                session.run(updated, {{divisor, Tensor(0)}});
              }),
              HasSubstr("ivision by zero"));
  EXPECT_EQ(session.run(updated, {{divisor, Tensor(2)}}).item<int32_t>(), 3);
}

TEST_F(SpecializeTest, random_nodes_get_one_state) {
  const Output x = random_uniform({2});
  const Output y = random_normal({2});
  const SpecializedProgram program = specialize_for({x, y});
  EXPECT_EQ(program.random_nodes.size(), 2U);
  EXPECT_EQ(program.module->entry().parameter(0).type(), (TensorType{DType::u64, {3}}));
}

}  // namespace
}  // namespace systole
