#include "apps/board/logdir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "apps/board/board.h"
#include "apps/board/downsample.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"

namespace systole::board {
namespace {

using ::testing::ElementsAre;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class LogdirTest : public ::testing::Test {
 protected:
  std::vector<int64_t> steps_of(const Logdir& logdir, const std::string& run_name,
                                const std::string& tag_name) {
    const auto run = logdir.find_run(run_name);
    if (!run) return {};
    const auto hold = run->lock();
    const TagData* const tag = run->find_tag(tag_name, TagKind::scalars);
    std::vector<int64_t> steps;
    for (size_t i = 0; tag != nullptr && i < tag->scalars.size(); ++i) {
      steps.push_back(tag->scalars[i].step);
    }
    return steps;
  }

  static std::vector<std::string> problems_of(const Logdir& logdir, const std::string& run_name) {
    const auto run = logdir.find_run(run_name);
    const auto hold = run->lock();
    return run->facts().problems;
  }

  MemoryFileSystem files_;
  FakeClock clock_;
};

TEST_F(LogdirTest, RunsAreDirectoriesWithEventFiles) {
  EventWriter(files_, "logs", "", clock_).add_scalar("loss", 1, 0.5);
  EventWriter(files_, "logs/a/train", "", clock_).add_scalar("loss", 1, 0.5);
  files_.make_directories("logs/empty");
  write_file_atomically(files_, "logs/a/notes.txt", "no events");
  Logdir logdir(files_, "logs");
  EXPECT_FALSE(logdir.status().ready);
  logdir.refresh();
  std::vector<std::string> names;
  for (const auto& run : logdir.runs()) names.push_back(run->name());
  EXPECT_THAT(names, ElementsAre(".", "a/train"));
  EXPECT_TRUE(logdir.status().ready);
  EXPECT_THAT(logdir.status().problems, ElementsAre());
}

TEST_F(LogdirTest, ReadsWhatAFileGains) {
  EventWriter writer(files_, "logs/r", "", clock_);
  Logdir logdir(files_, "logs");
  for (int step = 1; step <= 3; ++step) {
    writer.add_scalar("loss", step, step * 0.5);
    writer.flush();
    const uint64_t before = logdir.status().generation;
    logdir.refresh();
    EXPECT_GT(logdir.status().generation, before);
    EXPECT_EQ(steps_of(logdir, "r", "loss").size(), static_cast<size_t>(step));
  }
  const uint64_t before = logdir.status().generation;
  logdir.refresh();
  EXPECT_EQ(logdir.status().generation, before);
  EXPECT_EQ(logdir.status().bytes_read, logdir.status().bytes_total);
}

TEST_F(LogdirTest, AFileCutAtAnyByteIsReadOnWhenItGrows) {
  EventWriter writer(files_, "whole", "", clock_);
  writer.add_scalar("loss", 1, 0.5);
  writer.add_scalar("loss", 2, 0.25);
  writer.close();
  const std::string bytes = read_file(files_, writer.path());
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    MemoryFileSystem files;
    files.make_directories("logs");
    const auto file = files.create("logs/events.out.tfevents.1.h");
    file->append(bytes.substr(0, cut));
    file->flush();
    Logdir logdir(files, "logs");
    logdir.refresh();
    logdir.refresh();
    EXPECT_THAT(problems_of(logdir, "."), ElementsAre()) << cut;
    file->append(bytes.substr(cut));
    file->flush();
    logdir.refresh();
    EXPECT_THAT(steps_of(logdir, ".", "loss"), ElementsAre(1, 2)) << cut;
  }
}

TEST_F(LogdirTest, DamagedRecordsAreSkippedAndCounted) {
  EventWriter writer(files_, "logs", "", clock_);
  for (int step = 1; step <= 3; ++step) writer.add_scalar("loss", step, 1);
  writer.close();
  std::string bytes = read_file(files_, writer.path());
  const size_t second = bytes.find("loss", bytes.find("loss") + 1);
  bytes[second] = 'x';
  write_file_atomically(files_, writer.path(), bytes);
  Logdir logdir(files_, "logs");
  logdir.refresh();
  EXPECT_THAT(steps_of(logdir, ".", "loss"), ElementsAre(1, 3));
  EXPECT_THAT(problems_of(logdir, "."), ElementsAre(::testing::HasSubstr("checksum of the data")));
}

TEST_F(LogdirTest, StepsThatGoBackStartASegment) {
  EventWriter first(files_, "logs", ".1", clock_);
  for (const int step : {1, 2, 3, 4}) first.add_scalar("loss", step, step);
  first.close();
  EventWriter second(files_, "logs", ".2", clock_);
  for (const int step : {3, 4, 5}) second.add_scalar("loss", step, 10 * step);
  second.close();
  Logdir logdir(files_, "logs");
  logdir.refresh();
  const auto run = logdir.find_run(".");
  const auto hold = run->lock();
  const ScalarSeries& series = run->find_tag("loss", TagKind::scalars)->scalars;
  EXPECT_THAT(series.segments(), ElementsAre(0, 4));
  const Chart chart =
      make_chart(series, [](const ScalarPoint& p) { return static_cast<double>(p.step); }, {});
  ASSERT_EQ(chart.segments.size(), 2U);
  EXPECT_EQ(chart.segments[0].superseded_from, 3);
  EXPECT_EQ(chart.segments[1].begin, 4U);
  EXPECT_EQ(chart.points.size(), 7U);
}

TEST_F(LogdirTest, AVanishedDirectoryKeepsItsRuns) {
  EventWriter writer(files_, "logs/r", "", clock_);
  writer.add_scalar("loss", 1, 0.5);
  writer.close();
  Logdir logdir(files_, "logs");
  logdir.refresh();
  files_.remove(writer.path());
  files_.remove("logs/r");
  files_.remove("logs");
  logdir.refresh();
  EXPECT_THAT(steps_of(logdir, "r", "loss"), ElementsAre(1));
  EXPECT_THAT(logdir.status().problems, ElementsAre(::testing::HasSubstr("logs")));
  EXPECT_EQ(problems_of(logdir, "r").size(), 1U);
}

TEST_F(LogdirTest, AShorterFileIsReadAgain) {
  EventWriter writer(files_, "logs", "", clock_);
  writer.add_scalar("loss", 1, 0.5);
  writer.flush();
  const std::string bytes = read_file(files_, writer.path());
  writer.add_scalar("loss", 2, 0.5);
  writer.close();
  Logdir logdir(files_, "logs");
  logdir.refresh();
  write_file_atomically(files_, writer.path(), bytes);
  logdir.refresh();
  logdir.refresh();
  EXPECT_THAT(steps_of(logdir, ".", "loss"), ElementsAre(1));
  EXPECT_THAT(problems_of(logdir, "."), ElementsAre(::testing::HasSubstr("shorter")));
}

TEST_F(LogdirTest, MemoryIsBoundedAndExtremesStay) {
  EventWriter writer(files_, "logs", "", clock_);
  for (int step = 0; step < 20'000; ++step) {
    writer.add_scalar("loss", step, step == 7777 ? 100 : std::sin(step));
  }
  writer.close();
  Logdir logdir(files_, "logs", {.max_memory_bytes = 200'000});
  logdir.refresh();
  EXPECT_TRUE(logdir.status().thinned);
  EXPECT_LE(logdir.status().memory_bytes, 200'000U);
  const auto run = logdir.find_run(".");
  const auto hold = run->lock();
  const ScalarSeries& series = run->find_tag("loss", TagKind::scalars)->scalars;
  EXPECT_EQ(series.total(), 20'000U);
  double most = 0;
  for (size_t i = 0; i < series.size(); ++i) most = std::max(most, series[i].value);
  EXPECT_EQ(most, 100);
  EXPECT_EQ(series.back().step, 19'999);
}

// Tags whose names do not fit are left out, and the run says so.
TEST_F(LogdirTest, NamesCountInTheMemory) {
  EventWriter writer(files_, "logs", "", clock_);
  const std::string start(500, 't');
  for (int tag = 0; tag < 2000; ++tag) writer.add_scalar(start + std::to_string(tag), 1, 1);
  writer.close();
  Logdir logdir(files_, "logs", {.max_memory_bytes = 1'000'000});
  logdir.refresh();
  const LogdirStatus status = logdir.status();
  EXPECT_LE(status.memory_bytes, 1'000'000U);
  EXPECT_GT(status.dropped, 1000U);
  const auto run = logdir.find_run(".");
  EXPECT_GT(run->tags().size(), 50U);
  EXPECT_LT(run->tags().size(), 500U);
  EXPECT_THAT(problems_of(logdir, "."), ElementsAre(::testing::HasSubstr("more tags than fit")));
}

// Points are thinned while a file is read, not after it; those that cannot be are dropped.
TEST_F(LogdirTest, MemoryIsBoundedWhileAFileIsRead) {
  EventWriter writer(files_, "logs", "", clock_);
  for (int i = 0; i < 50'000; ++i) writer.add_scalar("back", i % 2, i);
  writer.close();
  Logdir logdir(files_, "logs", {.max_memory_bytes = 300'000});
  logdir.refresh();
  EXPECT_TRUE(logdir.status().full);
  // A batch of records may exceed it.
  EXPECT_LE(logdir.status().memory_bytes, 500'000U);
  EXPECT_THAT(problems_of(logdir, "."), ElementsAre(::testing::HasSubstr("more points than fit")));
}

TEST_F(LogdirTest, ATooLargeRecordIsSkipped) {
  EventWriter writer(files_, "logs", "", clock_);
  writer.add_scalar("loss", 1, 1);
  writer.add_text("note", 1, Tensor(std::string(1'000'000, 'x').c_str()));
  writer.add_scalar("loss", 2, 1);
  writer.close();
  LogdirOptions options;
  options.run_limits.max_record_bytes = 500'000;
  Logdir logdir(files_, "logs", options);
  logdir.refresh();
  EXPECT_THAT(steps_of(logdir, ".", "loss"), ElementsAre(1, 2));
  EXPECT_THAT(problems_of(logdir, "."), ElementsAre(::testing::HasSubstr("expected at most")));
}

// Only the value that is shown is parsed of an event, unless it is too large.
TEST_F(LogdirTest, OneValueOfAnEventIsRead) {
  EventWriter writer(files_, "logs", "", clock_);
  writer.add_text("note", 7, Tensor("short"));
  writer.add_text("long", 7, Tensor(std::string(100'000, 'x').c_str()));
  writer.close();
  LogdirOptions options;
  options.run_limits.max_value_bytes = 50'000;
  Logdir logdir(files_, "logs", options);
  logdir.refresh();
  const auto run = logdir.find_run(".");
  const auto ref = [&](const char* tag) { return run->find_tag(tag, TagKind::text)->blobs[0]; };
  const Event event = run->read_event(ref("note"));
  ASSERT_EQ(event.values.size(), 1U);
  EXPECT_EQ(event.step, 7);
  EXPECT_EQ(event.values[0].tag, "note");
  EXPECT_THAT(testing::error_of([&] { run->read_event(ref("long")); }),
              ::testing::HasSubstr("RESOURCE_EXHAUSTED"));
}

TEST_F(LogdirTest, HostileNamesAreShownSafely) {
  const std::string script = "<script>alert(1)</script>";
  const std::string binary("a\0b\xff", 4);
  EventWriter writer(files_, "logs/..x", "", clock_);
  writer.add_scalar(script, 1, 1);
  writer.add_scalar(binary, 1, 1);
  std::string long_name;
  long_name.resize(10'000'000, 'n');
  writer.add_scalar(long_name, 1, 1);
  writer.add_scalar(long_name, 2, 1);
  writer.close();
  Logdir logdir(files_, "logs");
  logdir.refresh();
  const auto run = logdir.find_run("..x");
  ASSERT_TRUE(run);
  const auto hold = run->lock();
  ASSERT_EQ(run->tags().size(), 3U);
  EXPECT_EQ(run->tags()[0].name, script);
  EXPECT_EQ(run->tags()[1].name,
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_LT(run->tags()[2].name.size(), 1100U);
  EXPECT_EQ(run->tags()[2].scalars.size(), 2U);
}

// On the disk: links.
TEST(LogdirLinksTest, LinksThatLeadOutAreNotFollowed) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "board_links";
  fs::remove_all(root);
  fs::create_directories(root / "logs" / "inside");
  EventWriter(local_file_system(), (root / "outside").string()).add_scalar("secret", 1, 1);
  EventWriter inside(local_file_system(), (root / "logs" / "inside").string());
  inside.add_scalar("loss", 1, 1);
  inside.close();
  fs::create_directory_symlink(root / "outside", root / "logs" / "out");
  fs::create_directory_symlink(root / "logs" / "inside", root / "logs" / "other_name");
  fs::create_directory_symlink(root / "logs", root / "logs" / "inside" / "loop");
  for (const auto& entry : fs::directory_iterator(root / "outside")) {
    fs::create_symlink(entry.path(), root / "logs" / entry.path().filename());
  }
  Logdir logdir(local_file_system(), (root / "logs").string());
  logdir.refresh();
  ASSERT_EQ(logdir.runs().size(), 1U);
  EXPECT_EQ(logdir.runs()[0]->name(), "inside");
  fs::remove_all(root);
}

// A link that takes the place of a file after the first scan, and links to directories above it.
TEST(LogdirLinksTest, LinksThatAppearLaterAreNotFollowed) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "board_later_links";
  fs::remove_all(root);
  EventWriter outside(local_file_system(), (root / "outside").string());
  for (int step = 1; step <= 100; ++step) outside.add_scalar("secret", step, 1);
  outside.close();
  EventWriter inside(local_file_system(), (root / "logs" / "a").string());
  inside.add_scalar("loss", 1, 1);
  inside.close();
  fs::create_directories(root / "logs" / "plugins" / "profile" / "p");
  Logdir logdir(local_file_system(), (root / "logs").string());
  logdir.refresh();
  fs::remove(inside.path());
  fs::create_symlink(outside.path(), inside.path());
  logdir.refresh();
  const auto run = logdir.find_run("a");
  {
    const auto hold = run->lock();
    EXPECT_EQ(run->find_tag("secret", TagKind::scalars), nullptr);
    EXPECT_THAT(run->facts().problems,
                ::testing::Contains(::testing::HasSubstr("expected one in")));
  }
  fs::remove(root / "logs" / "plugins" / "profile" / "p");
  fs::create_directory_symlink(root / "outside", root / "logs" / "plugins" / "profile" / "p");
  EXPECT_THAT(testing::error_of(
                  [&] { logdir.file_system().list((root / "logs/plugins/profile/p").string()); }),
              ::testing::HasSubstr("PERMISSION_DENIED"));
  fs::remove_all(root);
}

// Every kind of file under every name that the board opens: nothing waits for it.
TEST(LogdirKindsTest, PipesSocketsAndDevicesAreNotOpened) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "board_kinds";
  fs::remove_all(root);
  EventWriter writer(local_file_system(), (root / "a").string());
  writer.add_scalar("loss", 1, 1);
  writer.close();
  const fs::path profile = root / "plugins" / "profile" / "p";
  fs::create_directories(profile);
  const std::vector<fs::path> pipes = {root / "a" / "config.yaml",
                                       root / "a" / "hparams.json",
                                       root / "a" / "events.out.tfevents.9.pipe",
                                       root / "a" / "a_directory",
                                       profile / "h.overview_page.json",
                                       profile / "h.trace.json.gz"};
  for (const fs::path& pipe : pipes) ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0) << pipe;
  fs::create_symlink("/dev/zero", root / "a" / "params.json");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  const std::string name = "args.yaml";  // relative: a path of a socket is short
  const fs::path before = fs::current_path();
  fs::current_path(root / "a");
  std::ranges::copy(name, address.sun_path);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  fs::current_path(before);

  Logdir logdir(local_file_system(), root.string());
  logdir.refresh();
  const auto run = logdir.find_run("a");
  ASSERT_TRUE(run);
  {
    const auto hold = run->lock();
    EXPECT_EQ(run->find_tag("loss", TagKind::scalars)->scalars.size(), 1U);
    EXPECT_EQ(run->facts().problems.size(), 3U);
    EXPECT_THAT(run->facts().problems, ::testing::Each(::testing::HasSubstr("a regular file")));
  }
  EXPECT_THAT(logdir.status().problems, ElementsAre(::testing::HasSubstr("9.pipe")));
  const Board board(logdir);
  const auto get = [&](const char* path, const char* file) {
    return board
        .handle({.method = "GET",
                 .path = path,
                 .params = {{"profile", "p"}, {"file", file}},
                 .host = "localhost"})
        .body;
  };
  EXPECT_THAT(get("/api/profile_page", "h.overview_page.json"), ::testing::HasSubstr("got a pipe"));
  EXPECT_THAT(get("/api/profile_trace", "h.trace.json.gz"), ::testing::HasSubstr("got a pipe"));
  ::close(socket);
  fs::remove_all(root);
}

// -- Charts

ScalarSeries series_of(const std::vector<double>& values) {
  ScalarSeries series;
  for (size_t i = 0; i < values.size(); ++i) {
    series.add({.step = static_cast<int64_t>(i), .wall_time = 0, .value = values[i]});
  }
  return series;
}

double step_of(const ScalarPoint& point) { return static_cast<double>(point.step); }

TEST(ChartTest, SmoothingIsTensorBoards) {
  const Chart chart = make_chart(series_of({1, 3, kNaN, 2}), step_of, {.smoothing = 0.5});
  ASSERT_EQ(chart.points.size(), 4U);
  // last: 0.5, 1.75, -, 1.875; divided by 0.5, 0.75, -, 0.875.
  EXPECT_DOUBLE_EQ(chart.points[0].smoothed, 1);
  EXPECT_DOUBLE_EQ(chart.points[1].smoothed, 1.75 / 0.75);
  EXPECT_TRUE(std::isnan(chart.points[2].smoothed));
  EXPECT_DOUBLE_EQ(chart.points[3].smoothed, 1.875 / 0.875);
  const Chart constant = make_chart(series_of({0.1, 0.1, 0.1}), step_of, {.smoothing = 0.9});
  EXPECT_EQ(constant.points[2].smoothed, 0.1);
}

TEST(ChartTest, EveryBucketKeepsItsExtremesAndWhatIsNotFinite) {
  std::vector<double> values(100'000, 0.5);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  values[12'345] = 9;
  values[54'321] = -9;
  values[70'000] = kNaN;
  const Chart chart = make_chart(series_of(values), step_of, {.buckets = 100});
  EXPECT_FALSE(chart.all);
  EXPECT_LE(chart.points.size(), 506U);
  const auto has = [&](int64_t step) {
    return std::ranges::any_of(chart.points,
                               [&](const ChartPoint& p) { return p.point.step == step; });
  };
  for (const int64_t step : {0, 12'345, 54'321, 70'000, 99'999}) EXPECT_TRUE(has(step)) << step;
}

TEST(ChartTest, ARangeKeepsANeighbourOnEachSide) {
  const ScalarSeries series = series_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto steps = [&](double from, double to) {
    std::vector<int64_t> steps;
    for (const ChartPoint& p : make_chart(series, step_of, {.x_min = from, .x_max = to}).points) {
      steps.push_back(p.point.step);
    }
    return steps;
  };
  EXPECT_THAT(steps(3, 5), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(steps(3.2, 3.8), ElementsAre(3, 4));
  EXPECT_THAT(steps(-5, 0), ElementsAre(0, 1));
  EXPECT_THAT(steps(20, 30), ElementsAre());
}

}  // namespace
}  // namespace systole::board
