#include "systole/io/saved_models/saved_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/testing/golden.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"

namespace systole {
namespace {

std::string sample_model() {
  tensorflow::SavedModel model;
  model.set_saved_model_schema_version(1);
  auto* meta = model.add_meta_graphs();
  meta->mutable_meta_info_def()->add_tags("serve");
  auto* node = meta->mutable_graph_def()->add_node();
  node->set_name("x");
  node->set_op("Placeholder");
  auto& signature = (*meta->mutable_signature_def())["serving_default"];
  signature.set_method_name("tensorflow/serving/predict");
  auto& x = (*signature.mutable_inputs())["x"];
  x.set_name("x:0");
  x.set_dtype(tensorflow::DT_FLOAT);
  shape_to_message({kUnknown, 3}, *x.mutable_tensor_shape());
  return serialize_message(model);
}

std::string described(const std::string& bytes) {
  try {
    const SavedModelFile file("m.pb", bytes);
    std::string text;
    for (const MetaGraphInfo& graph : file.meta_graphs()) {
      for (const auto& [name, signature] : graph.signatures) {
        for (const auto& [key, tensor] : signature.inputs) {
          text += fmt::format("{} {} {} {}", name, key, tensor.dtype_name,
                              tensor.shape ? tensor.shape->to_string() : "?");
        }
      }
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(SavedModelFileTest, Reads) {
  EXPECT_EQ(described(sample_model()), "serving_default x DT_FLOAT [?,3]");
  EXPECT_EQ(described(""), "DATA_LOSS: m.pb: SavedModel, got no graph, expected at least one");
  EXPECT_EQ(described("what is this"),
            "DATA_LOSS: m.pb: message, got 12 bytes that do not parse, expected a "
            "tensorflow.SavedModel");
  MemoryFileSystem fs;
  try {
    const SavedModelFile file(fs, "d");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "d: SavedModel, got a directory without saved_model.pb, expected one");
  }
}

TEST(SavedModelFileTest, TruncationAndFlips) {
  const std::string bytes = sample_model();
  for (size_t size = 0; size < bytes.size(); ++size) described(bytes.substr(0, size));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    described(flipped);  // the format has no checksum: another model, or an error
  }
}

TEST(TensorMessageTest, EveryDTypeComesBack) {
  for (int i = 1; i <= static_cast<int>(DType::c128); ++i) {
    const auto dtype = static_cast<DType>(i);
    // TensorFlow has no others below a byte or of 8 bits.
    if (dtype == DType::s2 || dtype == DType::u2) continue;
    if (is_small_float(dtype) && dtype != DType::f8e5m2 && dtype != DType::f8e4m3fn) continue;
    for (const Tensor& values :
         {Tensor::of<float>({2, 2}, {0, 1, 2, 3}), Tensor::of<float>({3}, {1, 1, 1}), Tensor(1.0F),
          Tensor::zeros(DType::f32, {0, 2})}) {
      const Tensor tensor = values.cast(dtype);
      tensorflow::TensorProto message;
      tensor_to_message(tensor, message);
      EXPECT_TRUE(tensor_from_message("t", message).identical(tensor)) << to_string(dtype);
    }
  }
  tensorflow::TensorProto message;
  tensor_to_message(Tensor::of<std::string>({2}, {"a", ""}), message);
  EXPECT_EQ(tensor_from_message("t", message).to_string(), "string[2] {\"a\", \"\"}");
}

TEST(TensorMessageTest, TypedFieldsRepeatTheLast) {
  tensorflow::TensorProto message;
  shape_to_message({4}, *message.mutable_tensor_shape());
  message.set_dtype(tensorflow::DT_HALF);
  message.add_half_val(0x3c00);
  message.add_half_val(0x4000);
  EXPECT_EQ(tensor_from_message("t", message).to_string(), "f16[4] {1, 2, 2, 2}");
  message.set_dtype(tensorflow::DT_UINT8);
  message.add_int_val(7);
  EXPECT_EQ(tensor_from_message("t", message).to_string(), "u8[4] {7, 7, 7, 7}");
  message.set_dtype(tensorflow::DT_COMPLEX64);
  message.add_scomplex_val(1);
  message.add_scomplex_val(2);
  EXPECT_EQ(tensor_from_message("t", message).to_string(),
            "c64[4] {(1, 2), (1, 2), (1, 2), (1, 2)}");
}

TEST(TensorMessageTest, WhatDoesNotFit) {
  const auto error_of = [](const tensorflow::TensorProto& message) -> std::string {
    try {
      tensor_from_message("t", message);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  tensorflow::TensorProto message;
  message.set_dtype(tensorflow::DT_FLOAT);
  shape_to_message({2}, *message.mutable_tensor_shape());
  message.set_tensor_content("123");
  EXPECT_EQ(error_of(message),
            "DATA_LOSS: t: content of a tensor, got 3 bytes, expected 8 for f32[2]");
  message.clear_tensor_content();
  for (int i = 0; i < 3; ++i) message.add_float_val(1);
  EXPECT_EQ(error_of(message), "DATA_LOSS: t: elements of f32[2], got 3, expected 2");
  message.mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t{1} << 40);
  EXPECT_THAT(error_of(message), ::testing::StartsWith("DATA_LOSS: t: shape of a tensor, got ["));
  message.set_dtype(tensorflow::DT_VARIANT);
  EXPECT_EQ(error_of(message),
            "UNIMPLEMENTED: t: dtype, got DT_VARIANT, expected numbers or strings");
}

// -- What TensorFlow wrote

nlohmann::json to_json(const std::map<std::string, TensorInfo>& tensors) {
  nlohmann::json result = nlohmann::json::object();
  for (const auto& [key, tensor] : tensors) {
    nlohmann::json shape;
    if (tensor.shape) shape = std::vector<int64_t>(tensor.shape->begin(), tensor.shape->end());
    result[key] = {{"dtype", tensor.dtype_name}, {"name", tensor.name}, {"shape", shape}};
  }
  return result;
}

nlohmann::json to_json(const MetaGraphInfo& info) {
  nlohmann::json signatures = nlohmann::json::object();
  for (const auto& [name, signature] : info.signatures) {
    signatures[name] = {{"inputs", to_json(signature.inputs)},
                        {"outputs", to_json(signature.outputs)},
                        {"method", signature.method_name}};
  }
  const SaverInfo saver = info.saver.value_or(SaverInfo{});
  return {{"collections", info.collections},
          {"functions", info.graph.functions},
          {"nodes", info.graph.nodes},
          {"object_graph_nodes", info.object_graph_nodes},
          {"ops", info.graph.ops},
          {"saver",
           {{"filename", saver.filename_tensor},
            {"restore", saver.restore_op},
            {"save", saver.save_tensor},
            {"sharded", saver.sharded},
            {"version", saver.version}}},
          {"signatures", signatures},
          {"tags", info.tags},
          {"tf_version", info.tensorflow_version}};
}

class GoldenSavedModelTest : public testing::GoldenTest {};

TEST_P(GoldenSavedModelTest, EverythingReadsAsExpected) {
  for (const auto& [name, expected] : golden().expected("saved_models").items()) {
    SCOPED_TRACE(name);
    const SavedModelFile file(local_file_system(), parent_path(golden().path(name)));
    EXPECT_EQ(file.schema_version(), expected["schema"]);
    nlohmann::json graphs = nlohmann::json::array();
    for (const MetaGraphInfo& info : file.meta_graphs()) graphs.push_back(to_json(info));
    EXPECT_EQ(nlohmann::json::diff(graphs, expected["meta_graphs"]), nlohmann::json::array());
  }
}

TEST_P(GoldenSavedModelTest, GraphsReadAsExpected) {
  for (const auto& [name, expected] : golden().expected("graphs").items()) {
    SCOPED_TRACE(name);
    const auto message = read_graph_def(local_file_system(), golden().path(name));
    const GraphInfo info = graph_info(*message);
    EXPECT_EQ(info.nodes, expected["nodes"]);
    if (expected.contains("metagraph")) continue;
    EXPECT_EQ(nlohmann::json(info.ops), expected["ops"]);
    EXPECT_EQ(info.inputs, expected["inputs"].get<std::vector<std::string>>());
    EXPECT_EQ(info.producer, expected["producer"]);
  }
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenSavedModelTest, testing::golden_folders(),
                         testing::golden_name);

}  // namespace
}  // namespace systole
