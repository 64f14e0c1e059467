#include "systole/profile/prediction/step_cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace systole::profile {
namespace {

constexpr int64_t kSublanes = 8;

int64_t blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Returns what the memory beside the chip gives and takes.
double bytes_off_chip(const OpCost& cost, const TpuCalibration& calibration) {
  double bytes = cost.memory_bytes + (calibration.copies_tables ? cost.copied_bytes : 0);
  for (const double array : cost.arrays) {
    if (array < calibration.kept_on_chip) bytes -= array;
  }
  return bytes;
}

// What is read and written to turn the old values, and again to turn the new ones back.
double turned_bytes(const OpCost& cost, const TpuCalibration& calibration) {
  double bytes = 0;
  for (const double array : cost.updated) bytes += array < calibration.kept_on_chip ? 0 : 4 * array;
  return bytes;
}

PredictedOp time_of(const OpCost& cost, const runtime::TpuGeneration& core,
                    const TpuCalibration& calibration) {
  const double matrix = cost.matrix_cycles(core.matrix_size) /
                        (core.clock_hz * core.matrix_units * calibration.matrix_share);
  const double vector = cost.vector_ops / core.vector_ops_per_second();
  const double bytes = bytes_off_chip(cost, calibration);
  double memory = bytes / (core.hbm_bytes_per_second * calibration.memory_share);
  if (cost.only_writes && calibration.fill_bytes_per_cycle > 0)
    memory = std::max(memory, bytes / (calibration.fill_bytes_per_cycle * core.clock_hz));
  if (calibration.turned_bytes_per_cycle > 0)
    memory +=
        turned_bytes(cost, calibration) / (calibration.turned_bytes_per_cycle * core.clock_hz);
  PredictedOp time{.cost = cost, .seconds = std::max({matrix, vector, memory})};
  time.limit = time.seconds * core.clock_hz < calibration.op_cycles ? "overhead"
               : time.seconds == matrix                             ? "matrix unit"
               : time.seconds == vector                             ? "vector unit"
                                                                    : "memory";
  return time;
}

std::string milliseconds(double seconds) { return fmt::format("{:9.3f} ms", 1e3 * seconds); }

}  // namespace

double product_cycles(int64_t m, int64_t k, int64_t n, int64_t matrix_size) {
  return static_cast<double>(blocks(m, kSublanes) * kSublanes) *
         static_cast<double>(blocks(k, matrix_size)) * static_cast<double>(blocks(n, matrix_size));
}

double OpCost::matrix_cycles(int64_t matrix_size) const {
  if (!product) return flops / (2.0 * static_cast<double>(matrix_size * matrix_size));
  if (product->rows == 0) return 0;
  const auto& [count, m, k, n, dilation] = *product;
  double cycles = product_cycles(m, k, n, matrix_size);
  if (!is_convolution) cycles = std::min(cycles, product_cycles(n, k, m, matrix_size));
  // Zeros that dilation puts between elements are not multiplied.
  return static_cast<double>(count) * cycles / static_cast<double>(dilation);
}

StepPrediction predict_ops(const StepCost& step,
                           const std::function<PredictedOp(const OpCost&)>& time_of,
                           double op_seconds, double step_seconds) {
  StepPrediction p;
  p.overhead_seconds = step_seconds;
  for (const OpCost& cost : step.ops) {
    PredictedOp& op = p.ops.emplace_back(time_of(cost));
    op.seconds *= cost.times;
    p.compute_seconds += op.seconds;
    p.overhead_seconds += op_seconds * cost.times;
  }
  p.memory_bytes = step.resident_bytes;
  return p;
}

void StepPrediction::add_up(double peak_flops, bool overlap) {
  const double kernels = compute_seconds + overhead_seconds;
  device_seconds = overlap ? std::max(kernels, all_reduce_seconds) : kernels + all_reduce_seconds;
  step_seconds = std::max(device_seconds, infeed_seconds);
  std::map<std::string, double> seconds_by_limit;
  double flops = 0;
  for (const PredictedOp& op : ops) {
    seconds_by_limit[op.limit] += op.seconds;
    flops += op.cost.flops * op.cost.times;
  }
  seconds_by_limit["overhead"] += overhead_seconds;
  if (!overlap || all_reduce_seconds > kernels) seconds_by_limit["all-reduce"] = all_reduce_seconds;
  matrix_share = flops / step_seconds / peak_flops;
  limit = infeed_seconds > device_seconds
              ? "infeed"
              : std::ranges::max_element(seconds_by_limit, {}, [](const auto& part) {
                  return part.second;
                })->first;
}

StepPrediction predict(const StepCost& step, const TpuSystem& system) {
  const runtime::TpuGeneration& core = *system.generation;
  const TpuCalibration calibration = calibration_of(core);
  const double cores = system.cores;
  StepPrediction p = predict_ops(
      step, [&](const OpCost& cost) { return time_of(cost, core, calibration); },
      calibration.op_cycles / core.clock_hz, calibration.step_seconds);
  const double moved = step.all_reduce_bytes * 2 * (cores - 1) / cores + step.link_bytes;
  p.all_reduce_seconds = moved / calibration.all_reduce_bytes_per_second +
                         step.all_reduces * calibration.all_reduce_seconds;
  const double cores_of_host = cores / system.hosts();
  p.infeed_seconds = calibration.infeed_seconds +
                     step.infeed_bytes * cores_of_host / calibration.infeed_bytes_per_second;
  p.memory_limit = static_cast<double>(core.memory_bytes);
  p.add_up(core.peak_flops(), calibration.sums_overlap);
  return p;
}

std::vector<const PredictedOp*> StepPrediction::longest_ops(size_t count) const {
  std::vector<const PredictedOp*> longest;
  for (const PredictedOp& op : ops) longest.push_back(&op);
  std::ranges::stable_sort(longest, std::greater<>(),
                           [](const PredictedOp* op) { return op->seconds; });
  longest.resize(std::min(count, longest.size()));
  return longest;
}

nlohmann::json StepPrediction::to_json(const std::string& system, size_t count) const {
  nlohmann::json rows = nlohmann::json::array();
  for (const PredictedOp* op : longest_ops(count)) {
    rows.push_back({{"name", op->cost.name},
                    {"seconds", op->seconds},
                    {"limit", op->limit},
                    {"times", op->cost.times},
                    {"flops", op->cost.flops},
                    {"memory_bytes", op->cost.memory_bytes}});
  }
  return {{"system", system},
          {"step_seconds", step_seconds},
          {"compute_seconds", compute_seconds},
          {"all_reduce_seconds", all_reduce_seconds},
          {"overhead_seconds", overhead_seconds},
          {"infeed_seconds", infeed_seconds},
          {"unit", unit},
          {"matrix_share", matrix_share},
          {"limit", limit},
          {"memory_bytes", memory_bytes},
          {"memory_limit", memory_limit},
          {"fits", fits()},
          {"ops", std::move(rows)}};
}

std::string StepPrediction::to_string(size_t count) const {
  std::string text = fmt::format("step        {}, limited by {}\n  compute   {}\n",
                                 milliseconds(step_seconds), limit, milliseconds(compute_seconds));
  if (all_reduce_seconds > 0)
    text += fmt::format("  all-reduce{}\n", milliseconds(all_reduce_seconds));
  text += fmt::format("  overhead  {}\n", milliseconds(overhead_seconds));
  if (infeed_seconds > 0)
    text += fmt::format("  infeed    {}, beside the others\n", milliseconds(infeed_seconds));
  text += fmt::format("{:<11} {:6.2f} % of its peak\n", unit, 100 * matrix_share);
  if (memory_bytes > 0) {
    text += fmt::format("memory      {:6.2f} GB of {:.2f} GB a core{}\n", memory_bytes * 1e-9,
                        memory_limit * 1e-9, fits() ? "" : ": does not fit");
  }
  const std::vector<const PredictedOp*> longest = longest_ops(count);
  if (!longest.empty()) text += "longest operations:\n";
  for (const PredictedOp* op : longest) {
    text += fmt::format("  {}  {:<11}  {}\n", milliseconds(op->seconds), op->limit, op->cost.name);
  }
  return text;
}

}  // namespace systole::profile
