#include "apps/systole/data/pipeline_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/temp_folder.h"
#include "systole/io/images/image.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"

namespace systole::app {
namespace {

using systole::testing::TempFolder;
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

TEST(PipelineSpecTest, Autotune) {
  EXPECT_EQ(elements_of("[range: 5, map: {ops: [cast: int32], num_parallel_calls: AUTOTUNE},"
                        " prefetch: AUTOTUNE]")
                .size(),
            5U);
  EXPECT_EQ(elements_of("[range: 2, interleave: {pipeline: [element], num_parallel_calls: "
                        "AUTOTUNE}, prefetch: {buffer_size: AUTOTUNE}]")
                .size(),
            2U);
  EXPECT_EQ(parse_pipeline("[range: 5, prefetch: AUTOTUNE]").dataset.to_string(),
            parse_pipeline("[range: 5, prefetch: -1]").dataset.to_string());
  EXPECT_THAT(error_of("[range: 5, prefetch: autotune]"),
              HasSubstr("prefetch buffer_size, got 'autotune', expected an integer or AUTOTUNE"));
  EXPECT_THAT(error_of("[range: 5, shuffle: AUTOTUNE]"), HasSubstr("expected an integer"));
}

TEST(PipelineSpecTest, RecordsIntoFeatures) {
  const TempFolder folder;
  const std::string path = folder / "examples.tfrecord";
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
}

TEST(PipelineSpecTest, LinesIntoFeatures) {
  const TempFolder folder;
  const std::string path = folder / "lines.csv";
  write_file_atomically(local_file_system(), path, "a,b,kind,n\n1,2,x,0\n3,4,y,1\n5,6,z,2\n");
  const auto elements = elements_of(
      "- csv:\n"
      "    files: " +
      path +
      "\n"
      "    features: {ab: {dtype: float32, column_range: [a, 1]}, n: int32, kind: string,\n"
      "               na: {dtype: int32, columns: [n]}, ba: {dtype: float32, columns: [1, a]}}\n"
      "- vocabulary: {kind: [x, y]}\n"
      "- one_hot: {n: 8}\n"
      "- batch: 3\n");
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_THAT(elements[0]["ab"].leaf().data<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(elements[0]["ab"].leaf().shape(), (Shape{3, 2}));
  EXPECT_THAT(elements[0]["ba"].leaf().data<float>(), ElementsAre(2, 1, 4, 3, 6, 5));
  EXPECT_EQ(elements[0]["na"].leaf().shape(), (Shape{3, 1}));
  EXPECT_THAT(elements[0]["kind"].leaf().data<int32_t>(), ElementsAre(0, 1, -1));
  EXPECT_EQ(elements[0]["n"].leaf().shape(), (Shape{3, 8}));
  const std::string csv = "[csv: {files: " + path + ", features: ";
  EXPECT_THAT(error_of(csv + "{c: int32}}]"), HasSubstr("'c'"));
  EXPECT_THAT(error_of(csv + "{a: {dtype: int32, column_range: [b, a]}}}]"),
              HasSubstr("feature 'a' column_range, got the last before the first"));
  EXPECT_THAT(error_of(csv + "{a: {dtype: int32, column_range: [a]}}}]"),
              HasSubstr("feature 'a' column_range, got 1 columns, expected [first, last]"));
  EXPECT_THAT(error_of(csv + "{a: {dtype: int32, columns: []}}}]"),
              HasSubstr("feature 'a' columns, got an empty list, expected a list of columns"));
  EXPECT_THAT(
      error_of(csv + "{a: {dtype: int32, columns: a, column_range: [a, b]}}}]"),
      HasSubstr("feature 'a' columns, got column_range beside it, expected one of the two"));
  EXPECT_THAT(error_of(csv + "{a: {dtype: int32, columns: aa}}}]"),
              HasSubstr("got 'aa', expected a, b, kind, n, did you mean 'a'?"));
  EXPECT_THAT(error_of(csv + "{a: int32, b: {dtype: float32, columns: a}}}]"),
              HasSubstr("two dtypes for column 0, expected one"));
}

TEST(PipelineSpecTest, PipelinesSideBySide) {
  const auto elements = elements_of("[zip: {x: [range: 4, skip: 1], y: [range: 9]}, batch: 2]");
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_THAT(elements[0]["x"].leaf().data<int64_t>(), ElementsAre(1, 2));
  EXPECT_THAT(elements[1]["y"].leaf().data<int64_t>(), ElementsAre(2));
}

// The path of a text file with these contents.
std::string text_file(const TempFolder& folder, const std::string& name,
                      const std::string& contents) {
  write_file_atomically(local_file_system(), folder / name, contents);
  return folder / name;
}

TEST(PipelineSpecTest, ImagesOfFiles) {
  Tensor pixels(DType::u8, {4, 6, 3});
  for (size_t i = 0; i < pixels.data<uint8_t>().size(); ++i) {
    pixels.data<uint8_t>()[i] = static_cast<uint8_t>(i);
  }
  const TempFolder folder;
  const std::string path = folder / "images.tfrecord";
  RecordWriter writer(local_file_system(), path);
  writer.write(ExampleBuilder()
                   .bytes("jpeg", encode_jpeg(pixels, 95))
                   .bytes("png", encode_png(pixels))
                   .serialize());
  writer.close();
  const std::string source =
      "- tfrecord: " + path + "\n- parse_single_example: {jpeg: string, png: string}\n";
  const struct {
    std::string ops;
    std::string feature;
    std::string type;
  } rows[] = {
      {"decode_png: {png: 3}", "png", "u8[4,6,3]"},
      {"decode_png: {png: 1}", "png", "u8[4,6,1]"},
      {"decode_jpeg: {jpeg: 3}, resize_bilinear: {jpeg: [2, 5]}", "jpeg", "f32[2,5,3]"},
      {"decode_image: {png: 3}, resize_nearest_neighbor: {png: [8, 8]}", "png", "u8[8,8,3]"},
      {"decode_png: {png: 3}, crop: {png: [1, 2, 3, 4]}", "png", "u8[3,4,3]"},
      {"decode_png: {png: 3}, resize_with_crop_or_pad: {png: [5, 5]}", "png", "u8[5,5,3]"},
      {"decode_png: {png: 3}, random_crop: {png: [2, 2, 3]}", "png", "u8[2,2,3]"},
      {"decode_png: {png: 3}, central_crop: {png: 0.5}", "png", "u8[2,4,3]"},
      {"decode_png: {png: 3}, rgb_to_grayscale: png, per_image_standardization: [png]", "png",
       "f32[4,6,1]"},
      {"decode_png: {png: 3}, convert_image_dtype: {png: float32}, random_brightness: {png: 0.1}",
       "png", "f32[4,6,3]"},
      {"decode_png: {png: 3}, random_contrast: {png: [0.5, 1.5]}, adjust_contrast: {png: 2}, "
       "adjust_brightness: {png: 1}",
       "png", "u8[4,6,3]"},
  };
  for (const auto& [ops, feature, type] : rows) {
    const auto elements = elements_of(fmt::format("{}- map: {{ops: [{}]}}\n", source, ops));
    EXPECT_EQ(fmt::format("{}", elements.at(0)[feature].leaf().type()), type) << ops;
  }
  const auto flipped = elements_of(source +
                                   "- decode_png: {png: 3}\n- flip_left_right: png\n"
                                   "- flip_up_down: [png]\n");
  const Tensor turned = flipped.at(0)["png"].leaf();
  EXPECT_EQ(turned.data<uint8_t>().back(), 2);
  EXPECT_EQ(elements_of(source + "- decode_png: {png: 3}\n- random_flip_left_right: png\n"
                                 "- random_flip_up_down: png\n")
                .size(),
            1U);
}

TEST(PipelineSpecTest, WordsIntoBatches) {
  const TempFolder folder;
  const std::string words = text_file(folder, "words.txt", "a\nbb\nc\n");
  const std::string lines = text_file(folder, "lines.txt", "a bb\nC\nc d bb\n\n");
  const std::string numbers =
      "[text_line: " + lines + ", string_lower, string_split: ' ', vocabulary: " + words + ", ";
  const auto padded = elements_of(numbers + "padded_batch: {batch_size: 3, padding_values: 9}]");
  ASSERT_EQ(padded.size(), 2U);
  EXPECT_THAT(padded[0].leaf().data<int64_t>(), ElementsAre(0, 1, 9, 2, 9, 9, 2, -1, 1));
  const auto sized = elements_of(
      numbers + "padded_batch: {batch_size: 3, padded_shapes: [4], drop_remainder: true}]");
  ASSERT_EQ(sized.size(), 1U);
  EXPECT_EQ(sized[0].leaf().shape(), (Shape{3, 4}));
  const auto kept = elements_of(numbers + "filter: {length: true, greater: 0, less: 3}]");
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_THAT(kept[0].leaf().data<int64_t>(), ElementsAre(0, 1));
  const auto buckets = elements_of(
      numbers + "bucket_by_sequence_length: {bucket_boundaries: [2], bucket_batch_sizes: [2, 2]}]");
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_THAT(buckets[0].leaf().data<int64_t>(), ElementsAre(0, 1, 0, 2, -1, 1));
  EXPECT_THAT(buckets[1].leaf().data<int64_t>(), ElementsAre(2, 0));
  const auto hashed =
      elements_of("[zip: {w: [text_line: " + words + "]}, vocabulary: {w: {file: " + lines +
                  ", num_oov_buckets: 1}}]");
  EXPECT_THAT(hashed.at(0)["w"].leaf().data<int32_t>(), ElementsAre(4));
  const auto unnamed = elements_of("[text_line: " + words + ", vocabulary: {file: " + words + "}]");
  EXPECT_EQ(unnamed.at(1).leaf().as_double(0), 1);
}

TEST(PipelineSpecTest, SomeOfTheElements) {
  const auto numbers = [](const std::string& stages) {
    std::vector<int64_t> result;
    for (const Element& element : elements_of("[range: 9, " + stages + "]")) {
      result.push_back(element.leaf().data<int64_t>()[0]);
    }
    return result;
  };
  EXPECT_THAT(numbers("filter: {greater_equal: 2.5, less: 5}"), ElementsAre(3, 4));
  EXPECT_THAT(numbers("filter: {less_equal: 2, not_equal: 1}"), ElementsAre(0, 2));
  EXPECT_THAT(numbers("window: {size: 3, shift: 2, drop_remainder: true}"),
              ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(numbers("take: 2, flat_map: [element, repeat: 2]"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(numbers("take: 3, interleave: {cycle_length: 2, pipeline: [element, repeat: 2]}"),
              ElementsAre(0, 1, 0, 1, 2, 2));
  const auto windows = elements_of("[zip: {a: [range: 4], b: [range: 4]}, window: 2]");
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_THAT(windows[1]["b"].leaf().data<int64_t>(), ElementsAre(2, 3));
  const auto named =
      elements_of("[zip: {a: [range: 4], b: [range: 4]}, filter: {feature: a, equal: 2}]");
  ASSERT_EQ(named.size(), 1U);
}

TEST(PipelineSpecTest, FilesInTurn) {
  const TempFolder folder;
  text_file(folder, "turn_a.txt", "1\n2\n");
  text_file(folder, "turn_b.txt", "3\n");
  const std::string files = folder / "turn_?.txt";
  const auto elements = elements_of("[list_files: {files: '" + files +
                                    "', shuffle: false}, interleave: {cycle_length: 2, "
                                    "num_parallel_calls: 2, pipeline: [text_line, "
                                    "string_to_number: int64]}, batch: 3]");
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_THAT(elements[0].leaf().data<int64_t>(), ElementsAre(1, 3, 2));
}

TEST(PipelineSpecTest, Errors) {
  const struct {
    std::string yaml;
    std::string error;
  } rows[] = {
      {"", "a list of stages"},
      {"[range: 3", "YAML"},
      {"{a: 1}", "a list of stages"},
      {"[rnge: 3]", "pipeline:1:2: source, got 'rnge', expected tfrecord"},
      {"- range: 3\n- shufle: 2\n", "pipeline:2:3: stage, got 'shufle'"},
      {"[range: x]", "pipeline:1:2: range stop, got 'x', expected an integer"},
      {"[range: 3, batch: {size: 3}]", "batch, got 'size', expected batch_size, drop_remainder"},
      {"[range: 3, batch]", "batch, got no batch_size, expected an integer"},
      {"[range: 3, map: {ops: [fly]}]", "op, got 'fly'"},
      {"[range: 3, cast: complex1]", "complex1"},
      {"[range: 3, scale: 2]", "scale, got '2', expected [factor, offset]"},
      {"[range: 3, scale: [1]]", "scale, got 1 numbers, expected [factor, offset]"},
      {"[range: 3, unbatch: 2]", "unbatch, got '2', expected no arguments"},
      {"[tfrecord: /nowhere/x-*]", "/nowhere"},
      {"&a [zip: {x: *a}]", "value, got one deep within others, expected few levels"},
      {"[element]", "element, got it outside of a pipeline of interleave"},
      {"[range: 3, interleave]", "interleave, got no pipeline, expected a pipeline"},
      {"[range: 3, flat_map: [element, batch: 2]]", "got a batch stage, expected single elements"},
      {"[range: 3, flat_map: [tfrecord]]", "file names, got a data set of s64[]"},
      {"[range: 3, crop: [1, 2]]", "crop, got 2 numbers, expected [top, left, height, width]"},
      {"[range: 3, flip_left_right: {a: 1}]", "flip_left_right, got a map, expected the names of"},
      {"[range: 3, vocabulary]", "vocabulary, got no file, expected a file of words, or a list"},
      {"[range: 3, filter: {length: true, less: 3}]",
       "filter feature, got s64[], expected one with"},
      {"[zip: {a: [range: 3], b: [range: 3]}, filter: {feature: c, less: 3}]",
       "filter feature, got 'c', expected a, b"},
      {"[zip: {a: [range: 3], b: [range: 3]}, filter: {less: 3}]", "filter feature, got none"},
      {"[range: 3, filter: {feature: c, length: true}]",
       "filter feature, got 'c', expected none: the elements are s64[]"},
      {"[range: 3, filter: {less: x}]", "filter less, got 'x', expected a number"},
      {"[range: 3, padded_batch: {batch_size: 2, padded_shapes: 4}]", "padded_shapes, got '4'"},
      {"[zip: {a: [range: 3]}, padded_batch: {batch_size: 2, padding_values: {b: 4}}]",
       "padded_batch padding_values, got 'b', expected a"},
      {"[idx]", "idx, got no file, expected the name of a file"},
      {"[zip: {a: [range: 3], b: 2}]",
       "pipeline:1:23: pipeline, got '2', expected a list of stages"},
  };
  for (const auto& [yaml, error] : rows) {
    EXPECT_THAT(error_of(yaml), HasSubstr(error)) << yaml;
  }
}

// Errors of a stage or an op have its line; later failures have the line of the op.
TEST(PipelineSpecTest, ErrorsOfStagesNameTheirLine) {
  const struct {
    std::string yaml;
    std::string error;
  } rows[] = {
      {"- range: 3\n- batch: 0\n", "INVALID_ARGUMENT: pipeline:2:3: batch: batch_size, got 0"},
      {"- range: 3\n- take: 1\n- shuffle: -1\n", "pipeline:3:3: shuffle: buffer_size, got -1"},
      {"- tfrecord: /nowhere/x-*\n", "NOT_FOUND: pipeline:1:3: "},
      {"- range: 3\n- reshape: [2]\n", "pipeline:2:3: "},
      {"- range: 3\n- map:\n    ops:\n      - cast: int32\n      - reshape: [2]\n",
       "pipeline:5:9: "},
      {"- range: 3\n- flat_map:\n    - element\n    - batch: 0\n    - unbatch\n",
       "pipeline:4:7: batch: batch_size, got 0"},
      {"- zip:\n    a: [range: 3]\n- take: 2\n- padded_batch: {batch_size: 0}\n", "pipeline:4:3: "},
  };
  for (const auto& [yaml, error] : rows) {
    const std::string got = error_of(yaml);
    EXPECT_THAT(got, HasSubstr(error)) << yaml;
    EXPECT_EQ(got.find(": pipeline:"), got.rfind(": pipeline:")) << got;
  }
  const TempFolder folder;
  EXPECT_THAT(error_of("- text_line: " + text_file(folder, "numbers.txt", "1\nx\n") +
                       "\n- map:\n    ops:\n      - string_to_number: int64\n"),
              HasSubstr("at pipeline:4"));
}

}  // namespace
}  // namespace systole::app
