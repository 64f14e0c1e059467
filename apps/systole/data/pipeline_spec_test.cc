#include "apps/systole/data/pipeline_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "systole/io/example.h"
#include "systole/io/local_file_system.h"
#include "systole/io/tfrecord.h"

namespace systole::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Element> elements_of(const std::string& yaml) {
  std::vector<Element> elements;
  for (const Element& element : parse_pipeline(yaml).dataset) elements.push_back(element);
  return elements;
}

std::string error_of(const std::string& yaml) {
  try {
    elements_of(yaml);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PipelineSpecTest, Stages) {
  const auto elements = elements_of(
      "[range: 10, skip: 2, shard: {num_shards: 2, index: 1},"
      " take: 3, repeat: 2, batch: {batch_size: 4}]");
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_THAT(elements[0].leaf().data<int64_t>(), ElementsAre(3, 5, 7, 3));
  EXPECT_TRUE(parse_pipeline("[range: 10, batch: 2]").batched);
  EXPECT_FALSE(parse_pipeline("[range: 10, batch: 2, unbatch]").batched);
  EXPECT_EQ(elements_of("[range: 5, shuffle: {buffer_size: 5, seed: 1}, cache, prefetch]").size(),
            5U);
}

TEST(PipelineSpecTest, RecordsIntoFeatures) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / "pipeline_spec.tfrecord";
  RecordWriter writer(local_file_system(), path);
  for (int64_t i = 0; i < 4; ++i) {
    writer.write(
        ExampleBuilder().bytes("image_raw", std::string(3, '\2')).int64("label", i).serialize());
  }
  writer.close();
  const auto elements = elements_of(
      "- tfrecord: " + path +
      "\n"
      "- map:\n"
      "    num_parallel_calls: 2\n"
      "    ops:\n"
      "      - parse_single_example: {image_raw: string, label: {dtype: int64, shape: []}}\n"
      "      - decode_raw: {image_raw: uint8}\n"
      "      - reshape: {image_raw: [3]}\n"
      "      - cast: {image_raw: float32, label: int32}\n"
      "- scale: {image_raw: [0.5, -1]}\n"
      "- batch: 4\n");
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_THAT(elements[0]["label"].leaf().data<int32_t>(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(elements[0]["image_raw"].leaf().shape(), (Shape{4, 3}));
  EXPECT_EQ(elements[0]["image_raw"].leaf().data<float>()[0], 0);
  local_file_system().remove(path);
}

TEST(PipelineSpecTest, LinesIntoFeatures) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / "pipeline_spec.csv";
  write_file_atomically(local_file_system(), path, "a,b,kind,n\n1,2,x,0\n3,4,y,1\n5,6,z,2\n");
  const auto elements = elements_of(
      "- csv:\n"
      "    files: " +
      path +
      "\n"
      "    features: {ab: {dtype: float32, columns: [a, 1]}, n: int32, kind: string}\n"
      "- vocabulary: {kind: [x, y]}\n"
      "- one_hot: {n: 8}\n"
      "- batch: 3\n");
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_THAT(elements[0]["ab"].leaf().data<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(elements[0]["ab"].leaf().shape(), (Shape{3, 2}));
  EXPECT_THAT(elements[0]["kind"].leaf().data<int32_t>(), ElementsAre(0, 1, -1));
  EXPECT_EQ(elements[0]["n"].leaf().shape(), (Shape{3, 8}));
  const std::string csv = "[csv: {files: " + path + ", features: ";
  EXPECT_THAT(error_of(csv + "{c: int32}}]"), HasSubstr("'c'"));
  EXPECT_THAT(error_of(csv + "{a: {dtype: int32, columns: [b, a]}}}]"),
              HasSubstr("feature 'a' columns, got the last before the first"));
  EXPECT_THAT(error_of(csv + "{a: {dtype: int32, columns: aa}}}]"),
              HasSubstr("got 'aa', expected a, b, kind, n, did you mean 'a'?"));
  EXPECT_THAT(error_of(csv + "{a: int32, b: {dtype: float32, columns: a}}}]"),
              HasSubstr("two dtypes for column 0, expected one"));
  local_file_system().remove(path);
}

TEST(PipelineSpecTest, PipelinesSideBySide) {
  const auto elements = elements_of("[zip: {x: [range: 4, skip: 1], y: [range: 9]}, batch: 2]");
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_THAT(elements[0]["x"].leaf().data<int64_t>(), ElementsAre(1, 2));
  EXPECT_THAT(elements[1]["y"].leaf().data<int64_t>(), ElementsAre(2));
}

TEST(PipelineSpecTest, Errors) {
  const struct {
    std::string yaml;
    std::string error;
  } rows[] = {
      {"", "a list of stages"},
      {"[range: 3", "YAML"},
      {"{a: 1}", "a list of stages"},
      {"[rnge: 3]", "pipeline:1: source, got 'rnge', expected tfrecord"},
      {"- range: 3\n- shufle: 2\n", "pipeline:2: stage, got 'shufle'"},
      {"[range: x]", "pipeline:1: range stop, got 'x', expected an integer"},
      {"[range: 3, batch: {size: 3}]", "batch, got 'size', expected batch_size, drop_remainder"},
      {"[range: 3, batch]", "batch, got no batch_size, expected an integer"},
      {"[range: 3, map: {ops: [fly]}]", "op, got 'fly'"},
      {"[range: 3, cast: complex1]", "complex1"},
      {"[range: 3, scale: 2]", "scale, got '2', expected [factor, offset]"},
      {"[range: 3, scale: [1]]", "scale, got 1 numbers, expected [factor, offset]"},
      {"[range: 3, unbatch: 2]", "unbatch, got '2', expected no arguments"},
      {"[tfrecord: /nowhere/x-*]", "/nowhere"},
      {"&a [zip: {x: *a}]", "value, got one deep within others, expected few levels"},
      {"[idx]", "idx, got no file, expected the name of a file"},
      {"[zip: {a: [range: 3], b: 2}]", "pipeline:1: pipeline, got '2', expected a list of stages"},
  };
  for (const auto& [yaml, error] : rows) {
    EXPECT_THAT(error_of(yaml), HasSubstr(error)) << yaml;
  }
}

}  // namespace
}  // namespace systole::app
