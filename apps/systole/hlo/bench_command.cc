// systole hlo bench: times a program and each of its steps, and compares with the machine's limits.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/systole/hlo/arguments.h"
#include "apps/systole/hlo/bench_compile.h"
#include "apps/systole/hlo/hlo_commands.h"
#include "apps/systole/hlo/programs.h"
#include "systole/base/error.h"
#include "systole/base/number_text.h"
#include "systole/profile/prediction/machine.h"
#include "systole/runtime/memory.h"

namespace systole::app {
namespace {

struct BenchOptions {
  std::string file;
  std::string backend = "cpu";
  int runs = 0;
  int threads = 0;
  uint64_t seed = 1;
  std::vector<std::string> inputs;
  bool donate = false;
  bool turns = false;
  bool compile = false;
  bool json = false;
};

// The default number of runs takes about a second, within these bounds.
constexpr int kMinRuns = 5;
constexpr int kMaxRuns = 1000;
constexpr int64_t kTriadBytes = int64_t{64} << 20;  // an array of it is larger than any cache

struct Figures {
  std::vector<double> seconds;              // of each run, sorted
  std::vector<runtime::StepProfile> steps;  // sums over all profiled runs, by time
  int profiled_runs = 0;
  runtime::ExecutableStats stats;
  double flops = 0;  // of one run
  double bytes = 0;
  DType peak_dtype = DType::f32;
  std::optional<double> peak_flops;  // a second
  double peak_bytes = 0;

  double quantile(double q) const {
    return seconds[static_cast<size_t>(std::lround(q * static_cast<double>(seconds.size() - 1)))];
  }
  double median() const { return quantile(0.5); }
};

void count_products(const hlo::Computation& computation, std::map<DType, double>& elements) {
  for (const hlo::Instruction* x : computation.instructions()) {
    if (x->is(hlo::Opcode::dot_general) || x->is(hlo::Opcode::convolution))
      elements[x->operand(0).dtype()] += static_cast<double>(x->shape().num_elements());
    for (const auto& region : x->regions()) count_products(*region, elements);
  }
}

// The element type of most products, whose multiply-adds limit the program.
DType limiting_dtype(const hlo::Module& module) {
  std::map<DType, double> elements;
  for (const auto& function : module.functions()) count_products(*function, elements);
  DType best = DType::f32;
  for (const auto& [dtype, count] : elements) {
    if (count > elements[best]) best = dtype;
  }
  return best;
}

// A program with its arguments on the device, where its results stay, too.
class Launcher {
 public:
  // With `donate` each parameter that a result replaces is given up, so that the next run reads
  // what this one has written. Takes the arguments' memory over; borrows the rest.
  Launcher(runtime::Client& client, runtime::Executable& executable, const hlo::Module& module,
           std::vector<Tensor> arguments, bool donate)
      : executable_(executable), outputs_(executable.result_types().size()) {
    for (Tensor& tensor : arguments) buffers_.push_back(client.buffer_from_host(std::move(tensor)));
    for (const auto& buffer : buffers_) arguments_.push_back({.buffer = buffer.get()});
    for (std::unique_ptr<runtime::Buffer>& output : outputs_)
      results_.push_back({.device = &output});
    if (!donate) return;
    for (const auto& alias : module.aliases) {
      arguments_[static_cast<size_t>(alias.parameter)].donate = true;
      results_[static_cast<size_t>(alias.result)] = {};
    }
  }

  double seconds_of_run(const runtime::ExecuteOptions& options = {}) {
    const auto start = std::chrono::steady_clock::now();
    executable_.execute(arguments_, results_, options).wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  runtime::Executable& executable_;
  std::vector<std::unique_ptr<runtime::Buffer>> buffers_;
  std::vector<std::unique_ptr<runtime::Buffer>> outputs_;
  std::vector<runtime::Argument> arguments_;
  std::vector<runtime::Result> results_;
};

void take_steps(Launcher& launcher, int runs, Figures& figures) {
  for (int i = 0; i <= runs; ++i) {
    std::vector<runtime::StepProfile> steps;
    launcher.seconds_of_run({.profile = &steps});
    if (i == 0) continue;  // caches fill
    figures.steps.resize(steps.size());
    for (size_t k = 0; k < steps.size(); ++k) {
      runtime::StepProfile& sum = figures.steps[k];
      steps[k].runs += sum.runs;
      steps[k].seconds += sum.seconds;
      steps[k].flops += sum.flops;
      steps[k].bytes += sum.bytes;
      sum = std::move(steps[k]);
    }
  }
  figures.profiled_runs = runs;
  for (const runtime::StepProfile& step : figures.steps) {
    figures.flops += step.flops / runs;
    figures.bytes += step.bytes / runs;
  }
  std::ranges::stable_sort(figures.steps, std::ranges::greater(), &runtime::StepProfile::seconds);
}

Figures measure(const hlo::Module& module, const BenchOptions& options) {
  Figures figures;
  runtime::Client& client = backend(options.backend);
  const auto arguments = [&] { return read_arguments(module, options.inputs, options.seed); };
  int runs = options.runs;
  {
    const auto executable = client.compile(module, {.num_threads = options.threads});
    figures.stats = executable->stats();
    Launcher launcher(client, *executable, module, arguments(), options.donate);
    launcher.seconds_of_run();
    const double once = launcher.seconds_of_run();
    if (runs == 0) {
      runs = static_cast<int>(
          std::clamp(1 / std::max(once, 1e-9), double{kMinRuns}, double{kMaxRuns}));
    }
    for (int i = 0; i < runs; ++i) figures.seconds.push_back(launcher.seconds_of_run());
  }  // frees the memory, which the next one needs as much of
  std::ranges::sort(figures.seconds);
  const auto profiled =
      client.compile(module, {.program = {.profile = true}, .num_threads = options.threads});
  Launcher launcher(client, *profiled, module, arguments(), options.donate);
  take_steps(launcher, std::min(runs, 100), figures);
  const int cores = options.threads > 0 ? options.threads : profile::num_cores();
  figures.peak_dtype = limiting_dtype(module);
  figures.peak_flops = profile::measure_peak_flops(figures.peak_dtype, cores);
  figures.peak_bytes = profile::measure_triad_bandwidth(kTriadBytes, cores);
  return figures;
}

// How long a chunk of runs lasts, so that short programs are timed without the clock's own cost.
constexpr double kChunkSeconds = 0.03;

// Times runs for each line on standard input, a number of seconds, and prints the seconds of a run
// of each chunk: other programs measure in between.
void take_turns(const hlo::Module& module, const BenchOptions& options) {
  runtime::Client& client = backend(options.backend);
  const auto executable = client.compile(module, {.num_threads = options.threads});
  Launcher launcher(client, *executable, module,
                    read_arguments(module, options.inputs, options.seed), options.donate);
  launcher.seconds_of_run();
  const double once = launcher.seconds_of_run();
  const auto runs = std::max<int64_t>(1, std::llround(kChunkSeconds / std::max(once, 1e-9)));
  const auto print = [](const nlohmann::json& json) {
    fmt::print("{}\n", json.dump());
    std::fflush(stdout);
  };
  print({{"compile_seconds", executable->stats().compile_seconds},
         {"temp_bytes", executable->stats().temp_bytes}});
  for (std::string line; std::getline(std::cin, line);) {
    const std::optional<double> wanted = parse_number<double>(line);
    if (!wanted || !(*wanted <= 3600)) {
      throw invalid_argument("standard input, got \"{}\", expected seconds, at most 3600", line);
    }
    double left = *wanted;
    std::vector<double> seconds;
    for (; left > 0 || seconds.empty(); left -= seconds.back() * static_cast<double>(runs)) {
      double sum = 0;
      for (int64_t i = 0; i < runs; ++i) sum += launcher.seconds_of_run();
      seconds.push_back(sum / static_cast<double>(runs));
    }
    print({{"seconds", seconds}});
  }
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}", 100 * part / whole) : "-";
}

void print_steps(const Figures& f) {
  double total = 0;
  for (const runtime::StepProfile& step : f.steps) total += step.seconds;
  fmt::print("\n{:>6} {:>12} {:>7} {:>9} {:>7} {:>8} {:>7}  {}\n", "time %", "time of run", "runs",
             "GFLOP/s", "peak %", "GB/s", "triad %", "step (* by its reference value)");
  for (const runtime::StepProfile& step : f.steps) {
    const double flops = step.seconds > 0 ? step.flops / step.seconds : 0;
    const double bytes = step.seconds > 0 ? step.bytes / step.seconds : 0;
    fmt::print("{:>6} {:>12} {:>7} {:>9.2f} {:>7} {:>8.2f} {:>7}  {}{}\n",
               share_text(step.seconds, total), time_text(step.seconds / f.profiled_runs),
               step.runs / f.profiled_runs, flops * 1e-9,
               share_text(flops, f.peak_flops.value_or(0)), bytes * 1e-9,
               share_text(bytes, f.peak_bytes), step.step, step.interpreted ? " *" : "");
  }
}

void print_table(const Figures& f, const BenchOptions& options) {
  fmt::print("{} on {}\n", options.file, options.backend);
  fmt::print("  time       {} a run (median of {}; 10 % below {}, 10 % above {})\n",
             time_text(f.median()), f.seconds.size(), time_text(f.quantile(0.1)),
             time_text(f.quantile(0.9)));
  fmt::print("  compile    {}\n", time_text(f.stats.compile_seconds));
  fmt::print("  memory     arguments {}, results {}, temporaries {}\n",
             runtime::bytes_text(static_cast<double>(f.stats.argument_bytes)),
             runtime::bytes_text(static_cast<double>(f.stats.result_bytes)),
             runtime::bytes_text(static_cast<double>(f.stats.temp_bytes)));
  if (f.steps.empty()) {
    fmt::print("  steps      {} does not tell\n", options.backend);
    return;
  }
  fmt::print("  operations {:.4g} GFLOP, {:.2f} GFLOP/s", f.flops * 1e-9,
             f.flops / f.median() * 1e-9);
  if (f.peak_flops) {
    fmt::print(", {} % of {:.1f} ({} multiply-adds, measured now)",
               share_text(f.flops / f.median(), *f.peak_flops), *f.peak_flops * 1e-9, f.peak_dtype);
  }
  fmt::print("\n  traffic    {}, {:.2f} GB/s, {} % of {:.1f} (triad, measured now)\n",
             runtime::bytes_text(f.bytes), f.bytes / f.median() * 1e-9,
             share_text(f.bytes / f.median(), f.peak_bytes), f.peak_bytes * 1e-9);
  print_steps(f);
}

void print_json(const Figures& f, const BenchOptions& options) {
  nlohmann::ordered_json json = {
      {"file", options.file},
      {"backend", options.backend},
      {"runs", f.seconds.size()},
      {"seconds_median", f.median()},
      {"seconds_p10", f.quantile(0.1)},
      {"seconds_p90", f.quantile(0.9)},
      {"compile_seconds", f.stats.compile_seconds},
      {"argument_bytes", f.stats.argument_bytes},
      {"result_bytes", f.stats.result_bytes},
      {"temp_bytes", f.stats.temp_bytes},
      {"reference_steps", f.stats.reference_steps},
      {"flops", f.flops},
      {"bytes", f.bytes},
      {"peak_flops_per_second", f.peak_flops.value_or(0)},
      {"peak_flops_dtype", to_string(f.peak_dtype)},
      {"peak_bytes_per_second", f.peak_bytes},
      {"steps", nlohmann::ordered_json::array()},
  };
  for (const runtime::StepProfile& step : f.steps) {
    json["steps"].push_back({{"step", step.step},
                             {"interpreted", step.interpreted},
                             {"runs", step.runs / f.profiled_runs},
                             {"seconds", step.seconds / f.profiled_runs},
                             {"flops", step.flops / f.profiled_runs},
                             {"bytes", step.bytes / f.profiled_runs}});
  }
  fmt::print("{}\n", json.dump(2));
}

void run_bench(const BenchOptions& options) {
  backend(options.backend);  // a wrong name is told before a wrong file
  check_inputs(options.inputs);
  const auto module = read_program(options.file);
  ensure_main(*module);
  remove_checks(*module);
  if (options.donate && module->aliases.empty()) {
    throw invalid_argument(
        "{}: --donate, got no parameter that a result replaces, expected tf.aliasing_output on "
        "one: jax.jit(step, donate_argnums=0) writes it",
        options.file);
  }
  if (options.compile)
    return bench_compile(*module, options.backend, options.threads, options.json);
  if (options.turns) return take_turns(*module, options);
  const Figures figures = measure(*module, options);
  options.json ? print_json(figures, options) : print_table(figures, options);
}

}  // namespace

void add_bench_command(CommandLine& line) {
  auto options = std::make_shared<BenchOptions>();
  line.option("file", options->file, "StableHLO text or MLIR bytecode; - is standard input")
      .required();
  line.option("--backend", options->backend, "The backend that runs the program")
      .value_name(kBackendNames)
      .show_default();
  line.option("--runs", options->runs, "Number of timed runs; 0: as many as take about a second")
      .show_default()
      .not_negative();
  line.option("--threads", options->threads, "Threads per run; 0: chosen by the backend")
      .show_default()
      .not_negative();
  line.option("--input", options->inputs, "Value of a parameter of main")
      .value_name("NUMBER=FILE.npy");
  line.option("--seed", options->seed, "Seed of the parameters without --input").show_default();
  line.flag("--donate", options->donate,
            "Gives up the parameters that results replace, as a training step does: the next run "
            "reads what this one has written");
  line.flag("--compile", options->compile,
            "Compiles the program once, and prints how long each part of that takes; "
            "SYSTOLE_CACHE_DIR= makes its code, too, and does not take it from the cache");
  line.flag("--json", options->json, "Prints the figures as JSON");
  line.flag(
      "--turns", options->turns,
      "Measures whenever standard input has a line, a number of seconds, and prints the seconds "
      "of each run as JSON: for comparisons with other programs in turns");
  line.on_run([options] { run_bench(*options); });
}

}  // namespace systole::app
