#include "apps/systole/inspect/plot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/records/tfrecord.h"

namespace systole::app {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

void write_scalars(FileSystem& files, const std::string& folder, const std::string& tag,
                   const std::vector<std::pair<int64_t, double>>& points) {
  EventWriter writer(files, folder, "." + tag);  // names of one second differ
  for (const auto& [step, value] : points) writer.add_scalar(tag, step, value);
  writer.close();
}

TEST(CurvesTest, OfAFolderAndThoseBelowIt) {
  MemoryFileSystem files;
  write_scalars(files, "m", "rate", {{1, 0.5}});
  write_scalars(files, "m", "loss", {{1, 4}, {2, 3}});
  write_scalars(files, "m/eval", "accuracy", {{2, 0.9}});
  write_scalars(files, "m/eval", "loss", {{2, 3.5}});
  files.make_directories("m/tfevents");
  const std::vector<Curve> curves = read_curves(files, "m");
  std::vector<std::string> names;
  for (const Curve& curve : curves) names.push_back(curve.run + " " + curve.tag);
  EXPECT_THAT(names, ElementsAre("train loss", "eval loss", "eval accuracy", "train rate"));
  EXPECT_THAT(curves[0].points, ElementsAre(Pair(1, 4), Pair(2, 3)));
}

TEST(CurvesTest, WhatIsMissingOrCut) {
  MemoryFileSystem files;
  files.make_directories("empty");
  EXPECT_THAT(error_of([&] { read_curves(files, "empty"); }), HasSubstr("empty: event files, got"));
  EventWriter(files, "none").close();
  EXPECT_THAT(error_of([&] { read_curves(files, "none"); }), HasSubstr("none: scalars, got none"));
  write_file_atomically(files, "text", "no record at all, but long enough for one");
  EXPECT_THAT(
      error_of([&] { read_curves(files, "text"); }),
      HasSubstr("INVALID_ARGUMENT: text: file, got one that does not begin as an event file"));
  RecordWriter records(files, "records");
  records.write("no event");
  records.close();
  EXPECT_THAT(error_of([&] { read_curves(files, "records"); }),
              HasSubstr("records: file, got one that does not begin as an event file"));
  write_scalars(files, "m", "loss", {{1, 4}, {2, 3}});
  const std::string path = event_files(files, "m").at(0);
  const std::string bytes = read_file(files, path);
  write_file_atomically(files, path, bytes.substr(0, bytes.size() - 3));
  const LogCapture log;
  EXPECT_THAT(read_curves(files, path).at(0).points, ElementsAre(Pair(1, 4)));
  EXPECT_THAT(log.messages(), ::testing::Contains(HasSubstr("showing the events before it")));
}

TEST(CurvesTest, OfACsvFileOfKeras) {
  MemoryFileSystem files;
  write_file_atomically(files, "log.csv", "epoch,loss,val_loss\r\n0,2.5,3\r\n1,nan,1.5\r\n2,1");
  const std::vector<Curve> curves = read_curves(files, "log.csv");
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].run + " " + curves[0].tag, "train loss");
  EXPECT_EQ(curves[0].points.at(0), 2.5F);
  EXPECT_EQ(curves[0].points.at(2), 1);
  EXPECT_EQ(curves[1].run + " " + curves[1].tag, "eval loss");
  EXPECT_THAT(curves[1].points, ElementsAre(Pair(0, 3), Pair(1, 1.5F)));
  write_file_atomically(files, "other.csv", "a,b\n1,2\n");
  EXPECT_THAT(error_of([&] { read_curves(files, "other.csv"); }),
              HasSubstr("other.csv: first line, got 'a,b', expected the names of CSVLogger"));
}

// Keras's epochs are not squeezed into the first steps of its batches.
TEST(PlotTest, EpochsAndBatchesHaveAxesOfTheirOwn) {
  Curve batches{"train", "batch_loss", {}};
  for (int64_t step = 0; step < 1875; ++step) batches.points[step] = 1;
  const std::string alone = plot_svg("t", {{"train", "epoch_loss", {{0, 2}, {1, 3}, {2, 1}}}});
  const std::string both =
      plot_svg("t", {{"train", "epoch_loss", {{0, 2}, {1, 3}, {2, 1}}}, batches});
  const size_t dots = alone.find("<circle");
  EXPECT_THAT(both, HasSubstr(alone.substr(dots, alone.find("</svg>") - dots)));
}

TEST(PlotTest, TicksAreRound) {
  EXPECT_THAT(axis_ticks(0, 1), ElementsAre(0, 0.2, 0.4, ::testing::DoubleEq(0.6), 0.8, 1));
  EXPECT_THAT(axis_ticks(-7, 390), ElementsAre(0, 100, 200, 300));
  EXPECT_THAT(axis_ticks(3, 3), ElementsAre(3));
  EXPECT_LE(axis_ticks(1e30, 1e30 * (1 + 1e-15)).size(), 20U);
}

TEST(PlotTest, APanelForEachTag) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string svg = plot_svg("runs/<1>", {{"train", "loss", {{0, 2}, {50, nan}, {100, 1}}},
                                                {"eval", "loss", {{100, 1.5F}}},
                                                {"train", "a&b", {{0, 1}}}});
  EXPECT_THAT(svg, HasSubstr("runs/&lt;1&gt;"));
  EXPECT_THAT(svg, HasSubstr(">a&amp;b</text>"));
  EXPECT_THAT(svg, HasSubstr(">train 1</text>"));
  EXPECT_THAT(svg, HasSubstr(">eval 1.5</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("M446.0 "));  // a new line begins after the gap
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(PlotTest, LongCurvesAreThinnedOutAndKeepTheirPeaks) {
  Curve curve{"train", "loss", {}};
  for (int64_t step = 0; step < 100000; ++step) curve.points[step] = 1;
  const size_t flat = plot_svg("t", {curve}).size();
  EXPECT_LT(flat, 40000U);
  curve.points[77777] = 10;
  const std::string svg = plot_svg("t", {curve});
  // The top of the panel, but for a twentieth of room.
  EXPECT_THAT(svg, HasSubstr(fmt::format(" {:.1f}L", 34 + 46 + 190 * 0.05 / 1.1)));
}

// Evaluations every so often in a long run whose first half wrote at every step.
TEST(PlotTest, ThinningFollowsTheStepsNotTheirNumber) {
  Curve curve{"train", "loss", {}};
  for (int64_t step = 0; step < 10000; ++step) curve.points[step] = 1;
  for (int64_t step = 10000; step <= 20000; step += 100) {
    curve.points[step] = static_cast<float>(step);
  }
  const std::string svg = plot_svg("t", {curve});
  // Each of the later points is a pixel's only one.
  EXPECT_THAT(svg, HasSubstr(fmt::format("L{:.1f} ", 62 + 384 * 0.755)));
  EXPECT_THAT(svg, HasSubstr(fmt::format("L{:.1f} ", 62 + 384 * 0.905)));
}

TEST(PlotTest, ManyRunsHaveALegendOfSeveralLinesAndBrokenLines) {
  std::vector<Curve> curves;
  for (int run = 0; run < 9; ++run) {
    curves.push_back({fmt::format("runs/number_{}", run), "loss", {{0, 1}, {1, 2}}});
  }
  const std::string svg = plot_svg("t", curves);
  EXPECT_THAT(svg, HasSubstr(R"(stroke="#0072b2" stroke-dasharray="none")"));
  EXPECT_THAT(svg, HasSubstr(R"(stroke="#0072b2" stroke-dasharray="7 3")"));
  // "runs/number_8 2", the third on the third line.
  EXPECT_THAT(svg, HasSubstr(fmt::format(R"(x="{:.1f}" y="{:.1f}")", 62 + 2 * 123 + 18.0,
                                         34 + 28 + 32 + 8.0)));
}

}  // namespace
}  // namespace systole::app
