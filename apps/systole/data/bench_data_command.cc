// systole data bench: measures the speed of an input pipeline and the time of its stages.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/systole/data/data_commands.h"
#include "apps/systole/data/pipeline_spec.h"
#include "apps/systole/data/record_scan.h"
#include "systole/base/available_cpus.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::app {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kLimitBytes = uint64_t{512} << 20U;  // read for the limit

struct BenchOptions {
  std::string pipeline;
  double seconds = 5;
  bool json = false;
};

struct Measured {
  double first_seconds = 0;  // until the first element
  double seconds = 0;        // for those after it
  int64_t elements = 0;
  int64_t examples = 0;
  int64_t bytes = 0;
  std::vector<StageStats> stages;

  double elements_per_second() const { return static_cast<double>(elements) / seconds; }
  double examples_per_second() const { return static_cast<double>(examples) / seconds; }
  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

// The highest possible speed of a pipeline of records; all 0 for other pipelines.
struct Limit {
  double records_per_second = 0;
  int64_t threads = 1;          // that read at once
  double given_per_second = 0;  // records that the pipeline has read
  std::string damage;

  double share() const { return given_per_second / records_per_second; }
};

double seconds_since(SteadyClock::time_point then) {
  return std::chrono::duration<double>(SteadyClock::now() - then).count();
}

Measured measure(const Pipeline& pipeline, double seconds) {
  Measured result;
  Iterator iterator = pipeline.dataset.make_iterator();
  Components row;
  auto start = SteadyClock::now();
  if (!iterator.next_row(row)) {
    throw failed_precondition("{}: elements, got none, expected some",
                              pipeline.dataset.to_string());
  }
  result.first_seconds = seconds_since(start);
  start = SteadyClock::now();
  while (result.seconds < seconds && iterator.next_row(row)) {
    ++result.elements;
    const bool rows = pipeline.batched && !row.empty() && row[0].rank() > 0;
    result.examples += rows ? row[0].dim(0) : 1;
    for (const Tensor& tensor : row) {
      if (tensor.dtype() != DType::string) {
        result.bytes += tensor.byte_size();
        continue;
      }
      for (const std::string& text : tensor.data<std::string>()) {
        result.bytes += static_cast<int64_t>(text.size());
      }
    }
    result.seconds = seconds_since(start);
  }
  if (result.elements == 0) {
    throw failed_precondition("{}: elements, got one, expected more (add repeat)",
                              pipeline.dataset.to_string());
  }
  result.stages = iterator.stats();
  return result;
}

// The number of files that the pipeline reads in parallel.
int64_t reading_threads(const Pipeline& pipeline) {
  const auto cores = int64_t{available_cpus()};
  const int64_t reads = pipeline.parallel_reads == AUTOTUNE ? cores : pipeline.parallel_reads;
  const auto files = static_cast<int64_t>(pipeline.record_files.size());
  return std::max<int64_t>(1, std::min({reads, cores, files}));
}

// Includes the time to the first element, because elements were read ahead during it, and records
// that produce no element. Cached records count once.
double records_per_second(const Measured& measured) {
  for (const StageStats& stage : measured.stages) {
    if (stage.name != "TFRecordDataset") continue;
    return static_cast<double>(stage.elements) / (measured.first_seconds + measured.seconds);
  }
  return 0;
}

Limit limit_of(const Pipeline& pipeline, const Measured& measured) {
  const RecordScan scan =
      scan_records(default_file_system(), pipeline.record_files,
                   compression_from_tf(pipeline.compression), kLimitBytes, real_clock());
  Limit limit = {.threads = reading_threads(pipeline), .damage = scan.damage};
  if (scan.seconds <= 0) return limit;
  limit.records_per_second =
      static_cast<double>(limit.threads) * static_cast<double>(scan.records) / scan.seconds;
  limit.given_per_second = records_per_second(measured);
  return limit;
}

void print_limit(const Limit& limit) {
  if (limit.records_per_second > 0) {
    fmt::print(
        "limit     {:.4g} records a second, reading the files{} and computing checksums only; the "
        "pipeline read {:.4g}, {:.1f} % of it\n",
        limit.records_per_second,
        limit.threads > 1 ? fmt::format(" on {} threads", limit.threads) : "",
        limit.given_per_second, 100 * limit.share());
    if (!limit.damage.empty()) fmt::print("          of the readable part: {}\n", limit.damage);
  } else if (!limit.damage.empty()) {
    fmt::print("limit     not known: {}\n", limit.damage);
  }
}

void print_stages(const Measured& measured) {
  size_t width = 5;
  for (const StageStats& stage : measured.stages) {
    width = std::max(width, stage.name.size() + 2 * static_cast<size_t>(stage.depth > 0));
  }
  fmt::print("\n{:<{}} {:>12} {:>10} {:>12} {:>12}\n", "stage", width, "elements", "busy s",
             "us each", "waited s");
  for (const StageStats& stage : measured.stages) {
    const double each =
        stage.elements == 0 ? 0 : 1e6 * stage.busy_seconds / static_cast<double>(stage.elements);
    fmt::print("{:<{}} {:>12} {:>10.3f} {:>12.3f} {:>12}\n", stage.name, width, stage.elements,
               stage.busy_seconds, each,
               stage.threaded ? fmt::format("{:.3f}", stage.waited_seconds) : "-");
  }
  const auto slowest =
      std::ranges::max_element(measured.stages, {}, &StageStats::busy_seconds_of_each);
  if (slowest == measured.stages.end()) return;
  fmt::print("\nmost time is spent in {}\n", slowest->name);
}

nlohmann::ordered_json json_of(const Pipeline& pipeline, const Measured& measured,
                               const Limit& limit) {
  nlohmann::ordered_json json = {{"pipeline", pipeline.dataset.to_string()},
                                 {"first_element_seconds", measured.first_seconds},
                                 {"elements_per_second", measured.elements_per_second()},
                                 {"examples_per_second", measured.examples_per_second()},
                                 {"bytes_per_second", measured.bytes_per_second()}};
  if (limit.records_per_second > 0) {
    json["limit_records_per_second"] = limit.records_per_second;
    json["records_per_second"] = limit.given_per_second;
  }
  if (!limit.damage.empty()) json["damage"] = limit.damage;
  for (const StageStats& stage : measured.stages) {
    json["stages"].push_back({{"name", stage.name},
                              {"elements", stage.elements},
                              {"busy_seconds", stage.busy_seconds},
                              {"waited_seconds", stage.waited_seconds}});
  }
  return json;
}

// A file's name, or the pipeline itself.
Pipeline pipeline_of(const std::string& given) {
  FileSystem& fs = default_file_system();
  if (given.find_first_of("[\n") != std::string::npos) return parse_pipeline(given);
  if (!fs.exists(given)) {
    throw not_found("{}: file, got none, expected one, or a list such as '[{}]'", given,
                    given.find(": ") == std::string::npos ? "range: 100" : given);
  }
  return parse_pipeline(read_file(fs, given), given);
}

void run_bench(const BenchOptions& options) {
  const Pipeline pipeline = pipeline_of(options.pipeline);
  const Measured measured = measure(pipeline, options.seconds);
  const Limit limit = limit_of(pipeline, measured);
  if (options.json) {
    fmt::print("{}\n", json_of(pipeline, measured, limit).dump(2));
    return;
  }
  fmt::print("{}\n", pipeline.dataset.to_string());
  fmt::print("first     {:.1f} ms to the first element\n", 1e3 * measured.first_seconds);
  fmt::print("elements  {:.4g} a second\n", measured.elements_per_second());
  fmt::print("examples  {:.4g} a second\n", measured.examples_per_second());
  fmt::print("tensors   {:.4g} MB/s\n", 1e-6 * measured.bytes_per_second());
  print_limit(limit);
  print_stages(measured);
}

}  // namespace

void add_bench_data_command(CommandLine& line) {
  auto options = std::make_shared<BenchOptions>();
  line.option("pipeline", options->pipeline,
              "YAML: a file, or a list such as '[tfrecord: out/train-*, batch: 1024]'")
      .required();
  line.option("--seconds", options->seconds, "Duration, if the data lasts")
      .positive()
      .show_default();
  line.flag("--json", options->json, "Prints JSON");
  line.on_run([options] { run_bench(*options); });
}

}  // namespace systole::app
