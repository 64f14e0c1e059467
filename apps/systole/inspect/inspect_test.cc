#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/systole/inspect/describe.h"
#include "apps/systole/inspect/predict_input.h"
#include "apps/systole/inspect/print.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/npy.h"
#include "systole/session/session.h"
#include "systole/systole.h"
#include "systole/train/saved_model_builder.h"

namespace systole::app {
namespace {

using systole::testing::error_of;

class InspectTest : public ::testing::Test {
 protected:
  InspectTest() {
    fs_.make_directories("d");
    BundleWriter writer(fs_, "d/model.ckpt-7");
    writer.add("dense/kernel", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
    writer.add("global_step", Tensor(int64_t{7}));
    writer.finish();
    write_checkpoint_state(fs_, "d", {.model_checkpoint_path = "d/model.ckpt-7"});
  }

  std::string inspect(const std::string& path) {
    return readable(describe(fs_, find_file(fs_, path)));
  }

  MemoryFileSystem fs_;
};

TEST_F(InspectTest, Checkpoints) {
  const std::string expected =
      "d/model.ckpt-7: checkpoint\n"
      "2 tensors, 5 elements, 24 B in 1 shard\n"
      "  dense/kernel  DT_FLOAT  [2,2]  16 B\n"
      "  global_step   DT_INT64  []     8 B\n";
  for (const char* path :
       {"d", "d/model.ckpt-7", "d/model.ckpt-7.index", "d/model.ckpt-7.data-00000-of-00001"}) {
    EXPECT_EQ(inspect(path), expected);
  }
  const FoundFile file = find_file(fs_, "d");
  EXPECT_EQ(to_json(read_tensor(fs_, file, "dense/kernel")).dump(),
            R"({"dtype":"f32","shape":[2,2],"values":[[1,2],[3,4]]})");
  EXPECT_THAT(error_of([&] { read_tensor(fs_, file, "dense/kernal"); }),
              ::testing::HasSubstr("did you mean 'dense/kernel'?"));
}

TEST_F(InspectTest, TheCheckpointStateAndFoldersOfEvents) {
  EXPECT_EQ(inspect("d/checkpoint"), "d/checkpoint: checkpoint state\nlatest: d/model.ckpt-7\n");
  for (const auto& [suffix, step] : {std::pair(".a", 1), std::pair(".b", 2)}) {
    EventWriter writer(fs_, "logs", suffix);
    writer.add_scalar("loss", step, 0.1 * step);
    writer.close();
  }
  EXPECT_EQ(inspect("logs"),
            "logs: event file\n4 events in 2 files: 2 file_version, 2 summary\n"
            "  loss  simple_value  2 values  steps 1 to 2  0.1 -> 0.2\n");
  write_file_atomically(fs_, "net.yaml", "model: 1");
  EXPECT_THAT(error_of([&] { inspect("net.yaml"); }),
              ::testing::HasSubstr("; systole check tells"));
}

TEST_F(InspectTest, WhatStandsBesideACheckpoint) {
  write_checkpoint_extras(fs_, "d/model.ckpt-7",
                          {{"input", std::string(2048, 'x')}, {"random", "abc"}});
  for (const char* path : {"d", "d/model.ckpt-7.systole"}) {
    EXPECT_THAT(inspect(path), ::testing::EndsWith("state for resuming the training (.systole)\n"
                                                   "  input   2.0 KiB\n"
                                                   "  random  3 B\n"));
  }
}

TEST_F(InspectTest, AFolderOfExportsIsItsNewest) {
  for (const std::string name : {"99", "100", "temp-101", "102"}) {
    fs_.make_directories("exports/" + name);
    if (name != "102") write_file_atomically(fs_, "exports/" + name + "/saved_model.pb", "");
  }
  const FoundFile found = find_file(fs_, "exports");
  EXPECT_EQ(found.kind, FileKind::saved_model);
  EXPECT_EQ(found.path, "exports/100");
  fs_.make_directories("empty");
  EXPECT_THAT(error_of([&] { find_file(fs_, "empty"); }),
              ::testing::HasSubstr("empty: directory, got one without saved_model.pb, checkpoint, "
                                   "exports named by numbers or event files, expected"));
}

TEST_F(InspectTest, Events) {
  FakeClock clock;
  EventWriter writer(fs_, "logs", "", clock);
  writer.add_scalar("loss", 1, 2);
  writer.add_scalar("loss", 100, 0.5);
  writer.close();
  EXPECT_THAT(inspect(writer.path()),
              ::testing::EndsWith("3 events: 1 file_version, 2 summary\n"
                                  "  loss  simple_value  2 values  steps 1 to 100  2 -> 0.5\n"));
}

TEST_F(InspectTest, Records) {
  RecordWriter writer(fs_, "data");
  ExampleBuilder example;
  example.float32("x", {1.0F, 2.0F}).int64("label", {3});
  writer.write(example.serialize());
  writer.close();
  EXPECT_THAT(inspect("data"), ::testing::AllOf(::testing::StartsWith("data: TFRecord\n1 record,"),
                                                ::testing::HasSubstr("2 values  in 1 record\n")));
}

TEST_F(InspectTest, HloAndOthers) {
  write_file_atomically(fs_, "f.mlir",
                        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                        "  %0 = stablehlo.add %x, %x : tensor<2xf32>\n"
                        "  return %0 : tensor<2xf32>\n}\n");
  EXPECT_THAT(inspect("f.mlir"), ::testing::HasSubstr("main(f32[2])\n    1 add"));
  write_npy(fs_, "a.npy", Tensor(1.0F));
  EXPECT_EQ(inspect("a.npy"), "a.npy: npy\nf32[]\n");
  EXPECT_THAT(error_of([&] { inspect("none"); }), ::testing::StartsWith("NOT_FOUND: none: file"));
  write_file_atomically(fs_, "nothing", "");
  EXPECT_THAT(error_of([&] { inspect("nothing"); }),
              ::testing::HasSubstr("nothing: file, got an empty one"));
  write_file_atomically(fs_, "no.tfrecord", "");
  EXPECT_THAT(inspect("no.tfrecord"), ::testing::HasSubstr("0 records"));
  fs_.make_directories("empty");
  EXPECT_THAT(error_of([&] { inspect("empty"); }),
              ::testing::StartsWith("NOT_FOUND: empty: directory"));
  write_file_atomically(fs_, "text", "what is this?");
  EXPECT_THAT(error_of([&] { inspect("text"); }),
              ::testing::StartsWith("INVALID_ARGUMENT: text: kind of file"));
}

TEST_F(InspectTest, JsonOfValues) {
  EXPECT_EQ(values_json(Tensor::of<float>({3}, {0.1F, NAN, -INFINITY})).dump(),
            R"([0.1,"nan","-inf"])");
  EXPECT_EQ(values_json(Tensor::of<std::string>({1}, {"a"})).dump(), R"(["a"])");
  EXPECT_EQ(values_json(Tensor(int64_t{1} << 60)).dump(), "1152921504606846976");
  EXPECT_EQ(values_json(Tensor(true)).dump(), "true");
}

class PredictTest : public ::testing::Test {
 protected:
  PredictTest() {
    signature_.inputs["x"] = {.name = "x:0", .dtype = DType::f32, .shape = Shape({kUnknown, 2})};
    two_ = signature_;
    two_.inputs["y"] = {.name = "y:0", .dtype = DType::s64, .shape = Shape({kUnknown})};
  }
  std::string read(const SignatureInfo& signature, const std::vector<std::string>& specs) {
    std::string text;
    for (const auto& [name, tensor] : read_predict_inputs(fs_, signature, specs)) {
      text += name + "=" + tensor.to_string() + " ";
    }
    return text;
  }
  MemoryFileSystem fs_;
  SignatureInfo signature_;
  SignatureInfo two_;
};

TEST_F(PredictTest, Inputs) {
  write_npy(fs_, "x.npy", Tensor::of<double>({1, 2}, {1, 2}));
  write_npy(fs_, "y.npy", Tensor::of<int32_t>({1}, {3}));
  EXPECT_EQ(read(signature_, {"x.npy"}), "x=f32[1,2] {{1, 2}} ");
  EXPECT_EQ(read(two_, {"x=x.npy", "y=y.npy"}), "x=f32[1,2] {{1, 2}} y=s64[1] {3} ");
  write_file_atomically(fs_, "m.csv", "a,b\n1,2\n3,4\n");
  EXPECT_EQ(read(signature_, {"m.csv"}), "x=f32[2,2] {{1, 2}, {3, 4}} ");
  EXPECT_EQ(error_of([&] { read(two_, {"m.csv"}); }),
            "NOT_FOUND: m.csv: columns, got 'a', 'b', expected one for input 'x'");
  write_file_atomically(fs_, "row.csv", "5.1,0.2\n");
  EXPECT_EQ(error_of([&] { read(signature_, {"row.csv"}); }),
            "INVALID_ARGUMENT: row.csv: records, got none after the first line, which names the "
            "columns");
  EXPECT_EQ(
      error_of([&] { read(two_, {"x.npy"}); }),
      "INVALID_ARGUMENT: --input: got 'x.npy' for a signature of 2 inputs, expected NAME=x.npy");
  RecordWriter writer(fs_, "r.tfrecord");
  ExampleBuilder example;
  example.float32("x", {5.0F, 6.0F}).int64("y", {7});
  writer.write(example.serialize());
  writer.close();
  EXPECT_EQ(read(two_, {"r.tfrecord"}), "x=f32[1,2] {{5, 6}} y=s64[1] {7} ");
}

}  // namespace
}  // namespace systole::app
