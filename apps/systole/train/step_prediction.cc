#include "apps/systole/train/step_prediction.h"

#include <fmt/core.h>

#include <cmath>

#include "systole/io/file_systems/file_systems.h"
#include "systole/profile/prediction/cpu_machine.h"
#include "systole/profile/prediction/dense_net.h"
#include "systole/profile/prediction/program_cost.h"
#include "systole/profile/writer.h"
#include "systole/runtime/tpu_memory.h"
#include "systole/tpu_check/published_steps.h"

namespace systole::app {
namespace {

using profile::StepPrediction;
using profile::TpuSystem;

CheckReport report_for(TrainingConfig config, const InputFn& input, int64_t batch_size) {
  config.estimator.train_batch_size = batch_size;
  return TPUEstimator(config.estimator).check(input);
}

}  // namespace

CheckReport report_on(const std::string& system, int cores, const TrainingConfig& config,
                      const InputFn& input) {
  const int64_t batch = config.estimator.train_batch_size.value_or(0);
  if (batch == 0) {
    throw invalid_argument("estimator.train_batch_size: got none, expected one for {}", system);
  }
  if (batch % cores != 0) {
    throw invalid_argument(
        "estimator.train_batch_size: got {}, expected a multiple of the {} cores of {}", batch,
        cores, system);
  }
  CheckReport report = report_for(config, input, batch);
  const int64_t of_core = batch / cores;
  if (report.step.batch_size == of_core || report.step.batch_size == 0) return report;
  // The configured number of cores is another one.
  return report_for(config, input, of_core * (batch / report.step.batch_size));
}

namespace {

void need_program(const CheckReport& report) {
  if (report.step.module == nullptr) {
    throw failed_precondition(
        "model: program of a step, got none, expected one: correct what `systole check` names "
        "without --predict");
  }
}

profile::StepCost step_cost(CheckReport& report, const runtime::TpuGeneration& generation) {
  need_program(report);
  report.fit_into(runtime::core_memory(generation));
  profile::StepCost cost = profile::step_of(*report.step.module, generation);
  cost.resident_bytes = static_cast<double>(report.memory.total());
  // Without CrossShardOptimizer, as on one core, the program has no sums over cores.
  cost.all_reduce_bytes =
      std::max(cost.all_reduce_bytes, static_cast<double>(report.step.gradient_bytes));
  cost.all_reduces = std::max(cost.all_reduces, static_cast<double>(report.step.gradients));
  cost.infeed_bytes = static_cast<double>(report.step.input_bytes);
  return cost;
}

StepPrediction predict_model(const std::string& name, const TrainingConfig& config,
                             const InputFn& input) {
  if (name == "cpu") {
    // The cores of a CPU share the work of one replica.
    const CheckReport report = report_on(name, 1, config, input);
    need_program(report);
    return profile::predict(profile::cpu_cost_of(*report.step.module), profile::cpu_machine());
  }
  const TpuSystem system = profile::tpu_system(name);
  CheckReport report = report_on(name, system.cores, config, input);
  return profile::predict(step_cost(report, *system.generation), system);
}

// "3 h 25 min", "12.4 s".
std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.3g} s", seconds);
  const int64_t minutes = std::llround(seconds / 60);
  return minutes < 60 ? fmt::format("{} min", minutes)
                      : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string training_text(const StepPredictionOptions& options, int64_t steps,
                          double step_seconds) {
  if (steps <= 0) return "";
  const double seconds = static_cast<double>(steps) * step_seconds;
  const std::string price =
      options.price > 0 ? fmt::format(", price {:.2f}", options.price * seconds / 3600) : "";
  return fmt::format("{} steps    {}{}\n", steps, duration(seconds), price);
}

int64_t steps_of(const TrainingConfig& config, const StepPredictionOptions& options) {
  if (options.steps > 0) return options.steps;
  return config.train.max_steps.value_or(config.train.steps.value_or(0));
}

// US dollars; "" where the price of an hour is not published.
std::string price_text(double price_per_hour, double seconds) {
  return price_per_hour > 0 ? fmt::format("{:.2f}", price_per_hour * seconds / 3600) : "-";
}

// A line for a slice of each generation. A price is that of Google's list, on demand.
FileCheck predict_on_all(const TrainingConfig& config, const InputFn& input,
                         const StepPredictionOptions& options) {
  const int64_t steps = steps_of(config, options);
  FileCheck check{fmt::format("{:8} {:>5} {:>13} {:>10} {:>12} {:>8} {:>14} {:>9}  {}\n", "TPU",
                              "fits", "GB a core", "ms a step", "examples/s", "$ a hour",
                              fmt::format("{} steps", steps), "$", "limited by"),
                  nlohmann::json::array(),
                  {}};
  for (const std::string_view name : profile::examples_of_tpu_systems()) {
    const TpuSystem system = profile::tpu_system(name);
    const StepPrediction p = predict_model(system.name, config, input);
    const double examples =
        static_cast<double>(*config.estimator.train_batch_size) / p.step_seconds;
    const double seconds = static_cast<double>(steps) * p.step_seconds;
    check.text +=
        fmt::format("{:8} {:>5} {:>13} {:10.3f} {:12.4g} {:>8} {:>14} {:>9}  {}\n", system.name,
                    p.fits() ? "yes" : "no",
                    fmt::format("{:.2f} of {:.1f}", 1e-9 * p.memory_bytes, 1e-9 * p.memory_limit),
                    1e3 * p.step_seconds, examples, price_text(system.price_per_hour(), 3600),
                    duration(seconds), price_text(system.price_per_hour(), seconds), p.limit);
    nlohmann::json row = p.to_json(system.name, 0);
    row["steps"] = steps;
    row["price_per_hour"] = system.price_per_hour();
    check.json.push_back(std::move(row));
  }
  return check;
}

}  // namespace

FileCheck predict_step(const TrainingConfig& config, const InputFn& input,
                       const StepPredictionOptions& options) {
  if (options.system == "all") return predict_on_all(config, input, options);
  const StepPrediction prediction = predict_model(options.system, config, input);
  const auto batch = static_cast<double>(*config.estimator.train_batch_size);
  const int64_t steps = steps_of(config, options);
  FileCheck check{fmt::format("{} with batches of {}: {:.4g} examples/s\n{}{}", options.system,
                              batch, batch / prediction.step_seconds, prediction.to_string(),
                              training_text(options, steps, prediction.step_seconds)),
                  prediction.to_json(options.system),
                  {}};
  check.json["batch_size"] = batch;
  check.json["steps"] = steps;
  check.json["price_per_hour"] = options.price;
  if (options.logdir.empty()) return check;
  const std::string path =
      profile::write_page(check.json, "prediction", options.logdir, default_file_system());
  check.text += fmt::format("page for `systole board {}`: {}\n", options.logdir, path);
  return check;
}

void print_published_steps(const std::string& path) {
  fmt::print("{:44} {:9} {:>12} {:>13} {:>8}  {}\n", "", "TPU", "measured ms", "predicted ms",
             "error %", "measured by");
  for (const tpu_check::PublishedStep& step :
       tpu_check::published_steps(default_file_system(), path)) {
    fmt::print("{:44} {:9} {:12.4g} {:13.4g} {:+8.1f}  {}\n", step.name, step.system,
               1e3 * step.measured_seconds, 1e3 * step.predicted_seconds, 100 * (step.ratio() - 1),
               step.source);
  }
}

namespace {

void print_net(const profile::DenseNet& net, const StepPrediction& p) {
  const double ms = 1e3 * p.step_seconds;
  const std::string measured = net.steps_per_second
                                   ? fmt::format("{:.3f}", 1e3 / *net.steps_per_second)
                               : net.out_of_memory ? "OOM"
                                                   : "-";
  const std::string error =
      net.steps_per_second && p.fits()
          ? fmt::format("{:+.1f}", 100 * (1e-3 * ms * *net.steps_per_second - 1))
          : "-";
  fmt::print("{:6}  {:5}  {:5}  {:6}  {:5}  {:>12}  {:>11}  {:>7}  {}\n", net.hidden_layers,
             net.nodes, net.input, net.output, net.global_batch,
             p.fits() ? fmt::format("{:.3f}", ms) : "OOM", measured, error,
             p.fits() ? p.limit : "memory size");
}

void print_errors(const char* what, const profile::PredictionErrors& errors) {
  if (errors.memory_count == 0) return;
  fmt::print(
      "{}: {} measured, median error {:.1f} %, 90th percentile {:.1f} %; whether it fits "
      "into memory: {} of {} right\n",
      what, errors.count, 100 * errors.median, 100 * errors.percentile_90, errors.memory_right,
      errors.memory_count);
}

}  // namespace

void print_table_prediction(const StepPredictionOptions& options) {
  const TpuSystem system = profile::tpu_system(options.system);
  const auto nets =
      profile::read_dense_nets(read_file(default_file_system(), options.csv), options.csv);
  fmt::print("layers  nodes  input  output  batch  predicted ms  measured ms  error %  limit\n");
  std::vector<StepPrediction> predictions;
  for (const profile::DenseNet& net : nets) {
    predictions.push_back(profile::predict(profile::cost_of(net, system), system));
    print_net(net, predictions.back());
  }
  print_errors("half of the calibration", profile::prediction_errors(nets, predictions, true));
  print_errors("other half", profile::prediction_errors(nets, predictions, false));
}

}  // namespace systole::app
