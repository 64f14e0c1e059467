// systole data bench: how fast an input pipeline is, and which of its stages takes the time.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/systole/data/data_commands.h"
#include "apps/systole/data/pipeline_spec.h"
#include "apps/systole/data/record_scan.h"
#include "systole/io/local_file_system.h"

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
};

double seconds_since(SteadyClock::time_point then) {
  return std::chrono::duration<double>(SteadyClock::now() - then).count();
}

Measured measure(const Pipeline& pipeline, double seconds) {
  Measured result;
  Iterator iterator = pipeline.dataset.make_iterator();
  Row row;
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

// Records a second at which the files of a pipeline can be read at all; 0 for other sources.
double limit_of(const Pipeline& pipeline) {
  const RecordScan scan =
      scan_records(local_file_system(), pipeline.record_files,
                   compression_from_tf(pipeline.compression), kLimitBytes, real_clock());
  return scan.seconds > 0 ? static_cast<double>(scan.records) / scan.seconds : 0;
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
  const auto slowest = std::ranges::max_element(measured.stages, {}, &StageStats::busy_seconds);
  if (slowest == measured.stages.end()) return;
  fmt::print("\nmost time goes into {}\n", slowest->name);
}

nlohmann::ordered_json json_of(const Pipeline& pipeline, const Measured& measured, double limit) {
  nlohmann::ordered_json json = {
      {"pipeline", pipeline.dataset.to_string()},
      {"first_element_seconds", measured.first_seconds},
      {"elements_per_second", static_cast<double>(measured.elements) / measured.seconds},
      {"examples_per_second", static_cast<double>(measured.examples) / measured.seconds},
      {"bytes_per_second", static_cast<double>(measured.bytes) / measured.seconds}};
  if (limit > 0) json["limit_records_per_second"] = limit;
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
  FileSystem& fs = local_file_system();
  if (given.find_first_of("[\n") != std::string::npos) return parse_pipeline(given);
  if (!fs.exists(given)) {
    throw not_found("{}: file, got none, expected one, or a list such as '[{}]'", given,
                    given.find(": ") == std::string::npos ? "range: 100" : given);
  }
  return parse_pipeline(read_file(fs, given), given);
}

void run_bench(const BenchOptions& options) {
  const Pipeline pipeline = pipeline_of(options.pipeline);
  const double limit = limit_of(pipeline);
  const Measured measured = measure(pipeline, options.seconds);
  if (options.json) {
    fmt::print("{}\n", json_of(pipeline, measured, limit).dump(2));
    return;
  }
  const double examples = static_cast<double>(measured.examples) / measured.seconds;
  fmt::print("{}\n", pipeline.dataset.to_string());
  fmt::print("first     {:.1f} ms to the first element\n", 1e3 * measured.first_seconds);
  fmt::print("elements  {:.4g} a second\n",
             static_cast<double>(measured.elements) / measured.seconds);
  fmt::print("examples  {:.4g} a second\n", examples);
  fmt::print("tensors   {:.4g} MB/s\n",
             1e-6 * static_cast<double>(measured.bytes) / measured.seconds);
  if (limit > 0) {
    fmt::print(
        "limit     {:.4g} records a second: the files read and checksums taken, no more; "
        "{:.1f} % of it\n",
        limit, 100 * examples / limit);
  }
  print_stages(measured);
}

}  // namespace

void add_bench_data_command(CommandLine& line) {
  auto options = std::make_shared<BenchOptions>();
  line.option("pipeline", options->pipeline,
              "YAML: a file, or a list such as '[tfrecord: out/train-*, batch: 1024]'")
      .required();
  line.option("--seconds", options->seconds, "How long, if the data lasts")
      .positive()
      .show_default();
  line.flag("--json", options->json, "Prints JSON");
  line.on_run([options] { run_bench(*options); });
}

}  // namespace systole::app
