#include "systole/graph/core/graph.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/state_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

using graph_testing::error_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class GraphTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(GraphTest, names_are_unique_and_scoped_as_in_tensorflow) {
  EXPECT_EQ(constant(1.0F).name(), "Const:0");
  EXPECT_EQ(constant(1.0F).name(), "Const_1:0");
  EXPECT_EQ(constant(1.0F, {.name = "Const_1"}).name(), "Const_1_1:0");
  {
    const NameScope dense("dense");
    EXPECT_EQ(dense.name(), "dense/");
    EXPECT_EQ(graph_->name_scope(), "dense");
    EXPECT_EQ(constant(1.0F).name(), "dense/Const:0");
    const NameScope inner("inner");
    EXPECT_EQ(constant(1.0F).name(), "dense/inner/Const:0");
    const NameScope top("/");
    EXPECT_EQ(constant(1.0F, {.name = "a"}).name(), "a:0");
  }
  {
    const NameScope dense("dense");
    EXPECT_EQ(constant(1.0F).name(), "dense_1/Const:0");
    EXPECT_EQ(constant(1.0F, {.name = dense.name()}).name(), "dense_1:0");
  }
  const NameScope again("dense/");
  EXPECT_EQ(constant(1.0F).name(), "dense/Const_1:0");
}

TEST_F(GraphTest, names_differ_in_more_than_case) {
  constant(1.0F, {.name = "bias"});
  EXPECT_EQ(constant(1.0F, {.name = "Bias"}).name(), "Bias_1:0");
}

TEST_F(GraphTest, a_bad_name_is_an_error) {
  EXPECT_EQ(error_of([] { constant(1.0F, {.name = "a b"}); }),
            "INVALID_ARGUMENT: name, got 'a b', expected letters, digits and any of '_.-/'");
}

TEST_F(GraphTest, nodes_are_found_by_name) {
  const Output x = placeholder("float", {2}, "x");
  EXPECT_EQ(graph_->find_node("x"), x.node());
  EXPECT_EQ(graph_->find_node("y"), nullptr);
  EXPECT_EQ(graph_->tensor("x:0"), x);
  EXPECT_EQ(graph_->tensor("x"), x);
  placeholder("float", {2}, "weights");
  EXPECT_EQ(error_of([&] { graph_->tensor("wieghts:0"); }),
            "NOT_FOUND: graph: tensor, got 'wieghts:0', expected the name of a node, did you mean "
            "'weights'?");
  EXPECT_EQ(
      error_of([&] { graph_->tensor("x:1"); }),
      "NOT_FOUND: graph: tensor, got 'x:1', expected one of the 1 outputs of 'x' (Placeholder)");
  EXPECT_THAT(error_of([&] { graph_->tensor("x:zero"); }), HasSubstr("NOT_FOUND"));
}

TEST_F(GraphTest, inference_errors_name_op_node_and_line) {
  const Output x = placeholder("float", {2, 3}, "x");
  const Output y = placeholder("float", {4}, "y");
  const std::string line = std::to_string(__LINE__ + 1);
  const std::string error = error_of([&] { add(x, y, {.name = "sum"}); });
  EXPECT_THAT(error, ::testing::StartsWith("INVALID_ARGUMENT: Add: "));
  EXPECT_THAT(error, HasSubstr("[2,3]"));
  EXPECT_THAT(error, EndsWith("node 'sum' at graph_test.cc:" + line));
}

TEST_F(GraphTest, an_unknown_op_is_named_with_near_misses) {
  EXPECT_THAT(error_of([&] { graph_->add_node("Identty", {}); }),
              ::testing::AllOf(HasSubstr("NOT_FOUND: op, got 'Identty'"),
                               HasSubstr("did you mean 'Identity'?")));
}

TEST_F(GraphTest, a_value_of_another_graph_is_an_error) {
  const Output x = constant(1.0F, {.name = "here"});
  Graph other;
  const GraphScope scope(other);
  EXPECT_THAT(
      error_of([&] { identity(x); }),
      HasSubstr("Identity: input, got 'here:0' of another graph, expected a tensor of this graph"));
}

TEST_F(GraphTest, the_innermost_graph_scope_is_current) {
  EXPECT_EQ(&Graph::current(), graph_.get());
  Graph inner;
  {
    const GraphScope scope(inner);
    EXPECT_EQ(&Graph::current(), &inner);
  }
  EXPECT_EQ(&Graph::current(), graph_.get());
}

TEST_F(GraphTest, control_dependencies_add_up) {
  const Operation a = no_op("a");
  const Operation b = no_op("b");
  const ControlDependencies after_a({a});
  Node* inner = nullptr;
  {
    const ControlDependencies after_b({b});
    inner = no_op("c").node();
  }
  EXPECT_THAT(inner->control_inputs(), ElementsAre(a.node(), b.node()));
  EXPECT_THAT(no_op("d").node()->control_inputs(), ElementsAre(a.node()));
  const ControlDependencies none(nullptr);
  EXPECT_THAT(no_op("e").node()->control_inputs(), ElementsAre());
}

TEST_F(GraphTest, collections_keep_order_and_filter_by_prefix) {
  const Output a = constant(1.0F, {.name = "a"});
  const Output b = constant(1.0F, {.name = "scope/b"});
  graph_->add_to_collection("losses", b);
  graph_->add_to_collection("losses", a);
  graph_->add_to_collection("losses", no_op());
  EXPECT_THAT(graph_->collection<Output>("losses"), ElementsAre(b, a));
  EXPECT_THAT(graph_->collection<Output>("losses", "scope"), ElementsAre(b));
  EXPECT_EQ(graph_->collection<Operation>("losses").size(), 1U);
  EXPECT_THAT(graph_->collection<Output>("none"), ElementsAre());
}

TEST_F(GraphTest, literals_take_the_dtype_asked_for) {
  EXPECT_EQ(Input(1).resolve().dtype(), DType::s32);
  EXPECT_EQ(Input(0.5).resolve().dtype(), DType::f32);
  EXPECT_EQ(Input(true).resolve().dtype(), DType::pred);
  EXPECT_EQ(Input(1).resolve(DType::bf16).dtype(), DType::bf16);
  EXPECT_EQ(constant_value(Input(0.1).resolve(DType::f64))->item<double>(), 0.1);
  EXPECT_EQ(constant_value(Input(int64_t{1} << 40).resolve(DType::s64))->item<int64_t>(),
            int64_t{1} << 40);
  EXPECT_EQ(error_of([] { Input(0.5).resolve(DType::s32); }),
            "INVALID_ARGUMENT: literal, got 0.5, expected a value of s32");
  EXPECT_EQ(error_of([] { Input(300).resolve(DType::u8); }),
            "INVALID_ARGUMENT: literal, got 300, expected a value of u8");
  EXPECT_THAT(error_of([] { Input(-1).resolve(DType::u32); }), HasSubstr("got -1"));
  EXPECT_THAT(error_of([] { Input(1).resolve(DType::pred); }),
              HasSubstr("expected a value of pred"));
}

TEST_F(GraphTest, a_text_is_a_string_not_a_bool) {
  const std::string word = "word";
  EXPECT_EQ(Input("text").resolve().dtype(), DType::string);
  EXPECT_EQ(Input(word).resolve().dtype(), DType::string);
  EXPECT_EQ(constant("text").type(), (TensorType{DType::string, {}}));
}

TEST_F(GraphTest, input_lists_take_the_dtype_of_the_first_that_is_no_literal) {
  const Output x = placeholder(DType::f64, {}, "x");
  const std::vector<Output> all = InputList({1, x, 2.5}).resolve();
  for (const Output& output : all) EXPECT_EQ(output.dtype(), DType::f64);
}

TEST_F(GraphTest, functions_capture_outer_values_once) {
  const Output x = placeholder("float", {2}, "x");
  const auto function = Graph::make_function(*graph_);
  const auto nested = Graph::make_function(*function);
  const GraphScope scope(*nested);
  const Output y = identity(x);
  const Output z = identity(x);
  EXPECT_EQ(y.node()->input(0), z.node()->input(0));
  EXPECT_THAT(nested->captures(), ElementsAre(function->arguments()[0]));
  EXPECT_THAT(function->captures(), ElementsAre(x));
  EXPECT_EQ(resolve_capture(y.node()->input(0)), x);
  EXPECT_EQ(&nested->root(), graph_.get());
}

TEST_F(GraphTest, functions_share_captures_in_one_order) {
  const Output x = constant(1.0F);
  const Output y = constant(2.0F);
  const Output z = constant(3.0F);
  const auto f = Graph::make_function(*graph_);
  const auto g = Graph::make_function(*graph_);
  f->capture(x);
  f->capture(y);
  const Output of_z = g->capture(z);
  g->capture(y);
  Graph::share_captures(*f, *g);
  EXPECT_THAT(f->captures(), ElementsAre(x, y, z));
  EXPECT_THAT(g->captures(), ElementsAre(x, y, z));
  EXPECT_EQ(g->arguments()[2], of_z);
}

TEST_F(GraphTest, seeds_follow_tensorflows_rule) {
  EXPECT_EQ(get_seed(std::nullopt), std::nullopt);
  EXPECT_EQ(get_seed(7), std::pair(int64_t{87654321}, int64_t{7}));
  set_random_seed(5);
  no_op();
  no_op();
  EXPECT_EQ(get_seed(std::nullopt), std::pair(int64_t{5}, int64_t{2}));
  EXPECT_EQ(get_seed(7), std::pair(int64_t{5}, int64_t{7}));
  set_random_seed(0);
  EXPECT_EQ(get_seed(0), std::pair(int64_t{0}, int64_t{0x7fffffff}));
}

TEST_F(GraphTest, shapes_are_followed_while_building) {
  const Output x = placeholder("float", {kUnknown, 3, 4}, "x");
  const auto value = partial_value(shape(x));
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->elements[0], std::nullopt);
  EXPECT_EQ(value->elements[1], 3);
  EXPECT_FALSE(constant_value(shape(x)).has_value());
  EXPECT_EQ(fill(shape(x), 1.0F).shape(), (Shape{kUnknown, 3, 4}));
}

TEST(OpDefs, have_names_docs_and_what_they_need) {
  std::set<std::string_view> names;
  for (const OpDef* op : all_op_defs()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_FALSE(op->traits.blocks_gradient && op->gradient != nullptr) << op->name;
    EXPECT_FALSE(op->traits.passes_on != PassesOn::nothing && op->traits.costs_no_memory)
        << op->name;
    const bool batches = op->batch.ragged || op->batch.gives_bytes || op->reads_bytes_as != nullptr;
    EXPECT_TRUE(op->batch.rule != nullptr || !batches) << op->name;
  }
}

TEST(DefaultGraph, MayBeReset) {
  const Output before = constant(1.0F, {.name = "of_the_default_graph"});
  reset_default_graph();
  EXPECT_EQ(Graph::current().find_node("of_the_default_graph"), nullptr);
  EXPECT_NE(&before.graph(), &Graph::current());
  EXPECT_EQ(before.name(), "of_the_default_graph:0");  // what was built is still there
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_THROW(reset_default_graph(), Error);
}

}  // namespace
}  // namespace systole
