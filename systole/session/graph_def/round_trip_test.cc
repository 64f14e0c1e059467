// Every op: a node of it is written into a GraphDef, read again, and the same.
#include <gmock/gmock.h>

#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/io_ops.h"
#include "systole/graph/api/lookup_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/api/py_func.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/api/tpu_ops.h"
#include "systole/graph/core/op_signature.h"
#include "systole/graph/lowering/plan.h"
#include "systole/graph/testing/all_cases.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/session/graph_def/graph_def.h"

namespace systole {
namespace {

using graph_testing::all_op_cases;
using graph_testing::all_session_cases;
using graph_testing::for_each_node;
using graph_testing::OpCase;
using graph_testing::SessionCase;
using systole::testing::error_of;

void expect_same_graph(const Graph& copy, const Graph& original);

// Attributes that the op does not have in TensorFlow stay behind: those of the program ('_'), and a
// T that the op's inputs do not name.
bool stays_behind(const Node& node, const std::string& name) {
  const bool declared = signature_of(node.op()).find(name) != nullptr;
  return !declared && (name.starts_with('_') || name == "T");
}

// Captures have other names.
std::string input_text(const Output& input) {
  if (input.node()->op_name() != "_Arg") return input.name();
  const auto arguments = input.graph().arguments();
  return fmt::format("argument {}", std::ranges::find(arguments, input) - arguments.begin());
}

struct AttrText {
  std::string operator()(const Tensor& value) const {
    return value.valid() ? value.to_string(1 << 20) : "none";
  }
  std::string operator()(const Shape& value) const { return value.to_string(); }
  std::string operator()(DType value) const { return std::string(to_string(value)); }
  std::string operator()(const FunctionRef&) const { return "function"; }
  std::string operator()(const std::string& value) const { return "'" + value + "'"; }
  std::string operator()(double value) const {
    return fmt::format("{}", static_cast<float>(value));
  }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text = "[";
    for (const T& value : values) text += (*this)(value) + " ";
    return text + "]";
  }
  template <class T>
  std::string operator()(const T& value) const {
    return fmt::format("{}", value);
  }
};

void expect_same_attrs(const Node& copy, const Node& original) {
  for (const auto& [name, value] : original.attrs()) {
    if (stays_behind(original, name)) continue;
    const auto it = copy.attrs().find(name);
    if (it == copy.attrs().end()) {
      ADD_FAILURE() << original.op_name() << ": attribute " << name << " is lost";
      continue;
    }
    EXPECT_EQ(std::visit(AttrText(), it->second), std::visit(AttrText(), value))
        << original.op_name() << ": attribute " << name;
    if (const auto* function = std::get_if<FunctionRef>(&value)) {
      expect_same_graph(*std::get<FunctionRef>(it->second), **function);
    }
  }
}

void expect_same_node(const Node& copy, const Node& original) {
  // The sum of rows along the first axis is written as TensorFlow's op.
  if (original.op_name() == "GatherGrad" && copy.op_name() == "UnsortedSegmentSum") return;
  EXPECT_EQ(copy.op_name(), original.op_name());
  ASSERT_EQ(copy.num_inputs(), original.num_inputs()) << original.op_name();
  for (int i = 0; i < copy.num_inputs(); ++i) {
    EXPECT_EQ(input_text(copy.input(i)), input_text(original.input(i))) << original.op_name();
  }
  EXPECT_TRUE(std::ranges::equal(copy.output_types(), original.output_types()))
      << original.op_name();
  std::set<std::string> controls;
  for (const Node* control : copy.control_inputs()) controls.insert(control->name());
  for (const Node* control : original.control_inputs()) {
    EXPECT_TRUE(controls.contains(control->name())) << original.name();
  }
  expect_same_attrs(copy, original);
}

std::vector<const Node*> nodes_of(const Graph& graph) {
  std::vector<const Node*> nodes;
  if (graph.outer() == nullptr) {
    for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  } else {  // a function's are those that its results need
    for (const Node* node : plan_function(graph).order) {
      if (node->op_name() != "_Arg") nodes.push_back(node);
    }
  }
  return nodes;
}

void expect_same_graph(const Graph& copy, const Graph& original) {
  for (const Node* node : nodes_of(original)) {
    const Node* other = copy.find_node(node->name());
    if (other != nullptr) {
      expect_same_node(*other, *node);
    } else {
      ADD_FAILURE() << node->name() << " (" << node->op_name() << ") is lost";
    }
  }
  EXPECT_EQ(copy.results().size(), original.results().size());
  EXPECT_EQ(copy.arguments().size(), original.arguments().size());
  EXPECT_EQ(copy.captures().size(), original.captures().size());
}

void expect_comes_back(const Graph& graph, std::set<std::string_view>& seen) {
  Graph copy;
  const GraphScope scope(copy);
  const std::string error = error_of([&] { import_graph_def(graph_def_bytes(graph)); });
  EXPECT_EQ(error, "no error");
  if (error != "no error") return;
  expect_same_graph(copy, graph);
  for_each_node(graph, [&](const Node& node) { seen.insert(node.op().name); });
}

Output op_text(const std::string& value) { return constant(Tensor(value.c_str())); }

void build_string_ops() {
  const Output x = placeholder(DType::string, {kUnknown}, "x");
  string_length(x);
  substr(x, 1, 2);
  string_join({x, x}, {.separator = "-"});
  string_split(x, {.delimiter = ","});
  string_strip(x);
  string_lower(x);
  string_upper(x);
  regex_replace(x, "a", "b");
  regex_full_match(x, "a+");
  as_string(placeholder(DType::f32, {2}), {.precision = 3});
  string_to_number(x, {.out_type = DType::s64});
  string_to_hash_bucket_fast(x, 7);
  decode_raw(x, DType::s16, {.little_endian = false});
  decode_csv(x, {Tensor(1.0F), Tensor("none")}, {.field_delim = ";", .select_cols = {0, 2}});
}

void build_parsers() {
  const FeatureSpecs dense{
      {"a", FixedLenFeature{.shape = {2}, .dtype = DType::f32}},
      {"b", FixedLenSequenceFeature{.dtype = DType::s64, .allow_missing = true}}};
  const FeatureSpecs sparse{{"a", VarLenFeature{.dtype = DType::s64}},
                            {"b", FixedLenFeature{.dtype = DType::string}}};
  const Output records = placeholder(DType::string, {kUnknown}, "records");
  const Output record = placeholder(DType::string, {}, "record");
  parse_example(records, dense);
  parse_example(records, sparse);
  parse_single_example(record, dense);
  parse_single_example(record, sparse);
}

void build_tables() {
  const Output words = placeholder(DType::string, {kUnknown}, "words");
  const Output numbers = placeholder(DType::s64, {kUnknown}, "numbers");
  const LookupTable table = index_table_from_file("words.txt", {.vocab_size = 3, .name = "index"});
  table.lookup(words);
  table.lookup(words);
  table.size();
  index_to_string_table_from_tensor(Tensor::of<std::string>({2}, {"a", "b"})).lookup(numbers);
  tables_initializer();
  crossed_buckets({words, words}, 7);
}

void build_files_and_images() {
  const Output bytes = read_file(op_text("image"));
  write_file(op_text("copy"), bytes);
  matching_files(op_text("*"));
  image::decode_image(bytes, {.channels = 3});
  image::encode_png(image::decode_png(bytes, {.channels = 1}));
  image::encode_jpeg(image::decode_jpeg(bytes), {.quality = 80});
  image::extract_jpeg_shape(bytes);
  image::decode_and_crop_jpeg(bytes, Tensor::of<int32_t>({4}, {0, 1, 2, 3}), {.channels = 3});
}

void build_summaries() {
  const Output value = constant(1.0F);
  Graph& graph = Graph::current();
  graph.add_node("ScalarSummary", {op_text("a"), value});
  graph.add_node("HistogramSummary", {op_text("b"), value});
  graph.add_node("ImageSummary", {op_text("c"), value});
  graph.add_node("TensorSummaryV2", {op_text("d"), op_text("e"), op_text("f")});
}

void build_tpu_ops() {
  const Output x = placeholder(DType::f32, {4, 2}, "x");
  Graph& graph = Graph::current();
  tpu::cross_replica_sum(x);
  tpu::all_gather(x);
  tpu::all_to_all(x, {.concat_dimension = 1, .split_dimension = 0, .split_count = 2});
  tpu::collective_permute(x, {{0, 1}, {1, 0}});
  tpu::replica_id();
  tpu::initialize_system();
  tpu::shutdown_system();
  graph.add_node("TPUReplicateMetadata", {}, {{"num_replicas", int64_t{2}}});
  graph.add_node("TPUReplicatedInput", {x, x}, {{"num_replicas", int64_t{2}}, {"T", DType::f32}});
  graph.add_node("TPUReplicatedOutput", {x}, {{"num_replicas", int64_t{2}}, {"T", DType::f32}});
}

TEST(RoundTrip, EveryOpThatAFileCanHold) {
  std::set<std::string_view> seen;
  for (const OpCase& row : all_op_cases()) {
    if (!row.error.empty()) continue;
    SCOPED_TRACE(row.name);
    expect_comes_back(*graph_of(row).graph, seen);
  }
  for (const SessionCase& row : all_session_cases()) {
    SCOPED_TRACE(row.name);
    expect_comes_back(*check_session(row), seen);
  }
  for (void (*build)() : {build_string_ops, build_parsers, build_tables, build_files_and_images,
                          build_summaries, build_tpu_ops}) {
    Graph graph;
    const GraphScope scope(graph);
    build();
    expect_comes_back(graph, seen);
  }
  seen.insert("HashTableV2");  // made by imports alone; those of tables make one
  std::vector<std::string_view> missing;
  for (const OpDef* op : all_op_defs()) {
    if (op->graph_def.impossible.empty() && !seen.contains(op->name)) missing.push_back(op->name);
  }
  EXPECT_THAT(missing, ::testing::IsEmpty()) << "build a node of these ops here";
}

TEST(RoundTrip, WhatAFileCannotHoldIsRefusedWithTheReason) {
  Graph graph;
  const GraphScope scope(graph);
  py_func([](std::span<const Tensor> x) { return x[0]; }, {constant(1.0F)},
          TensorType{DType::f32, {}}, {.name = "mine"});
  const std::string bytes = graph_def_bytes(graph);
  EXPECT_EQ(error_of([&] { import_graph_def(bytes); }),
            "UNIMPLEMENTED: GraphDef: node 'mine', got PyFunc, which no file can hold: it calls a "
            "function of the program");
}

// Whoever adds an op writes its registration.
TEST(RoundTrip, SignaturesFitTheInferenceOfTheirOps) {
  for (const OpDef* op : all_op_defs()) {
    const OpSignature& signature = signature_of(*op);
    std::set<std::string> names;
    for (const SignatureAttr& attr : signature.attrs) {
      EXPECT_TRUE(names.insert(attr.name).second) << op->name << ": " << attr.name;
    }
    if (op->gradient != nullptr || op->batch.rule != nullptr) {
      EXPECT_FALSE(signature.inputs.empty()) << op->name;
    }
  }
}

}  // namespace
}  // namespace systole
