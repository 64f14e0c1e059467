#include "systole/profile/prediction/cpu_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/cache_folder.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/profile/prediction/machine.h"
#include "systole/runtime/memory.h"

namespace systole::profile {
namespace {

using nlohmann::json;

constexpr int64_t kCacheArray = int64_t{128} << 10;  // of three that a core reads and writes
constexpr int64_t kMemoryArray = int64_t{64} << 20;

double positive(const json& file, const char* field, const std::string& path) {
  const auto found = file.find(field);
  if (found == file.end() || !found->is_number() || !(found->get<double>() > 0)) {
    throw invalid_argument("{}: {}, got {}, expected a positive number; remove the file", path,
                           field, found == file.end() ? "none" : found->dump());
  }
  return found->get<double>();
}

PredictedOp cpu_time_of(const OpCost& cost, const CpuMachine& machine,
                        const CpuCalibration& calibration) {
  const double product = cost.flops / (machine.flops_per_second * calibration.product_share);
  const double vector = cost.vector_ops / (machine.flops_per_second * calibration.vector_ops);
  const bool cached = cost.array_bytes <= calibration.cache_bytes * machine.cores;
  const double bandwidth =
      cached ? machine.cache_bytes_per_second : machine.memory_bytes_per_second;
  const double memory = cost.array_bytes / (bandwidth * calibration.memory_share);
  PredictedOp time{.cost = cost, .seconds = std::max({product, vector, memory})};
  time.limit = time.seconds < calibration.op_seconds ? "overhead"
               : time.seconds == product             ? "products"
               : time.seconds == vector              ? "element-wise ops"
               : cached                              ? "caches"
                                                     : "memory";
  return time;
}

}  // namespace

CpuMachine measure_cpu_machine() {
  const int cores = num_cores();
  return {.name = cpu_model(),
          .cores = cores,
          .flops_per_second = measure_peak_flops(DType::f32, cores).value_or(1e9),
          .cache_bytes_per_second = measure_triad_bandwidth(kCacheArray * cores, cores),
          .memory_bytes_per_second = measure_triad_bandwidth(kMemoryArray, cores)};
}

std::string cpu_machine_path() {
  const std::string folder = default_cache_folder();
  return folder.empty() ? "" : join_path(folder, "machine.json");
}

void save_cpu_machine(const CpuMachine& machine, FileSystem& files, const std::string& path) {
  const json file = {{"name", machine.name},
                     {"cores", machine.cores},
                     {"flops_per_second", machine.flops_per_second},
                     {"cache_bytes_per_second", machine.cache_bytes_per_second},
                     {"memory_bytes_per_second", machine.memory_bytes_per_second}};
  write_file_atomically(files, path, file.dump(2) + "\n");
}

CpuMachine load_cpu_machine(FileSystem& files, const std::string& path) {
  const json file = json::parse(read_file(files, path), nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) {
    throw invalid_argument("{}: got no JSON object, expected one; remove the file", path);
  }
  const auto name = file.find("name");
  return {.name = name != file.end() && name->is_string() ? name->get<std::string>() : "",
          .cores = static_cast<int>(std::min(positive(file, "cores", path), 1e6)),
          .flops_per_second = positive(file, "flops_per_second", path),
          .cache_bytes_per_second = positive(file, "cache_bytes_per_second", path),
          .memory_bytes_per_second = positive(file, "memory_bytes_per_second", path)};
}

CpuMachine cpu_machine() {
  FileSystem& files = default_file_system();
  const std::string path = cpu_machine_path();
  try {
    if (!path.empty() && files.exists(path)) {
      CpuMachine kept = load_cpu_machine(files, path);
      if (kept.name == cpu_model() && kept.cores == num_cores()) return kept;
    }
  } catch (const Error& error) {
    log_warning("machine: measured again: {}", error.what());
  }
  return measure_cpu_machine();
}

StepPrediction predict(const StepCost& step, const CpuMachine& machine,
                       const CpuCalibration& calibration) {
  StepPrediction p = predict_ops(
      step, [&](const OpCost& cost) { return cpu_time_of(cost, machine, calibration); },
      calibration.op_seconds, calibration.step_seconds);
  p.unit = "CPU cores";
  p.memory_limit = static_cast<double>(runtime::host_memory_bytes());
  p.add_up(machine.flops_per_second);
  return p;
}

}  // namespace systole::profile
