// What goes wrong in a pipeline is told with where it did: the file and offset, the record, the
// element, the key, what is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/log.h"
#include "systole/data/dataset.h"
#include "systole/data/sources.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/images/image.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"

namespace systole::data {
namespace {

std::string records(const std::vector<std::string>& texts,
                    Compression compression = Compression::none) {
  MemoryFileSystem fs;
  RecordWriter writer(fs, "f", {.compression = compression});
  for (const std::string& text : texts) writer.write(text);
  writer.close();
  return read_file(fs, "f");
}

std::string good_example() { return ExampleBuilder().bytes("x", "ab").int64("y", 1).serialize(); }

Nest<Output> parse(const Nest<Output>& serialized) {
  return parse_single_example(serialized, {{"x", FixedLenFeature{{}, DType::string}},
                                           {"y", FixedLenFeature{{}, DType::s64}}});
}

// PNG's header of an image that nobody has memory for.
std::string huge_png() {
  std::string bytes = encode_png(Tensor::zeros(DType::u8, {1, 1, 3}));
  for (const size_t at : {16U, 20U}) bytes[at + 1] = '\x7f';
  return bytes;
}

MemoryFileSystem& files() {
  static MemoryFileSystem fs;
  static const bool written = [] {
    write_file_atomically(fs, "cut.gz", records({"one", "two"}, Compression::gzip).substr(0, 20));
    write_file_atomically(fs, "plain", records({"one"}));
    write_file_atomically(
        fs, "float_y",
        records(
            {good_example(), ExampleBuilder().bytes("x", "ab").float32("y", 1.5F).serialize()}));
    write_file_atomically(fs, "no_y",
                          records({good_example(), ExampleBuilder().bytes("x", "ab").serialize()}));
    write_file_atomically(fs, "csv", "1,2\n3\n");
    write_file_atomically(fs, "idx", std::string("\0\0\x08\x01\0\0\0\x09", 8) + "12");
    fs.make_directories("folder");
    return true;
  }();
  static_cast<void>(written);
  return fs;
}

struct Bad {
  const char* name;
  std::function<Dataset()> make;
  std::vector<const char*> told;  // parts of the first error
};

Dataset tfrecords(const char* name, const char* compression = "") {
  return TFRecordDataset(name, {.compression_type = compression, .file_system = &files()});
}

std::vector<Bad> bad_files() {
  return {
      {"missing", [] { return tfrecords("nowhere"); }, {"NOT_FOUND", "nowhere"}},
      {"folder", [] { return tfrecords("folder"); }, {"folder"}},
      {"glob",
       [] { return Dataset::list_files("none-*", {.file_system = &files()}); },
       {"NOT_FOUND", "none-*"}},
      {"gzip_cut", [] { return tfrecords("cut.gz", "GZIP"); }, {"DATA_LOSS: cut.gz", "20"}},
      {"no_gzip", [] { return tfrecords("plain", "GZIP"); }, {"DATA_LOSS: plain"}},
      {"csv_fields",
       [] {
         return CsvDataset("csv", {Tensor(int32_t{0}), Tensor(int32_t{0})},
                           {.file_system = &files()})
             .skip(1);
       },
       {"INVALID_ARGUMENT: csv:2:"}},
      {"idx_cut", [] { return Dataset(IdxDataset("idx", &files())); }, {"DATA_LOSS: idx"}},
  };
}

std::vector<Bad> bad_records() {
  return {
      {"wrong_type",
       [] { return tfrecords("float_y").map(parse).skip(1); },
       {"INVALID_ARGUMENT", "feature 'y'", "got float", "expected int64", "element 1"}},
      {"wrong_type_in_a_batch",
       [] { return tfrecords("float_y").map(parse).batch(2); },
       {"INVALID_ARGUMENT", "record 1", "feature 'y'", "got float", "expected int64"}},
      {"missing_feature",
       [] { return tfrecords("no_y").map(parse).skip(1); },
       {"NOT_FOUND", "feature 'y'", "among 'x'", "element 1"}},
      {"missing_feature_in_a_batch",
       [] { return tfrecords("no_y").map(parse).batch(2); },
       {"NOT_FOUND", "record 1", "feature 'y'", "among 'x'"}},
      {"no_example",
       [] { return tfrecords("plain").map(parse); },
       {"INVALID_ARGUMENT", "element 0"}},
      {"broken_image",
       [] {
         return Dataset::from_tensors(Tensor("\xff\xd8\xff\xe0 no more")).map([](Output x) {
           return image::decode_jpeg(x);
         });
       },
       {"INVALID_ARGUMENT", "DecodeJpeg", "element 0"}},
      {"huge_image",
       [] {
         return Dataset::from_tensors(Tensor::scalar(huge_png())).map([](Output x) {
           return image::decode_png(x);
         });
       },
       {"DecodePng", "element 0"}},
  };
}

std::vector<Bad> bad_calls() {
  return {
      {"throws",
       [] {
         return Dataset::range(3).skip(2).map_cpp(
             [](const Element&) -> Element { throw std::runtime_error("the user's words"); },
             TensorType{DType::s64, {}});
       },
       {"UNKNOWN", "the user's words", "map_cpp: element 0"}},
      {"generator_is_not_made",
       [] {
         return Dataset::from_generator(
             []() -> Dataset::Generator { throw std::runtime_error("the user's words"); },
             TensorType{DType::s64, {}});
       },
       {"UNKNOWN", "the user's words", "from_generator"}},
      {"filter_throws",
       [] {
         return Dataset::range(3)
             .filter_cpp([](const Element& x) -> bool {
               if (x.leaf().item<int64_t>() == 0) return true;
               throw std::runtime_error("the user's words");
             })
             .skip(1);
       },
       {"UNKNOWN", "the user's words", "filter_cpp: element 1"}},
      {"filter_throws_anything",
       [] { return Dataset::range(1).filter_cpp([](const Element&) -> bool { throw 5; }); },
       {"UNKNOWN", "no std::exception", "filter_cpp: element 0"}},
      {"filter_by_ops",
       [] {
         return Dataset::range(3).filter(
             [](Output x) { return equal(floordiv(x, x), int64_t{1}); });
       },
       {"INVALID_ARGUMENT", "division by zero", "filter: element 0"}},
      {"length_throws",
       [] {
         return Dataset::range(1).bucket_by_sequence_length(
             [](const Element&) -> int64_t { throw std::runtime_error("the user's words"); },
             {.bucket_boundaries = {3}, .bucket_batch_sizes = {1, 1}});
       },
       {"UNKNOWN", "the user's words", "bucket_by_sequence_length: element 0"}},
      {"ragged",
       [] {
         return Dataset::range(2)
             .map_cpp(
                 [](const Element& x) { return Tensor(DType::u8, {x.leaf().item<int64_t>()}); },
                 TensorType{DType::u8, {kUnknown}})
             .batch(2);
       },
       {"INVALID_ARGUMENT: batch", "u8[1]", "u8[0]"}},
  };
}

class BadInputTest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadInputTest, IsAnErrorThatSaysWhereAndWhat) {
  std::string got = "no error";
  try {
    for (const std::string& element : elements(GetParam().make())) {
      got = element;
      break;
    }
  } catch (const Error& error) {
    got = error.what();
  }
  for (const char* part : GetParam().told) EXPECT_NE(got.find(part), std::string::npos) << got;
}

// It ends, says how many and why, and continues after what failed.
TEST_P(BadInputTest, IsIgnoredWhenAskedTo) {
  const LogCapture log;
  Dataset dataset;
  try {
    dataset = GetParam().make();
    elements(dataset.take(0));
  } catch (const Error&) {
    return;  // there is nothing to run
  }
  for (const std::string& element : elements(dataset.ignore_errors())) {
    for (const char* part : GetParam().told) EXPECT_EQ(element.find(part), std::string::npos);
  }
  std::vector<std::string> warnings = log.messages();
  std::erase_if(warnings, [](const std::string& text) { return text.starts_with("debug:"); });
  // The first at once, all at the end.
  ASSERT_FALSE(warnings.empty());
  ASSERT_LE(warnings.size(), 2U);
  for (const std::string& text : warnings)
    EXPECT_THAT(text, ::testing::HasSubstr(GetParam().told[0]));
}

std::string bad_name(const ::testing::TestParamInfo<Bad>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Files, BadInputTest, ::testing::ValuesIn(bad_files()), bad_name);
INSTANTIATE_TEST_SUITE_P(Records, BadInputTest, ::testing::ValuesIn(bad_records()), bad_name);
INSTANTIATE_TEST_SUITE_P(Calls, BadInputTest, ::testing::ValuesIn(bad_calls()), bad_name);

}  // namespace
}  // namespace systole::data
