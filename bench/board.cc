// The dashboard: reading a gigabyte of events, and the points of a chart. The limit of loading is a
// plain loop that reads and checksums the same bytes.
#include "apps/board/board.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "apps/board/logdir.h"
#include "bench/figures.h"
#include "bench/plain_read.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/local/local_file_system.h"

namespace bench {
namespace {

namespace board = systole::board;

constexpr int kRuns = 2;
constexpr int64_t kBytes = int64_t{1} << 30;
constexpr int kTags = 10;
constexpr int64_t kQueryPoints = 1'000'000;

// Two runs with ten curves each, together a gigabyte, removed at exit.
class EventFolder {
 public:
  EventFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("systole_bench_board." + std::to_string(::getpid()))) {
    for (int run = 0; run < kRuns; ++run) write_run(run);
  }
  ~EventFolder() { std::filesystem::remove_all(path_); }
  EventFolder(const EventFolder&) = delete;
  EventFolder& operator=(const EventFolder&) = delete;

  static const EventFolder& get() {
    static const EventFolder folder;
    return folder;
  }
  std::string path() const { return path_.string(); }
  const std::vector<std::string>& files() const { return files_; }

 private:
  void write_run(int run) {
    systole::EventWriter writer(systole::local_file_system(),
                                (path_ / ("run_" + std::to_string(run))).string());
    files_.push_back(writer.path());
    std::vector<systole::SummaryValue> values(kTags);
    for (int tag = 0; tag < kTags; ++tag) {
      values[static_cast<size_t>(tag)].tag = "layer_" + std::to_string(tag) + "/activation/mean";
      values[static_cast<size_t>(tag)].kind = systole::SummaryValue::Kind::scalar;
    }
    constexpr int64_t kStepsBetweenLooks = 1000;
    for (int64_t step = 0;; ++step) {
      for (systole::SummaryValue& value : values) {
        value.scalar = std::sin(static_cast<float>(step) * 0.01F);
      }
      writer.add_values(step, values);
      if (step % kStepsBetweenLooks != 0) continue;
      writer.flush();
      if (static_cast<int64_t>(std::filesystem::file_size(writer.path())) >= kBytes / kRuns) break;
    }
    writer.close();
  }

  std::filesystem::path path_;
  std::vector<std::string> files_;
};

void load(benchmark::State& state) {
  const EventFolder& folder = EventFolder::get();
  for (auto _ : state) {
    board::Logdir logdir(systole::local_file_system(), folder.path(),
                         {.max_memory_bytes = size_t{4} << 30U});
    logdir.refresh();
    benchmark::DoNotOptimize(logdir.status().bytes_read);
  }
}

void plain_read(benchmark::State& state) {
  constexpr size_t kBuffer = 1U << 18U;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kBuffer);
  for (auto _ : state) {
    for (const std::string& path : EventFolder::get().files()) {
      benchmark::DoNotOptimize(plain_checksum(path, {buffer.get(), kBuffer}));
    }
  }
}

// A series of a million points, as a request for a chart reads it.
void query(benchmark::State& state) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("systole_bench_query." + std::to_string(::getpid()));
  {
    systole::EventWriter writer(systole::local_file_system(), path.string());
    for (int64_t step = 0; step < kQueryPoints; ++step) {
      writer.add_scalar("loss", step, std::sin(static_cast<double>(step)));
    }
    writer.close();
  }
  board::Logdir logdir(systole::local_file_system(), path.string());
  logdir.refresh();
  const board::Board served(logdir);
  const board::Request request{.method = "POST",
                               .path = "/api/scalars",
                               .host = "localhost",
                               .body = R"({"tag": "loss", "runs": [0], "smoothing": 0.6})"};
  for (auto _ : state) benchmark::DoNotOptimize(served.handle(request).body.size());
  std::filesystem::remove_all(path);
}

}  // namespace

void add_board_figures() {
  add({.name = "board.load.1GB",
       .unit = "GB/s",
       .work = 1e-9 * static_cast<double>(kBytes),
       .ours = load,
       .limit = plain_read});
  add({.name = "board.query", .unit = "M points/s", .work = 1e-6 * kQueryPoints, .ours = query});
}

}  // namespace bench
