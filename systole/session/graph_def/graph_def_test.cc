#include "systole/session/graph_def/graph_def.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/gradients/custom_gradient.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;

const tensorflow::NodeDef* find(const tensorflow::GraphDef& graph, const std::string& name) {
  for (const auto& node : graph.node()) {
    if (node.name() == name) return &node;
  }
  throw not_found("{}: node", name);
}

tensorflow::NodeDef& add_node(tensorflow::GraphDef& graph, const std::string& name,
                              const std::string& op, const std::vector<std::string>& inputs) {
  auto& node = *graph.add_node();
  node.set_name(name);
  node.set_op(op);
  for (const std::string& input : inputs) node.add_input(input);
  return node;
}

TEST(GraphDefTest, NodesAreTensorFlows) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {kUnknown, 2}, "x");
  const Variable w(Tensor::of<float>({2, 1}, {1, 2}), {.name = "w"});
  const Output y = matmul(x, w.value(), {.name = "y"});
  const ControlDependencies after({y.node()});
  identity(y, {.name = "z"});
  const auto message = to_graph_def(graph);
  const auto* matmul_node = find(*message, "y");
  ASSERT_NE(matmul_node, nullptr);
  EXPECT_EQ(print_message_text(*matmul_node),
            "name: \"y\"\nop: \"MatMul\"\ninput: \"x\"\ninput: \"w/Read/ReadVariableOp\"\n"
            "attr {\n  key: \"T\"\n  value {\n    type: DT_FLOAT\n  }\n}\n"
            "attr {\n  key: \"transpose_a\"\n  value {\n    b: false\n  }\n}\n"
            "attr {\n  key: \"transpose_b\"\n  value {\n    b: false\n  }\n}\n");
  EXPECT_EQ(find(*message, "z")->input(1), "^y");
  EXPECT_EQ(to_graph_def(graph, std::vector<Operation>{y})->node_size(), 4);  // x, w, read, y
  EXPECT_GT(message->versions().producer(), 0);
}

TEST(GraphDefTest, AGraphWithGradientsAndFunctionsIsWritten) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable w(2.0F, {.name = "w"});
  const Output y = cond(
      w.value() > 1.0F, [&] { return w.value() * 3.0F; }, [&] { return w.value() + 1.0F; });
  gradients({y * y + y}, {w.value()});
  const auto message = to_graph_def(graph);
  EXPECT_GE(message->library().function_size(), 2);
  EXPECT_EQ(message->node_size(), static_cast<int>(graph.nodes().size()));
  for (const auto& node : message->node()) {
    if (node.op() != "AddN") continue;
    EXPECT_TRUE(node.attr().contains("T"));
    EXPECT_EQ(node.attr().at("N").i(), node.input_size());
  }
}

// The function of a branch calls the next one twice, and so on.
TEST(GraphDefTest, FunctionsThatDoubleAreRefused) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {}, "x");
  const auto leaf = [&] { return x * 3.0F; };
  cond(x > 1.0F, [&] { return cond(x > 2.0F, leaf, leaf); }, leaf, {.name = "y"});
  auto message = to_graph_def(graph);
  const auto function = [&](const std::string& name) {
    for (auto& each : *message->mutable_library()->mutable_function()) {
      if (each.signature().name() == name) return &each;
    }
    throw not_found("{}: function", name);
  };
  const auto branches_of = [](auto& nodes) {
    for (auto& node : nodes) {
      if (node.attr().contains("then_branch")) return node.mutable_attr();
    }
    throw not_found("branches");
  };
  const auto call_twice = [](auto& attrs, const std::string& name) {
    for (const char* branch : {"then_branch", "else_branch"}) {
      attrs[branch].mutable_func()->set_name(name);
    }
  };
  auto& top = *branches_of(*message->mutable_node());
  const tensorflow::FunctionDef outer = *function(top["then_branch"].func().name());
  constexpr int kLevels = 40;
  for (int i = 0; i < kLevels; ++i) {
    tensorflow::FunctionDef copy = outer;
    copy.mutable_signature()->set_name("f" + std::to_string(i));
    if (i + 1 < kLevels)
      call_twice(*branches_of(*copy.mutable_node_def()), "f" + std::to_string(i + 1));
    *message->mutable_library()->add_function() = copy;
  }
  call_twice(top, "f0");
  Graph imported;
  const GraphScope imported_scope(imported);
  EXPECT_THAT(error_of([&] { import_graph_def(*message, {}); }),
              ::testing::HasSubstr("nodes of functions, counted for each use, got more than "));
}

// What is written and read again computes the same.
TEST(GraphDefTest, ComesBack) {
  Graph graph;
  tensorflow::GraphDef message;
  Tensor expected;
  const Tensor image = Tensor::of<float>({1, 4, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8,  //
                                                        8, 7, 6, 5, 4, 3, 2, 1});
  {
    const GraphScope scope(graph);
    const Output x = placeholder(DType::f32, {kUnknown, 4, 4, 1}, "x");
    const Variable filter(Tensor::full(DType::f32, {3, 3, 1, 2}, 0.5), {.name = "conv/kernel"});
    Output h = relu(conv2d(x, filter, {.strides = {1, 1}, .padding = Padding::same}));
    h = max_pool(h, {.ksize = {2, 2}, .strides = {2, 2}, .padding = Padding::valid});
    h = reshape(h, {-1, 8});
    h = softmax(h * 0.1F - reduce_mean(h, {.axis = {1}, .keepdims = true}), {.name = "out"});
    Session session("", {.graph = &graph});
    session.run({global_variables_initializer()});
    expected = session.run(h, {{x, image}});
    message = *to_graph_def(graph, std::vector<Operation>{h});
  }
  Graph copy;
  const GraphScope scope(copy);
  const Output x = placeholder(DType::f32, {kUnknown, 4, 4, 1}, "x");
  const ImportedGraph imported =
      import_graph_def(message, {.inputs = {{"x:0", x}}, .outputs = {"out:0"}});
  Session session("", {.graph = &copy});
  session.set_variable(imported.variables.at("conv/kernel"),
                       Tensor::full(DType::f32, {3, 3, 1, 2}, 0.5));
  EXPECT_TRUE(session.run(imported.outputs[0], {{x, image}}).identical(expected));
}

// Types as TensorFlow's ops declare them.
TEST(GraphDefTest, OpsThatLookIntoARunComeBack) {
  Graph graph;
  tensorflow::GraphDef message;
  {
    const GraphScope scope(graph);
    const Output x = placeholder(DType::f32, {2}, "x");
    assert_positive(x, {.name = "positive"});
    const auto twice = custom_gradient([](const Output& v) {
      return CustomGradient{v * 2.0F, [](const Output& dy) { return dy; }};
    });
    const Output y = check_numerics(twice(x), "twice", {.name = "checked"});
    print_op(y, {"y", y, 7}, {.message = "y: ", .name = "out"});
    message = *to_graph_def(graph);
  }
  const auto types = [&](const char* node, const char* attr) {
    const auto& list = find(message, node)->attr().at(attr).list().type();
    return std::vector<int>(list.begin(), list.end());
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(types("IdentityN", "T"), ElementsAre(tensorflow::DT_FLOAT, tensorflow::DT_FLOAT));
  EXPECT_THAT(types("out", "U"), ElementsAre(tensorflow::DT_FLOAT, tensorflow::DT_INT32));
  EXPECT_EQ(find(message, "out")->attr().at("T").type(), tensorflow::DT_FLOAT);
  EXPECT_THAT(types("positive/Assert", "T"), ElementsAre(tensorflow::DT_BOOL));
  EXPECT_EQ(find(message, "positive/Assert")->input_size(), 2);
  Graph copy;
  const GraphScope scope(copy);
  const Output x = placeholder(DType::f32, {2}, "x");
  const ImportedGraph imported =
      import_graph_def(message, {.inputs = {{"x:0", x}}, .outputs = {"out:0"}});
  Session session("", {.graph = &copy});
  EXPECT_EQ(session.run(imported.outputs[0], {{x, Tensor::of<float>({2}, {1, 2})}}).to_string(),
            Tensor::of<float>({2}, {2, 4}).to_string());
  EXPECT_THAT(error_of([&] {
                session.run(imported.outputs[0], {{x, Tensor::of<float>({2}, {1, NAN})}});
              }),
              ::testing::HasSubstr("twice: Tensor had NaN values"));
}

TEST(GraphDefTest, OpsOfOtherReleases) {
  tensorflow::GraphDef message;
  auto& values = add_node(message, "c", "Const", {});
  values.mutable_attr()->operator[]("dtype").set_type(tensorflow::DT_FLOAT);
  tensor_to_message(Tensor::of<float>({1, 1, 1, 2}, {4, 6}),
                    *(*values.mutable_attr())["value"].mutable_tensor());
  for (const char* name : {"scale", "offset", "mean", "variance"}) {
    auto& node = add_node(message, name, "Const", {});
    (*node.mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
    tensor_to_message(Tensor::of<float>({2}, {1, 4}),
                      *(*node.mutable_attr())["value"].mutable_tensor());
  }
  auto& norm =
      add_node(message, "n", "FusedBatchNormV3", {"c", "scale", "offset", "mean", "variance"});
  (*norm.mutable_attr())["is_training"].set_b(false);
  (*norm.mutable_attr())["epsilon"].set_f(0);
  add_node(message, "sum", "AddV2", {"n", "c"});
  Graph graph;
  const GraphScope scope(graph);
  const auto imported = import_graph_def(message, {.outputs = {"sum:0"}});
  Session session("", {.graph = &graph});
  // (4 - 1) / 1 * 1 + 1 + 4, (6 - 4) / 2 * 4 + 4 + 6
  EXPECT_EQ(session.run(imported.outputs[0]).to_string(), "f32[1,1,1,2] {{{{8, 14}}}}");
  Graph whole;
  const GraphScope whole_scope(whole);
  import_graph_def(message, {});
  Session of_whole("", {.graph = &whole});
  const auto outputs = of_whole.run({"n:0", "n:1", "n:2", "sum:0"});
  EXPECT_EQ(outputs[0].to_string(), "f32[1,1,1,2] {{{{4, 8}}}}");
  EXPECT_EQ(outputs[1].to_string(), "f32[2] {1, 4}");
  EXPECT_EQ(outputs[2].to_string(), "f32[2] {1, 4}");
  EXPECT_EQ(outputs[3].to_string(), "f32[1,1,1,2] {{{{8, 14}}}}");
}

TEST(GraphDefTest, WhatCannotBeImported) {
  const auto error_with = [](const tensorflow::GraphDef& message) {
    Graph graph;
    const GraphScope scope(graph);
    return error_of([&] { import_graph_def(message, {.outputs = {"y:0"}, .what = "g.pb"}); });
  };
  tensorflow::GraphDef message;
  EXPECT_THAT(error_with(message), ::testing::StartsWith("NOT_FOUND: g.pb: input of 'y:0'"));
  add_node(message, "y", "Frobnicate", {"a", "b"});
  add_node(message, "a", "StringSplit", {});  // TensorFlow's has other results
  add_node(message, "b", "StringSplit", {});
  EXPECT_EQ(error_with(message),
            "UNIMPLEMENTED: g.pb: ops, got Frobnicate (1 node), StringSplit (2 nodes), "
            "expected ones that this version has");
  message.Clear();
  add_node(message, "y", "", {});
  EXPECT_THAT(error_with(message),
              ::testing::StartsWith("UNIMPLEMENTED: g.pb: ops, got  (1 node)"));
  message.Clear();
  add_node(message, "y", "Neg", {"x"});
  add_node(message, "x", "Neg", {"y"});
  EXPECT_EQ(error_with(message),
            "INVALID_ARGUMENT: g.pb: node 'y', got one that needs its own result, expected no "
            "cycle");
  message.Clear();
  add_node(message, "y", "Neg", {"x"});
  add_node(message, "x", "Placeholder", {});
  EXPECT_EQ(error_with(message),
            "INVALID_ARGUMENT: g.pb: node 'x': placeholder, got no value, expected it among the "
            "inputs");
  message.Clear();
  add_node(message, "y", "Conv2D", {"x", "x"});
  auto& constant_node = add_node(message, "x", "Const", {});
  tensor_to_message(Tensor::zeros(DType::f32, {1, 1, 1, 1}),
                    *(*constant_node.mutable_attr())["value"].mutable_tensor());
  EXPECT_THAT(error_with(message), ::testing::StartsWith("INVALID_ARGUMENT: g.pb: node 'y': "));
}

// Also in a graph that is imported as it stands.
TEST(GraphDefTest, NodesWithTooFewInputsAreRefused) {
  for (const char* op :
       {"ReadVariableOp", "AssignVariableOp", "Add", "StatelessWhile", "ParseExample"}) {
    tensorflow::GraphDef message;
    add_node(message, "y", op, {});
    Graph graph;
    const GraphScope scope(graph);
    EXPECT_THAT(error_of([&] { import_graph_def(message, {.what = "g.pb"}); }),
                ::testing::HasSubstr("g.pb: node 'y'"))
        << op;
  }
}

// The handle of a variable has no elements and no shape.
TEST(GraphDefTest, HandlesWhereValuesBelongAreRefused) {
  for (const char* op : {"Shape", "Size", "Rank", "Neg", "ZerosLike"}) {
    for (const bool whole : {false, true}) {
      tensorflow::GraphDef message;
      auto& variable = add_node(message, "v", "VarHandleOp", {});
      (*variable.mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
      (*variable.mutable_attr())["shape"].mutable_shape()->add_dim()->set_size(2);
      add_node(message, "y", op, {"v"});
      ImportOptions options{.what = "g.pb"};
      if (!whole) options.outputs = {"y:0"};
      Graph graph;
      const GraphScope scope(graph);
      EXPECT_THAT(error_of([&] { import_graph_def(message, options); }),
                  ::testing::AllOf(::testing::HasSubstr("node 'y'"),
                                   ::testing::HasSubstr("expected a value: read the variable")))
          << op;
    }
  }
}

void set_float_placeholder(tensorflow::NodeDef& node, std::optional<Shape> shape) {
  (*node.mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  if (shape) shape_to_message(*shape, *(*node.mutable_attr())["shape"].mutable_shape());
}

// The users of a placeholder tell how many dimensions it has, also behind other ops.
TEST(GraphDefTest, PlaceholdersWithoutAShape) {
  tensorflow::GraphDef message;
  set_float_placeholder(add_node(message, "x", "Placeholder", {}), std::nullopt);
  auto& constant_node = add_node(message, "w", "Const", {});
  tensor_to_message(Tensor::of<float>({2, 1}, {1, 2}),
                    *(*constant_node.mutable_attr())["value"].mutable_tensor());
  add_node(message, "relu", "Relu", {"x"});
  add_node(message, "y", "MatMul", {"relu", "w"});
  {
    Graph graph;
    const GraphScope scope(graph);
    import_graph_def(message, {});
    EXPECT_EQ(graph.tensor("x").shape(), Shape({kUnknown, kUnknown}));
    Session session("", {.graph = &graph});
    EXPECT_EQ(
        session.run("y:0", {{graph.tensor("x"), Tensor::of<float>({1, 2}, {3, 4})}}).to_string(),
        "f32[1,1] {{11}}");
  }
  // The same of one that an old producer wrote as a scalar.
  set_float_placeholder(*message.mutable_node(0), Shape({}));
  message.mutable_versions()->set_producer(21);
  {
    Graph graph;
    const GraphScope scope(graph);
    import_graph_def(message, {});
    EXPECT_EQ(graph.tensor("x").shape().rank(), 2);
  }
  message.Clear();
  set_float_placeholder(add_node(message, "x", "Placeholder", {}), std::nullopt);
  add_node(message, "y", "Neg", {"x"});
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_THAT(error_of([&] { import_graph_def(message, {.what = "g.pb"}); }),
              ::testing::HasSubstr("g.pb: node 'x': shape, got none"));
  const Output x = placeholder(DType::f32, {3}, "mine");
  import_graph_def(message, {.inputs = {{"x:0", x}}});  // which stands for it in a whole graph, too
  EXPECT_EQ(graph.find_node("x"), nullptr);
  EXPECT_EQ(graph.tensor("y").shape(), Shape({3}));
}

TEST(GraphDefTest, AnInputIsWhatThePlaceholderDeclares) {
  tensorflow::GraphDef message;
  set_float_placeholder(add_node(message, "x", "Placeholder", {}), Shape({}));
  add_node(message, "y", "Neg", {"x"});
  Graph graph;
  const GraphScope scope(graph);
  const auto error_with = [&](DType dtype, const Shape& shape) {
    const Output x = placeholder(dtype, shape);
    return error_of([&] {
      import_graph_def(message, {.inputs = {{"x:0", x}}, .outputs = {"y:0"}, .what = "g.pb"});
    });
  };
  EXPECT_EQ(error_with(DType::f32, {0}),
            "INVALID_ARGUMENT: g.pb: node 'x': input that stands for a placeholder, got f32[0], "
            "expected f32[]");
  EXPECT_THAT(error_with(DType::s32, {}), ::testing::HasSubstr("got s32[], expected f32[]"));
  EXPECT_EQ(error_with(DType::f32, {}), "no error");
}

TEST(GraphDefTest, SqueezeWithoutAxesTakesAllOfSizeOne) {
  for (const bool given : {false, true}) {
    tensorflow::GraphDef message;
    auto& node = add_node(message, "y", "Squeeze", {"x"});
    if (given) (*node.mutable_attr())["squeeze_dims"].mutable_list()->add_i(-1);
    auto& constant_node = add_node(message, "x", "Const", {});
    tensor_to_message(Tensor::zeros(DType::f32, {1, 2, 1}),
                      *(*constant_node.mutable_attr())["value"].mutable_tensor());
    Graph graph;
    const GraphScope scope(graph);
    const auto imported = import_graph_def(message, {.outputs = {"y:0"}, .what = "g.pb"});
    EXPECT_EQ(imported.outputs[0].shape(), given ? Shape({1, 2}) : Shape({2}));
  }
}

// One of unknown rank declares nothing.
TEST(GraphDefTest, DeclaredShapes) {
  for (const bool known : {false, true}) {
    tensorflow::GraphDef message;
    auto& node = add_node(message, "y", "EnsureShape", {"x"});
    auto& shape = *(*node.mutable_attr())["shape"].mutable_shape();
    shape.set_unknown_rank(!known);
    if (known) shape.add_dim()->set_size(3);
    auto& constant_node = add_node(message, "x", "Const", {});
    tensor_to_message(Tensor::zeros(DType::f32, {2}),
                      *(*constant_node.mutable_attr())["value"].mutable_tensor());
    Graph graph;
    const GraphScope scope(graph);
    const std::string error = error_of([&] {
      const auto imported = import_graph_def(message, {.outputs = {"y:0"}, .what = "g.pb"});
      EXPECT_EQ(imported.outputs[0].shape(), Shape({2}));
    });
    EXPECT_THAT(error, ::testing::HasSubstr(known ? "shape, got [2], expected [3]" : "no error"));
  }
}

int count_of(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(GraphDefTest, ErrorsNameTheirNodeOnce) {
  Graph graph;
  const GraphScope scope(graph);
  std::vector<std::string> errors;
  // An attribute that is missing.
  errors.push_back(error_of([&] { graph.add_node("Squeeze", {constant(1.0F)}, {}, {}, "mine"); }));
  Session session("", {.graph = &graph});
  // A string op that runs as a program of its own.
  const Output words = placeholder(DType::string, {kUnknown}, "words");
  const Output shape = placeholder(DType::s32, {2}, "shape");
  const Output reshaped = reshape(words, shape, {.name = "mine"});
  errors.push_back(error_of([&] {
    session.run(reshaped, {{words, Tensor::of<std::string>({3}, {"a", "b", "c"})},
                           {shape, Tensor::of<int32_t>({2}, {2, 2})}});
  }));
  // A node of a file.
  tensorflow::GraphDef message;
  auto& values = add_node(message, "c", "Const", {});
  (*values.mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  tensor_to_message(Tensor::of<float>({2}, {1, 2}),
                    *(*values.mutable_attr())["value"].mutable_tensor());
  add_node(message, "mine", "MatMul", {"c", "c"});
  Graph copy;
  const GraphScope copy_scope(copy);
  errors.push_back(error_of([&] { import_graph_def(message, {.outputs = {"mine:0"}}); }));
  for (const std::string& error : errors) {
    EXPECT_EQ(count_of(error, "node '"), 1) << error;
    EXPECT_EQ(count_of(error, "mine"), 1) << error;
    EXPECT_LE(count_of(error, "Squeeze: ") + count_of(error, "Reshape: "), 1) << error;
  }
}

TEST(GraphDefTest, AttributesOfAnotherKindAreNamed) {
  tensorflow::GraphDef message;
  auto& values = add_node(message, "c", "Const", {});
  (*values.mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  tensor_to_message(Tensor::of<float>({2, 2}, {1, 2, 3, 4}),
                    *(*values.mutable_attr())["value"].mutable_tensor());
  auto& product = add_node(message, "product", "MatMul", {"c", "c"});
  (*product.mutable_attr())["transpose_a"].set_i(1);
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_EQ(
      error_of([&] { import_graph_def(message, {.outputs = {"product:0"}}); }),
      "INVALID_ARGUMENT: GraphDef: node 'product': attribute 'transpose_a', got another kind, "
      "expected bool");
}

// Without protobuf's headers: bytes and files.
TEST(GraphDefTest, AFileHoldsAWholeGraph) {
  const systole::testing::TempFolder folder;
  for (const char* name : {"graph.pb", "graph.pbtxt"}) {
    const std::string path = folder / name;
    {
      Graph graph;
      const GraphScope scope(graph);
      const Output x = placeholder(DType::f32, {kUnknown}, "x");
      const Variable w(2.0F, {.name = "w"});
      multiply(x, w, {.name = "y"});
      write_graph_def(graph, path);
    }
    Graph graph;
    const GraphScope scope(graph);
    const ImportedGraph imported = import_graph_def_file(path);
    ASSERT_TRUE(imported.variables.contains("w"));
    EXPECT_EQ(global_variables().size(), 1U);
    Session session("", {.graph = &graph});
    session.run({global_variables_initializer()});
    EXPECT_EQ(session.run(graph.tensor("y"), {{graph.tensor("x"), Tensor::of<float>({2}, {1, 3})}})
                  .to_string(),
              "f32[2] {2, 6}");
  }
}

// Frozen graphs that TensorFlow wrote.
TEST(GoldenGraphDefTest, FrozenGraphsRun) {
  if (!local_file_system().exists("../shared/golden/graphdef")) {
    GTEST_SKIP() << "no folder ../shared/golden beside the checkout";
  }
  struct Case {
    const char* path;
    std::map<std::string, Tensor> feeds;
    const char* output;
    const char* expected;
  };
  const Case cases[] = {
      {"rust/addition/model.pb",
       {{"x", Tensor(int32_t{3})}, {"y", Tensor(int32_t{20})}},
       "z:0",
       "s32[] 23"},
      {"rust/multiplication.pb", {{"a", Tensor(3.0F)}, {"b", Tensor(0.5F)}}, "c:0", "f32[] 1.5"},
      // 24 and 529 nodes: what they compute nobody has written down, but a type and finite numbers.
      {"onnx_fc-layers/frozen.pb", {{"X", Tensor::zeros(DType::f32, {2, 784})}}, "output:0", ""},
      {"onnx_lstm/frozen.pb",
       {{"X", Tensor::zeros(DType::f32, {2, 784})}, {"keep_prob", Tensor(1.0F)}},
       "output:0",
       ""},
  };
  for (const Case& row : cases) {
    const auto message =
        read_graph_def(local_file_system(), std::string("../shared/golden/graphdef/") + row.path);
    Graph graph;
    const GraphScope scope(graph);
    ImportOptions options{.outputs = {row.output}, .what = row.path};
    std::vector<FeedItem> feeds;
    for (const auto& [name, value] : row.feeds) {
      const Output fed = placeholder(value.dtype(), value.shape(), name);
      options.inputs[name + ":0"] = fed;
      feeds.emplace_back(fed, value);
    }
    const auto imported = import_graph_def(*message, options);
    Session session("", {.graph = &graph});
    const Tensor got = session.run(imported.outputs[0], feeds);
    if (std::string_view(row.expected).empty()) {
      EXPECT_EQ(got.shape(), Shape({2, 10})) << row.path;
      for (int64_t i = 0; i < got.num_elements(); ++i) EXPECT_TRUE(std::isfinite(got.as_double(i)));
    } else {
      EXPECT_EQ(got.to_string(), row.expected);
    }
  }
}

}  // namespace
}  // namespace systole
