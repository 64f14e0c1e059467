#include "systole/train/saved_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/io_ops.h"
#include "systole/graph/api/lookup_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/functions/functional_ops.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/records/example.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/io/testing/golden.h"
#include "systole/io/wire/message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/session.h"
#include "systole/stablehlo/text/text.h"
#include "systole/train/rnn.h"
#include "systole/train/saved_model_builder.h"

namespace systole {
namespace {

using systole::testing::error_of;

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() : scope_(*graph_) {
    const Output x = placeholder(DType::f32, {kUnknown, 2}, "x");
    const Variable w(Tensor::of<float>({2, 1}, {1, 2}), {.name = "w"});
    const Output y = add(matmul(x, w), 0.5F, {.name = "y"});
    const Output loss = reduce_mean(square(y));  // of training: not exported
    static_cast<void>(loss);
    options_.signatures["serving_default"] = {.inputs = {{"x", x}}, .outputs = {{"y", y}}};
    options_.file_system = &fs_;
    session_ = std::make_unique<Session>("", SessionConfig{.graph = graph_.get()});
    session_->run({global_variables_initializer()});
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_;
  MemoryFileSystem fs_;
  ExportOptions options_;
  std::unique_ptr<Session> session_;
};

TEST_F(ExportTest, IsServed) {
  options_.assets["vocab.txt"] = "words";
  write_file_atomically(fs_, "words", "a\nb\n");
  export_saved_model(*session_, "m/1", options_);
  EXPECT_EQ(read_file(fs_, "m/1/assets/vocab.txt"), "a\nb\n");
  EXPECT_THAT(BundleReader(fs_, "m/1/variables/variables").keys(), ::testing::ElementsAre("w"));
  SavedModel model("m/1", {.file_system = &fs_});
  const auto outputs = model.predict({{"x", Tensor::of<float>({3, 2}, {1, 0, 0, 1, 1, 1})}});
  EXPECT_EQ(outputs.at("y").to_string(), "f32[3,1] {{1.5}, {2.5}, {3.5}}");
  EXPECT_EQ(model.predict({{"x", Tensor::of<float>({1, 2}, {0, 0})}}).at("y").to_string(),
            "f32[1,1] {{0.5}}");
}

TEST_F(ExportTest, HoldsWhatTensorFlowLooksFor) {
  export_saved_model(*session_, "m", options_);
  const SavedModelFile file(fs_, "m");
  const MetaGraphInfo& info = file.meta_graphs()[0];
  EXPECT_THAT(info.tags, ::testing::ElementsAre("serve"));
  EXPECT_THAT(info.collections, ::testing::ElementsAre("trainable_variables", "variables"));
  EXPECT_EQ(info.saver->restore_op, "save/restore_all");
  EXPECT_FALSE(info.graph.ops.contains("Mean"));
  EXPECT_EQ(info.signatures.at("serving_default").inputs.at("x").shape, Shape({kUnknown, 2}));
  std::map<std::string, const tensorflow::NodeDef*> nodes;
  for (const auto& node : file.message(0).graph_def().node()) nodes[node.name()] = &node;
  EXPECT_EQ(nodes.at("save/AssignVariableOp")->input(0), "w");
  EXPECT_EQ(nodes.at("save/AssignVariableOp")->input(1), "save/Identity");
  EXPECT_EQ(nodes.at("save/restore_all")->input(0), "^save/AssignVariableOp");
  tensorflow::VariableDef variable;
  variable.ParseFromString(file.message(0).collection_def().at("variables").bytes_list().value(0));
  for (const std::string& name :
       {variable.variable_name(), variable.snapshot_name(), variable.initial_value_name()}) {
    EXPECT_TRUE(nodes.contains(name.substr(0, name.find(':')))) << name;
  }
  EXPECT_TRUE(nodes.contains(variable.initializer_name()));
  // Every input is a node of the graph.
  for (const auto& [name, node] : nodes) {
    for (std::string input : node->input()) {
      if (input[0] == '^') input.erase(0, 1);
      EXPECT_TRUE(nodes.contains(input.substr(0, input.find(':')))) << name << " " << input;
    }
  }
}

TEST_F(ExportTest, ModelMlirIsTheProgram) {
  export_saved_model(*session_, "m", options_);
  const std::string text = read_file(fs_, "m/model.mlir");
  EXPECT_THAT(text, ::testing::HasSubstr("// variable w\n// input x: f32[1,2]\n// output y\n"));
  EXPECT_NE(hlo::parse(text), nullptr);
}

TEST_F(ExportTest, ParsesRecords) {
  const Output records = placeholder(DType::string, {kUnknown}, "records");
  const auto features = parse_example(records, {{"x", FixedLenFeature{.shape = {2}}}});
  const Output sum = reduce_sum(features["x"], {.axis = {1}});
  options_.signatures.clear();
  options_.signatures["sum"] = {.inputs = {{"examples", records}}, .outputs = {{"sum", sum}}};
  export_saved_model(*session_, "m", options_);
  EXPECT_FALSE(fs_.exists("m/model.mlir"));
  SavedModel model("m", {.file_system = &fs_});
  ExampleBuilder example;
  example.float32("x", {3.0F, 4.0F});
  const Tensor two = Tensor::of<std::string>({2}, {example.serialize(), example.serialize()});
  EXPECT_EQ(model.predict({{"examples", two}}).at("sum").to_string(), "f32[2] {7, 7}");
}

// The tables stand in the graph as TensorFlow has them, and the vocabulary among the assets.
TEST_F(ExportTest, TablesAreServed) {
  const systole::testing::TempFolder folder;
  const std::string file = folder / "vocab.txt";
  write_file_atomically(local_file_system(), file, "emerson\nlake\npalmer\n");
  const Output words = placeholder(DType::string, {kUnknown}, "words");
  const LookupTable table = index_table_from_file(file, {.num_oov_buckets = 2});
  const Output ids = table.lookup(words);
  const Output plain = index_table_from_file(file, {.default_value = -7}).lookup(words);
  const Output names =
      index_to_string_table_from_tensor(Tensor::of<std::string>({2}, {"a", "b"})).lookup(ids);
  options_.signatures.clear();
  options_.signatures["serving_default"] = {
      .inputs = {{"words", words}}, .outputs = {{"ids", ids}, {"plain", plain}, {"names", names}}};
  options_.file_system = nullptr;
  export_saved_model(*session_, folder / "m", options_);
  const Tensor fed = Tensor::of<std::string>({4}, {"palmer", "emerson", "bass", "lake"});
  const std::vector<Tensor> expected = session_->run({ids, plain, names}, {{words, fed}});
  local_file_system().remove(file);  // the model has its own

  SavedModel model(folder / "m");
  const NamedTensors served = model.predict({{"words", fed}});
  EXPECT_EQ(served.at("ids").to_string(), expected[0].to_string());
  EXPECT_EQ(served.at("plain").to_string(), "s64[4] {2, 0, -7, 1}");
  EXPECT_EQ(served.at("names").to_string(), expected[2].to_string());
}

// TensorFlow 1 names the assets in the collection "saved_model_assets" alone.
TEST_F(ExportTest, VocabulariesOfTensorFlow1AreReadFromTheAssets) {
  const systole::testing::TempFolder folder;
  const std::string file = folder / "vocab.txt";
  write_file_atomically(local_file_system(), file, "emerson\nlake\npalmer\n");
  const Output words = placeholder(DType::string, {kUnknown}, "words");
  const Output ids = index_table_from_file(file).lookup(words);
  options_.signatures.clear();
  options_.signatures["serving_default"] = {.inputs = {{"words", words}},
                                            .outputs = {{"ids", ids}}};
  options_.file_system = nullptr;
  export_saved_model(*session_, folder / "m", options_);
  local_file_system().remove(file);
  tensorflow::SavedModel message;
  message.set_saved_model_schema_version(1);
  *message.add_meta_graphs() = SavedModelFile(local_file_system(), folder / "m").message(0);
  tensorflow::MetaGraphDef& meta = *message.mutable_meta_graphs(0);
  ASSERT_EQ(meta.asset_file_def_size(), 1);
  auto& item =
      *(*meta.mutable_collection_def())["saved_model_assets"].mutable_any_list()->add_value();
  item.set_type_url("type.googleapis.com/tensorflow.AssetFileDef");
  item.set_value(serialize_message(meta.asset_file_def(0)));
  meta.clear_asset_file_def();
  write_file_atomically(local_file_system(), folder / "m/saved_model.pb",
                        serialize_message(message));
  SavedModel model(folder / "m");
  const NamedTensors served =
      model.predict({{"words", Tensor::of<std::string>({2}, {"palmer", "bass"})}});
  EXPECT_EQ(served.at("ids").to_string(), "s64[2] {2, -1}");
  EXPECT_THAT(SavedModelFile(local_file_system(), folder / "m").meta_graphs()[0].assets,
              ::testing::ElementsAre("vocab.txt"));
}

// A model that reads a file by its name, as a stranger may have made it.
TEST_F(ExportTest, AModelOpensItsAssetsOnly) {
  const systole::testing::TempFolder folder;
  write_file_atomically(local_file_system(), folder / "secret", "words");
  const Output name = placeholder(DType::string, {}, "name");
  options_.signatures.clear();
  options_.signatures["serving_default"] = {.inputs = {{"name", name}},
                                            .outputs = {{"contents", read_file(name)}}};
  options_.file_system = nullptr;
  export_saved_model(*session_, folder / "m", options_);
  const NamedTensors secret{{"name", Tensor((folder / "secret").c_str())}};
  SavedModel model(folder / "m");
  EXPECT_THAT(error_of([&] { model.predict(secret); }),
              ::testing::AllOf(::testing::HasSubstr("PERMISSION_DENIED: ReadFile"),
                               ::testing::HasSubstr(folder / "secret"),
                               ::testing::HasSubstr(folder / "m/assets"),
                               ::testing::HasSubstr("allow_files")));
  local_file_system().make_directories(folder / "m/assets");
  write_file_atomically(local_file_system(), folder / "m/assets/own", "mine");
  const NamedTensors own{{"name", Tensor((folder / "m/assets/own").c_str())}};
  EXPECT_EQ(model.predict(own).at("contents").item<std::string>(), "mine");
  SavedModel trusted(folder / "m", {.allow_files = true});
  EXPECT_EQ(trusted.predict(secret).at("contents").item<std::string>(), "words");
}

TEST_F(ExportTest, TablesAreWhatTensorFlowLooksFor) {
  const systole::testing::TempFolder folder;
  const std::string file = folder / "vocab.txt";
  write_file_atomically(local_file_system(), file, "a\nb\n");
  const Output words = placeholder(DType::string, {kUnknown}, "words");
  const Output ids = index_table_from_file(file, {.vocab_size = 2}).lookup(words);
  options_.signatures.clear();
  options_.signatures["serving_default"] = {.inputs = {{"words", words}},
                                            .outputs = {{"ids", ids}}};
  options_.file_system = nullptr;
  export_saved_model(*session_, folder / "m", options_);
  EXPECT_EQ(read_file(local_file_system(), folder / "m/assets/vocab.txt"), "a\nb\n");
  const SavedModelFile saved(local_file_system(), folder / "m");
  const tensorflow::MetaGraphDef& meta = saved.message(0);
  std::map<std::string, const tensorflow::NodeDef*> nodes;
  for (const auto& node : meta.graph_def().node()) nodes[node.name()] = &node;
  const auto& find = *nodes.at(ids.node()->name());
  ASSERT_EQ(find.input_size(), 3);
  EXPECT_EQ(nodes.at(find.input(0))->op(), "HashTableV2");
  const std::string main_op = meta.collection_def().at("saved_model_main_op").node_list().value(0);
  ASSERT_EQ(nodes.at(main_op)->input_size(), 1);
  const auto& initializer = *nodes.at(nodes.at(main_op)->input(0).substr(1));
  EXPECT_EQ(initializer.op(), "InitializeTableFromTextFileV2");
  EXPECT_EQ(initializer.input(0), find.input(0));
  EXPECT_EQ(initializer.attr().at("key_index").i(), -2);
  EXPECT_EQ(initializer.attr().at("value_index").i(), -1);
  EXPECT_EQ(initializer.attr().at("vocab_size").i(), 2);
  ASSERT_EQ(meta.asset_file_def_size(), 1);
  EXPECT_EQ(meta.asset_file_def(0).filename(), "vocab.txt");
  EXPECT_EQ(meta.asset_file_def(0).tensor_info().name(), initializer.input(1) + ":0");
}

// TensorFlow's While gives no states of past iterations.
TEST_F(ExportTest, LoopsThatKeepStatesAreRefused) {
  const Output x = placeholder(DType::f32, {kUnknown, 3, 2}, "sequence");
  const nn::rnn_cell::BasicRNNCell cell(2);
  const auto add = [](const Output& state, const Output& row) { return state + row; };
  const Output looped = nn::dynamic_rnn(cell, x).outputs;
  const Output scanned = scan(add, x, zeros({3, 2}));
  const Output unrolled = nn::static_rnn(cell, unstack(x, {.axis = 1})).outputs[2];
  session_->run({global_variables_initializer()});
  const auto export_of = [&](const Output& y) {
    options_.signatures["serving_default"] = {.inputs = {{"x", x}}, .outputs = {{"y", y}}};
    export_saved_model(*session_, "m", options_);
  };
  for (const Output& y : {looped, scanned}) {
    EXPECT_EQ(error_of([&] { export_of(y); }),
              "UNIMPLEMENTED: export_saved_model: ops, got While with kept states (scan, "
              "dynamic_rnn): static_rnn can be exported, _ReadHistory, expected ones that "
              "TensorFlow has");
  }
  // The last state alone is no output that TensorFlow lacks: its ops are in the body.
  const Scan last =
      scan([&](const auto& state,
               const auto& row) -> std::vector<Output> { return {state[0] + row[0]}; },
           {x}, {zeros({3, 2})});
  EXPECT_THAT(error_of([&] { export_of(last.last[0]); }), ::testing::HasSubstr("_ReadHistory"));
  export_of(unrolled);
  SavedModel model("m", {.file_system = &fs_});
  EXPECT_EQ(model.predict({{"x", Tensor::zeros(DType::f32, {1, 3, 2})}}).at("y").shape(),
            Shape({1, 2}));
}

TEST_F(ExportTest, WrongUse) {
  export_saved_model(*session_, "m", options_);
  EXPECT_EQ(error_of([&] { export_saved_model(*session_, "m", options_); }),
            "ALREADY_EXISTS: m: export, got a directory with a SavedModel, expected a new one");
  SavedModel model("m", {.file_system = &fs_});
  EXPECT_EQ(
      error_of([&] { model.predict({}); }),
      "INVALID_ARGUMENT: signature 'serving_default': input 'x', got none, expected a DT_FLOAT "
      "tensor");
  EXPECT_EQ(
      error_of([&] {
        model.predict({{"X", Tensor(1)}});
      }),
      "INVALID_ARGUMENT: signature 'serving_default': input, got 'X', expected one of: x, did "
      "you mean 'x'?");
  EXPECT_EQ(error_of([&] {
              model.predict({{"x", Tensor::zeros(DType::f32, {1, 3})}});
            }),
            "INVALID_ARGUMENT: signature 'serving_default': input 'x', got f32[1,3], expected "
            "DT_FLOAT[?,2]");
  EXPECT_THAT(error_of([&] { model.signature("serving"); }),
              ::testing::StartsWith("NOT_FOUND: m/saved_model.pb: signature, got 'serving'"));
  EXPECT_EQ(error_of([&] { export_saved_model(*session_, "n", {.file_system = &fs_}); }),
            "INVALID_ARGUMENT: export_saved_model: signatures, got none, expected one or more");
}

// A crash at any operation leaves no SavedModel or a whole one.
TEST_F(ExportTest, IsAllOrNothing) {
  for (int64_t operation = 0;; ++operation) {
    ASSERT_LT(operation, 200);
    MemoryFileSystem fs;
    options_.file_system = &fs;
    fs.inject({.at_operation = operation, .stays = true});
    const std::string error = error_of([&] { export_saved_model(*session_, "m", options_); });
    fs.clear_fault();
    if (fs.exists("m/saved_model.pb")) {
      SavedModel model("m", {.file_system = &fs});
      model.predict({{"x", Tensor::zeros(DType::f32, {1, 2})}});
    }
    if (error == "no error") return;
  }
}

TEST(ExportDirectoryTest, IsNew) {
  MemoryFileSystem fs;
  FakeClock clock;
  clock.advance(std::chrono::seconds(100));
  EXPECT_EQ(timestamped_export_directory(fs, "base", clock), "base/100");
  fs.make_directories("base/100");
  EXPECT_EQ(timestamped_export_directory(fs, "base", clock), "base/101");
}

// -- What TensorFlow wrote

class GoldenServingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!local_file_system().exists(kGolden)) {
      GTEST_SKIP() << "no folder ../shared/golden beside the checkout";
    }
  }
  static constexpr const char* kGolden = "../shared/golden/savedmodels/";
  static std::string path(const std::string& name) { return kGolden + name; }
};

TEST_F(GoldenServingTest, HalfPlusTwo) {
  for (const char* name : {"serving/saved_model_half_plus_two_cpu/00000123",
                           "serving/saved_model_half_plus_two_2_versions/00000123",
                           "serving/saved_model_half_plus_two_2_versions/00000124"}) {
    SavedModel model(path(name));
    const auto outputs = model.predict({{"x", Tensor::of<float>({3, 1}, {0, 1, 5})}});
    EXPECT_EQ(outputs.at("y").to_string(), "f32[3,1] {{2}, {2.5}, {4.5}}");
    // The same through another signature: half plus three.
    EXPECT_EQ(model.predict({{"inputs", Tensor::of<float>({1, 1}, {1})}}, "regress_x2_to_y3")
                  .at("outputs")
                  .to_string(),
              "f32[1,1] {{3.5}}");
  }
}

// Records of tf.Example, parsed by the graph itself.
TEST_F(GoldenServingTest, ParsesExamples) {
  SavedModel model(path("serving/saved_model_half_plus_two_cpu/00000123"));
  ExampleBuilder example;
  example.float32("x", {3.0F});
  const Tensor records = Tensor::of<std::string>({1}, {example.serialize()});
  EXPECT_EQ(model.predict({{"inputs", records}}, "regress_x_to_y").at("outputs").to_string(),
            "f32[1,1] {{3.5}}");
}

TEST_F(GoldenServingTest, MatrixHalfPlusTwo) {
  SavedModel model(path("serving/matrix_half_plus_two/1"));
  EXPECT_EQ(model.predict({{"x", Tensor::full(DType::f32, {1, 3, 3}, 4)}}).at("y").to_string(),
            "f32[1,3,3] {{{4, 4, 4}, {4, 4, 4}, {4, 4, 4}}}");
}

TEST_F(GoldenServingTest, UnknownOpsAreAllNamed) {
  SavedModel model(path("tfx_pusher/1584391735"));
  EXPECT_THAT(error_of([&] {
                model.predict({{"examples", Tensor::of<std::string>({1}, {""})}}, "predict");
              }),
              ::testing::AllOf(::testing::StartsWith("UNIMPLEMENTED: "),
                               ::testing::HasSubstr("SparseReshape ("),
                               ::testing::Not(::testing::HasSubstr("LookupTableFindV2"))));
}

TEST_F(GoldenServingTest, Regression) {
  SavedModel model(path("rust_regression"));
  const BundleReader bundle(local_file_system(), path("rust_regression/variables/variables"));
  const Tensor x = Tensor::of<float>({2}, {0, 1});
  const auto out = model.predict({{"x", x}, {"y", x}}).at("out");
  double sum = 0;
  for (const std::string& key : bundle.keys()) sum += bundle.read(key).as_double(0);
  EXPECT_NEAR(out.as_double(1), sum, 1e-6);  // w * 1 + b
}

// One regression three times: as a SavedModel, a frozen graph and a checkpoint with its meta graph.
TEST_F(GoldenServingTest, OneModelInEveryForm) {
  const std::string folder = "../shared/golden/onnx_regression/";
  const BundleReader checkpoint(local_file_system(), folder + "checkpoint/model");
  const double w = checkpoint.read("W").as_double(0);
  const double b = checkpoint.read("b").as_double(0);
  const Tensor x = Tensor::of<float>({3}, {0, 1, -2});
  SavedModel model(folder + "saved_model");
  const Tensor served = model.predict({{"X", x}}).at("pred");
  Graph graph;
  const GraphScope scope(graph);
  const Output fed = placeholder(DType::f32, {3}, "x");
  const auto frozen = read_graph_def(local_file_system(), folder + "graphdef/frozen.pb");
  const auto imported = import_graph_def(
      *frozen, {.inputs = {{"X:0", fed}}, .outputs = {"pred:0"}, .what = "frozen"});
  Session session("", {.graph = &graph});
  const Tensor run = session.run(imported.outputs[0], {{fed, x}});
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(served.as_double(i), w * x.as_double(i) + b, 1e-6);
    EXPECT_NEAR(run.as_double(i), w * x.as_double(i) + b, 1e-6);
  }
}

// SavedModels of TensorFlow, as a binary and as a text file: predictions are those of TensorFlow.
TEST(GoldenSavedModelRunTest, PredictsAsTensorFlow) {
  const testing::GoldenFolder& golden = testing::GoldenFolder::own();
  const auto tensor_of = [](const nlohmann::json& json) {
    return Tensor(Shape(std::span<const int64_t>(json.at("shape").get<std::vector<int64_t>>())),
                  json.at("values").get<std::vector<float>>());
  };
  const nlohmann::json& runs = golden.expected("saved_model_runs");
  EXPECT_EQ(runs.size(), 2U);
  for (const auto& [directory, run] : runs.items()) {
    SCOPED_TRACE(directory);
    NamedTensors inputs;
    for (const auto& [name, array] : run["inputs"].items()) inputs[name] = tensor_of(array);
    const NamedTensors outputs = SavedModel(golden.path(directory)).predict(inputs);
    ASSERT_EQ(outputs.size(), run["outputs"].size());
    for (const auto& [name, array] : run["outputs"].items()) {
      const Tensor expected = tensor_of(array);
      const Tensor& got = outputs.at(name);
      ASSERT_EQ(got.shape(), expected.shape());
      for (int64_t i = 0; i < got.num_elements(); ++i) {
        EXPECT_NEAR(got.as_double(i), expected.as_double(i), 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace systole
