#include "systole/io/records/example_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "systole/io/wire/wire.h"

namespace systole {
namespace {

using ::testing::ElementsAre;

std::string field(uint32_t number, std::string_view bytes) {
  std::string out;
  wire::append_bytes(out, number, bytes);
  return out;
}
// A record with the feature "x".
std::string record_with(std::string_view feature) {
  return field(1, field(1, field(1, "x") + field(2, feature)));
}

TEST(ExampleSplitterTest, FeaturesInAnyOrder) {
  ExampleSplitter splitter({"label", "image"});
  std::array<PlainFeature, 2> found;
  const std::string first = ExampleBuilder()
                                .int64("label", 300)
                                .bytes("image", "pixels")
                                .bytes("words", {"not", "asked", "for"})
                                .serialize();
  const std::string second = ExampleBuilder().bytes("image", "").int64("label", -1).serialize();
  const std::string third =
      ExampleBuilder().bytes("a", "").bytes("image", "3").int64("label", 0).serialize();
  std::array<int64_t, 1> label{};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(splitter.split(first, found));
    EXPECT_EQ(found[1].kind, FeatureKind::bytes);
    EXPECT_EQ(found[1].values, "pixels");
    ASSERT_TRUE(unpack(found[0].values, label));
    EXPECT_EQ(label[0], 300);
    ASSERT_TRUE(splitter.split(second, found));
    EXPECT_EQ(found[1].values, "");
    ASSERT_TRUE(unpack(found[0].values, label));
    EXPECT_EQ(label[0], -1);
    ASSERT_TRUE(splitter.split(third, found));
    EXPECT_EQ(found[1].values, "3");
  }
}

TEST(ExampleSplitterTest, RecordsOfOneFrameAndOthersOfTheirSize) {
  ExampleSplitter splitter({"label", "image"});
  std::array<PlainFeature, 2> found;
  const auto read = [&](const std::string& record) -> std::string {
    if (!splitter.split(record, found)) return "none";
    std::array<int64_t, 1> label{};
    if (!unpack(found[0].values, label)) return "no label";
    return std::to_string(label[0]) + " " + std::string(found[1].values);
  };
  const auto record = [](const std::string& image, int64_t label, const std::string& name) {
    return ExampleBuilder()
        .bytes("image", image)
        .int64("label", label)
        .bytes("n", name)
        .serialize();
  };
  // All of one size. Other names, like other keys, are another frame.
  for (int round = 0; round < 20; ++round) {
    const std::string name = round % 3 == 0 ? "x" : "y";
    EXPECT_EQ(read(record("abc", round, name)), std::to_string(round) + " abc");
    EXPECT_EQ(read(record("def", 127, name)), "127 def");
    EXPECT_EQ(read(record("de", 128, name)), "128 de");
    EXPECT_EQ(read(ExampleBuilder().bytes("imago", "def").int64("label", 7).serialize() + name),
              "none");
  }
}

// A number that is not packed ends where its bytes say, not where those of the record before did.
TEST(ExampleSplitterTest, SingleNumbersOfOneSize) {
  ExampleSplitter splitter({"x"});
  std::array<PlainFeature, 1> found;
  const auto record = [](const std::string& varint) {
    return record_with(field(3, std::string(1, char{1 << 3}) + varint));
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(splitter.split(record("\x81\x01"), found));
    EXPECT_FALSE(splitter.split(record("\x01\x01"), found));
  }
}

TEST(ExampleSplitterTest, Numbers) {
  const std::vector<int64_t> integers = {0, -1, 128, std::numeric_limits<int64_t>::min(),
                                         std::numeric_limits<int64_t>::max()};
  const std::string record =
      ExampleBuilder().int64("i", integers).float32("f", {0.5F, -2}).serialize();
  ExampleSplitter splitter({"f", "i"});
  std::array<PlainFeature, 2> found;
  ASSERT_TRUE(splitter.split(record, found));
  std::vector<int64_t> got(5);
  EXPECT_TRUE(unpack(found[1].values, got));
  EXPECT_EQ(got, integers);
  std::array<float, 2> floats{};
  EXPECT_TRUE(unpack(found[0].values, floats));
  EXPECT_THAT(floats, ElementsAre(0.5F, -2.0F));
  std::vector<int64_t> other(4);
  EXPECT_FALSE(unpack(found[1].values, other));
  other.resize(6);
  EXPECT_FALSE(unpack(found[1].values, other));
  EXPECT_FALSE(unpack(found[0].values, std::span(floats).first(1)));
}

TEST(ExampleSplitterTest, WhatIsNotPlainIsLeftToTheView) {
  const std::string unpacked = field(3, std::string("\x08\x05", 2));
  const struct {
    std::string name;
    std::string record;
    bool plain;
  } rows[] = {
      {"unpacked", record_with(unpacked), true},
      {"two unpacked", record_with(field(3, std::string("\x08\x05\x08\x06", 4))), false},
      {"unpacked without an end", record_with(field(3, std::string("\x08\x85", 2))), false},
      {"two bytes values", record_with(field(1, field(1, "a") + field(1, "b"))), false},
      {"two lists", record_with(unpacked + unpacked), false},
      {"no list", record_with(""), false},
      {"another list", record_with(field(4, "a")), false},
      {"key twice", record_with(unpacked) + record_with(unpacked), false},
      {"no key", field(1, field(1, field(2, unpacked))), false},
      {"another field", record_with(unpacked) + field(2, ""), false},
      {"missing", ExampleBuilder().int64("y", 1).serialize(), false},
      {"empty", "", false},
  };
  for (const auto& [name, record, plain] : rows) {
    ExampleSplitter splitter({"x"});
    std::array<PlainFeature, 1> found;
    EXPECT_EQ(splitter.split(record, found), plain) << name;
  }
}

TEST(ExampleSplitterTest, CutAnywhere) {
  const std::string record =
      ExampleBuilder().int64("x", 300).bytes("y", std::string(200, 'p')).serialize();
  ExampleSplitter splitter({"x", "y"});
  std::array<PlainFeature, 2> found;
  for (size_t size = 0; size < record.size(); ++size) {
    const std::vector<char> part(record.begin(),
                                 record.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(splitter.split({part.data(), part.size()}, found)) << size;
  }
  EXPECT_TRUE(splitter.split(record, found));
}

}  // namespace
}  // namespace systole
