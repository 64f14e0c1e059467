#include "systole/io/records/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "systole/base/testing/error_of.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/testing/golden.h"
#include "systole/io/wire/wire.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A message with one field of bytes.
std::string message_field(uint32_t number, std::string_view bytes) {
  std::string out;
  wire::append_bytes(out, number, bytes);
  return out;
}
std::string feature_entry(std::string_view key, std::string_view feature) {
  return message_field(1, message_field(1, key) + message_field(2, feature));
}
std::string example_with(std::string_view feature) {
  return message_field(1, feature_entry("x", feature));
}

std::vector<int64_t> int64s_of(const FeatureView& feature) {
  std::vector<int64_t> values;
  feature.append_to(values);
  return values;
}

TEST(ExampleTest, BuiltAndRead) {
  const std::vector<int64_t> many = {
      0, 1, -1, 300, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  const std::string pixels(784, '\x80');
  const std::string bytes = ExampleBuilder()
                                .int64("label", 7)
                                .bytes("image_raw", pixels)
                                .float32("weights", {0.5F, -2})
                                .int64("many", many)
                                .bytes("words", {"a", "", "bc"})
                                .int64("none", std::vector<int64_t>())
                                .serialize();
  const ExampleView view(bytes);
  EXPECT_FALSE(view.has_unknown_fields());
  EXPECT_EQ(view.int64("label"), 7);
  EXPECT_EQ(view.bytes("image_raw"), pixels);
  EXPECT_GE(view.bytes("image_raw").data(), bytes.data());  // not a copy
  EXPECT_LT(view.bytes("image_raw").data(), bytes.data() + bytes.size());
  std::array<float, 2> weights{};
  EXPECT_TRUE(view.read("weights", weights));
  EXPECT_THAT(weights, ElementsAre(0.5F, -2.0F));
  EXPECT_EQ(int64s_of(*view.find("many")), many);
  EXPECT_EQ(view.find("many")->size(), 6);
  std::vector<std::string_view> words;
  view.find("words")->append_to(words);
  EXPECT_THAT(words, ElementsAre("a", "", "bc"));
  EXPECT_EQ(view.find("none")->kind(), FeatureKind::int64s);
  EXPECT_EQ(view.find("none")->size(), 0);
  EXPECT_EQ(view.find("other"), nullptr);
}

// protobuf's own output, SerializeToString(deterministic=True).
TEST(ExampleTest, BytesAreProtobufs) {
  EXPECT_EQ(ExampleBuilder().int64("b", {1, 300}).float32("a", 1.0F).serialize(),
            std::string("\x0a\x1d\x0a\x0d\x0a\x01\x61\x12\x08\x12\x06\x0a\x04\x00\x00\x80"
                        "\x3f\x0a\x0c\x0a\x01\x62\x12\x07\x1a\x05\x0a\x03\x01\xac\x02",
                        31));
  EXPECT_EQ(ExampleBuilder().serialize(), std::string("\x0a\0", 2));
  EXPECT_EQ(ExampleBuilder().int64("x", 1).bytes("y", "z").serialize(),
            ExampleBuilder().bytes("y", "?").bytes("y", "z").int64("x", 1).serialize());
}

TEST(ExampleTest, NumbersPackedOrNot) {
  const std::string plain_ints = "\x08\x05\x08\xac\x02";  // value: 5, 300
  std::array<int64_t, 4> four{};
  const std::string bytes =
      example_with(message_field(3, plain_ints + message_field(1, "\x07\x08")));
  const ExampleView view(bytes);
  EXPECT_TRUE(view.read("x", four));
  EXPECT_THAT(four, ElementsAre(5, 300, 7, 8));

  const std::string floats =
      example_with(message_field(2, std::string("\x0d\0\0\x80\x3f\x0d\0\0\0\x40", 10)));
  std::array<float, 2> two{};
  EXPECT_TRUE(ExampleView(floats).read("x", two));
  EXPECT_THAT(two, ElementsAre(1.0F, 2.0F));
}

TEST(ExampleTest, TheLastOfWhatIsThereTwice) {
  const std::string one = message_field(3, message_field(1, "\x01"));
  const std::string two = message_field(3, message_field(1, "\x02"));
  const std::string bytes = message_field(1, feature_entry("x", one) + feature_entry("x", two));
  EXPECT_EQ(ExampleView(bytes).int64("x"), 2);
  const std::string messages =
      message_field(1, feature_entry("x", one)) + message_field(1, feature_entry("y", two));
  EXPECT_EQ(ExampleView(messages).int64("y"), 2);
  // Lists of one kind continue, another kind replaces what was there.
  const std::string merged = example_with(one + two);
  EXPECT_THAT(int64s_of(*ExampleView(merged).find("x")), ElementsAre(1, 2));
  const std::string replaced =
      example_with(one + message_field(1, message_field(1, "bytes")) + two);
  EXPECT_THAT(int64s_of(*ExampleView(replaced).find("x")), ElementsAre(2));
}

TEST(ExampleTest, UnknownFieldsArePassedOver) {
  const std::string unknown = std::string("\x20\x05\x29", 3) + std::string(8, 'x') +
                              message_field(6, "y") + std::string("\x3d") + "four";
  const std::string bytes =
      unknown +
      message_field(
          1, unknown + feature_entry(
                           "x", unknown + message_field(3, unknown + message_field(1, "\x09")))) +
      unknown;
  const ExampleView view(bytes);
  EXPECT_EQ(view.int64("x"), 9);
  EXPECT_TRUE(view.has_unknown_fields());
}

TEST(ExampleTest, ErrorsNameTheKeyAndWhatIsThere) {
  const std::string bytes = ExampleBuilder()
                                .int64("label", {1, 2, 3})
                                .float32("image", 1.0F)
                                .bytes("raw", "abc")
                                .serialize() +
                            message_field(1, feature_entry("nothing", ""));
  const ExampleView view(bytes);
  std::array<int64_t, 2> two{};
  const struct {
    std::function<void()> run;
    std::string error;
  } rows[] = {
      {[&] { view.read("label", two); },
       "INVALID_ARGUMENT: example: feature 'label': number of int64 values, got 3, expected 2"},
      {[&] { view.int64("image"); },
       "INVALID_ARGUMENT: example: feature 'image': type, got float, expected int64"},
      {[&] { view.float32("raw"); },
       "INVALID_ARGUMENT: example: feature 'raw': type, got bytes, expected float"},
      {[&] { view.bytes("labl"); },
       "NOT_FOUND: example: feature 'labl', got none of that name, expected it among 'image', "
       "'label', 'raw', 'nothing', did you mean 'label'?"},
      {[&] { view.bytes("nothing"); },
       "NOT_FOUND: example: feature 'nothing', got one without values, expected it among 'image', "
       "'label', 'raw', 'nothing'"},
  };
  for (const auto& [run, error] : rows) EXPECT_EQ(error_of(run), error);
  EXPECT_FALSE(view.read("nothing", two));
  EXPECT_FALSE(view.read("other", two));
}

void read_example(const std::string& bytes) {
  ExampleView view(bytes);
  for (const auto& entry : view.entries()) (void)entry.feature.size();
}

TEST(ExampleTest, CutAtEveryByteAndEveryFlippedBit) {
  const std::string bytes = ExampleBuilder()
                                .int64("label", {1, 300})
                                .float32("f", {1.0F, 2.0F})
                                .bytes("raw", {"abc", ""})
                                .serialize();
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THAT(error_of([&] { read_example(bytes.substr(0, size)); }),
                HasSubstr("INVALID_ARGUMENT"));
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(error_of([&] { read_example(flipped); }),
                ::testing::AnyOf("no error", HasSubstr("INVALID_ARGUMENT")));
  }
}

TEST(ExampleTest, MalformedBytes) {
  const struct {
    std::string bytes;
    std::string error;
  } rows[] = {
      {"\x0a\x05xx", "byte 2, got 2 more to the end of the message, expected fewer bytes"},
      {std::string("\0", 1), "a field number"},
      {"\x0b", "a field type of 0, 1, 2 or 5"},
      {std::string(11, '\x80'), "a number of at most 10 bytes"},
      {example_with(message_field(2, message_field(1, "abc"))),
       "bytes, got 3, expected a multiple of 4"},
      {example_with(message_field(3, message_field(1, "\x80"))), "an unterminated number"},
      {example_with("\x1a\x09"), "example: feature 'x': message: byte 2"},
  };
  for (const auto& [bytes, error] : rows) {
    EXPECT_THAT(error_of([&, &bytes = bytes] { read_example(bytes); }),
                AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr(error)));
  }
}

TEST(SequenceExampleTest, BuiltAndRead) {
  SequenceExampleBuilder builder;
  builder.context().int64("length", 2);
  builder.append_int64("tokens", {1, 2}).append_int64("tokens", 3).append_float32("f", 0.5F);
  builder.append_bytes("names", "a").append_bytes("names", "b").append_bytes("names", {"c", "d"});
  const std::string bytes = builder.serialize();
  const SequenceExampleView view(bytes);
  EXPECT_FALSE(view.has_unknown_fields());
  EXPECT_TRUE(ExampleView(bytes).has_unknown_fields());
  EXPECT_EQ(view.context().int64("length"), 2);
  ASSERT_EQ(view.lists().size(), 3U);
  const auto tokens = view.find("tokens");
  ASSERT_TRUE(tokens);
  ASSERT_EQ(tokens->size(), 2U);
  EXPECT_THAT(int64s_of((*tokens)[0]), ElementsAre(1, 2));
  EXPECT_THAT(int64s_of((*tokens)[1]), ElementsAre(3));
  EXPECT_EQ(view.find("names")->size(), 3U);
  EXPECT_FALSE(view.find("other"));
  for (size_t size = 1; size < bytes.size(); ++size) {
    (void)error_of([&] { SequenceExampleView(bytes.substr(0, size)); });
  }
}

// "int64[2]", "bytes[1](605B)": as expected.json has it, with the bytes of the first value.
std::string summary_of(const FeatureView& feature) {
  if (feature.kind() == FeatureKind::none) return "empty";
  std::string text = fmt::format("{}[{}]", feature_kind_name(feature.kind()), feature.size());
  if (feature.kind() == FeatureKind::bytes) {
    std::vector<std::string_view> values;
    feature.append_to(values);
    text += fmt::format("({}B)", values.front().size());
  }
  return text;
}

void check_first(const ExampleView& view, const nlohmann::json& expected) {
  EXPECT_EQ(view.entries().size(), expected.size());
  for (const auto& [key, summary] : expected.items()) {
    ASSERT_NE(view.find(key), nullptr) << key;
    EXPECT_EQ(summary_of(*view.find(key)), summary.get<std::string>()) << key;
  }
}

struct Sums {
  std::map<std::string, int64_t> counts;
  std::map<std::string, double> sums;

  void add(const ExampleView& view) {
    for (const auto& [key, feature] : view.entries()) {
      const std::string name(key);
      counts[name] += feature.size();
      if (feature.kind() == FeatureKind::int64s) {
        for (const int64_t value : int64s_of(feature)) sums[name] += static_cast<double>(value);
      } else if (feature.kind() == FeatureKind::floats) {
        std::vector<float> values;
        feature.append_to(values);
        for (const float value : values) sums[name] += value;
      }
    }
  }
};

// The same features by the builder: what is read from that must be the same again.
std::string rebuilt(const ExampleView& view) {
  ExampleBuilder builder;
  for (const auto& [key, feature] : view.entries()) {
    std::vector<float> floats;
    std::vector<std::string_view> bytes;
    switch (feature.kind()) {
      case FeatureKind::int64s:
        builder.int64(key, int64s_of(feature));
        break;
      case FeatureKind::floats:
        feature.append_to(floats);
        builder.float32(key, floats);
        break;
      case FeatureKind::bytes:
        feature.append_to(bytes);
        builder.bytes(key, bytes);
        break;
      case FeatureKind::none:
        break;
    }
  }
  return builder.serialize();
}

class GoldenExamplesTest : public testing::GoldenTest {};

TEST_P(GoldenExamplesTest, Examples) {
  for (const auto& [name, expected] : golden().expected("tfrecord").items()) {
    if (expected["proto"] != "Example") continue;
    SCOPED_TRACE(name);
    auto file = local_file_system().open(golden().path(name));
    const Compression compression = sniff_record_compression(*file);
    RecordReader reader(std::move(file), {.compression = compression});
    ExampleView view;
    Sums sums;
    Sums again;
    int64_t records = 0;
    for (; const auto record = reader.next(); ++records) {
      view.parse(*record);
      EXPECT_FALSE(view.has_unknown_fields());
      if (records == 0) check_first(view, expected["first"]);
      sums.add(view);
      const std::string bytes = rebuilt(view);
      EXPECT_LE(bytes.size(), record->size());
      again.add(ExampleView(bytes));
    }
    for (const auto& [key, count] : expected["value_counts"].items()) {
      EXPECT_EQ(sums.counts[key], count.get<int64_t>()) << key;
    }
    for (const auto& [key, sum] : expected["value_sums"].items()) {
      EXPECT_DOUBLE_EQ(sums.sums[key], sum.get<double>()) << key;
    }
    EXPECT_EQ(again.sums, sums.sums);
  }
}

TEST_P(GoldenExamplesTest, SequenceExamples) {
  int files = 0;
  for (const auto& [name, expected] : golden().expected("tfrecord").items()) {
    if (expected["proto"] != "SequenceExample") continue;
    SCOPED_TRACE(name);
    ++files;
    auto file = local_file_system().open(golden().path(name));
    const Compression compression = sniff_record_compression(*file);
    RecordReader reader(std::move(file), {.compression = compression});
    SequenceExampleView view;
    int64_t records = 0;
    for (; const auto record = reader.next(); ++records) {
      view.parse(*record);
      EXPECT_FALSE(view.has_unknown_fields());
      if (records > 0) continue;
      check_first(view.context(), expected["first"]["ctx"]);
      for (const auto& [key, size] : expected["first"]["fl"].items()) {
        EXPECT_EQ(view.find(key)->size(), size.get<size_t>());
      }
    }
    EXPECT_EQ(records, expected["n"].get<int64_t>());
  }
  EXPECT_GT(files, 0);
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenExamplesTest, testing::golden_folders(),
                         testing::golden_name);

}  // namespace
}  // namespace systole
