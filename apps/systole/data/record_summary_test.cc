#include "apps/systole/data/record_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "systole/io/local/local_file_system.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/testing/golden.h"

namespace systole::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RecordSummaryTest, FeaturesAndStatistics) {
  RecordSummary summary;
  const std::string png = encode_png(Tensor::of<uint8_t>({1, 2, 1}, {3, 4}));
  for (int i = 0; i < 4; ++i) {
    ExampleBuilder builder;
    builder.int64("label", i % 2).float32("x", {1.0F, 3.0F}).bytes("image", png);
    if (i == 0) builder.bytes("note", "hello").float32("odd", std::nanf(""));
    summary.add(builder.serialize());
  }
  EXPECT_EQ(summary.kind(), RecordKind::example);
  const FeatureSummary& label = summary.features().at("label");
  EXPECT_EQ(label.type(), "int64");
  EXPECT_EQ(label.shape(), "[]");
  EXPECT_EQ(label.distinct, (std::map<std::string, int64_t>{{"0", 2}, {"1", 2}}));
  const FeatureSummary& x = summary.features().at("x");
  EXPECT_EQ(x.shape(), "[2]");
  EXPECT_EQ(x.numbers.mean, 2);
  EXPECT_EQ(x.numbers.deviation(), 1);
  EXPECT_EQ(summary.features().at("odd").numbers.not_finite, 1);
  EXPECT_THAT(summary.to_text(), AllOf(HasSubstr("records   4\n"), HasSubstr("4 PNG of 1 x 2"),
                                       HasSubstr("2 distinct (0: 2, 1: 2)"),
                                       HasSubstr("in 1 of 4 records; 1 not finite\n")));
  const auto json = summary.to_json();
  EXPECT_EQ(json["features"]["x"]["values"]["max"], 3);
  EXPECT_EQ(json["features"]["image"]["images"]["PNG"], 4);
}

TEST(RecordSummaryTest, OtherMessages) {
  RecordSummary sequences;
  SequenceExampleBuilder builder;
  builder.context().int64("length", 2);
  builder.append_int64("tokens", {1, 2}).append_int64("tokens", 3);
  sequences.add(builder.serialize());
  EXPECT_EQ(sequences.kind(), RecordKind::sequence_example);
  EXPECT_EQ(sequences.features().at("lists/tokens").shape(), "[1..2]");

  RecordSummary other;
  other.add("no message");
  EXPECT_EQ(other.kind(), RecordKind::unknown);
  EXPECT_THAT(other.to_text(), HasSubstr("messages  unknown"));
  EXPECT_THAT(RecordSummary().to_text(), HasSubstr("records   0"));
}

TEST(RecordSummaryTest, GoldenFiles) {
  if (!testing::have_golden_files()) GTEST_SKIP() << testing::kNoGoldenFiles;
  const std::map<std::string, std::string> names = {
      {"Example", "tf.train.Example"},
      {"SequenceExample", "tf.train.SequenceExample"},
      {"ExampleListWithContext", "ExampleListWithContext"}};
  for (const auto& [name, expected] : testing::golden_expected("tfrecord").items()) {
    auto file = local_file_system().open(testing::golden_path(name));
    const Compression compression = sniff_record_compression(*file);
    RecordReader reader(std::move(file), {.compression = compression});
    RecordSummary summary;
    while (const auto record = reader.next()) summary.add(*record);
    EXPECT_EQ(summary.records(), expected["n"].get<int64_t>());
    const auto& kind = expected["proto"];
    EXPECT_EQ(record_kind_name(summary.kind()),
              kind.is_null() ? "unknown" : names.at(kind.get<std::string>()))
        << name;
    (void)summary.to_text();
  }
}

}  // namespace
}  // namespace systole::app
