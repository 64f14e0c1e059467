#include "apps/systole/train/program_check.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/systole/base/output.h"
#include "apps/systole/train/step_prediction.h"
#include "systole/base/log.h"
#include "systole/base/progress.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/profile/prediction/tpu_system.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tpu_check/program_check.h"
#include "systole/tpu_check/target.h"
#include "systole/train/saved_model.h"

namespace systole::app {
namespace {

// A line on standard error that tells how long the compiler has worked.
void show_progress(const std::string& system, double seconds) {
  if (is_quiet()) return;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  constexpr int kPlainSeconds = 10;
  if (!terminal && static_cast<int>(seconds) % kPlainSeconds != 0) return;
  fmt::print(stderr, "{}compiling for {} with libtpu: {}{}", terminal ? "\r" : "", system,
             duration_text(seconds), terminal ? "\033[K" : "\n");
  std::fflush(stderr);
}

void end_progress() {
  if (!is_quiet() && ::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
}

bool is_saved_model(const std::string& path) {
  return default_file_system().exists(join_path(path, "saved_model.pb"));
}

// The program of a SavedModel's default signature for one example, or as many as its shapes say.
std::unique_ptr<hlo::Module> served_program(const std::string& path) {
  SavedModel model(path, {});
  NamedTensors inputs;
  for (const auto& [name, info] : model.signature("").inputs) {
    std::vector<int64_t> dims;
    for (int axis = 0; info.shape && axis < info.shape->rank(); ++axis)
      dims.push_back(std::max<int64_t>((*info.shape)[axis], 1));
    inputs[name] = Tensor(info.dtype, Shape(std::move(dims)));
  }
  return model.program(inputs);
}

// What is checked: the bytes of a file, or the program of a SavedModel.
struct CheckedProgram {
  std::string file;               // its bytes
  std::string_view program = {};  // in them
};

CheckedProgram read_checked(const std::string& path) {
  CheckedProgram checked;
  if (is_saved_model(path)) {
    checked.file = hlo::print(*served_program(path), {.locations = true});
    checked.program = checked.file;
  } else {
    checked.file = read_file(default_file_system(), path);
    checked.program = tpu_check::program_in(checked.file);
  }
  return checked;
}

// Why a program is not taken.
Error refusal_of(const tpu_check::ProgramReport& report, const std::string& path) {
  if (!report.is_valid)
    return invalid_argument("{}: program, got none that is valid: {}", path, report.unknown);
  if (report.compiled && report.compiled->verdict == tpu_check::Verdict::out_of_time)
    return make_error(Code::deadline_exceeded, "{}: Google's compiler, got no verdict: {}", path,
                      report.compiled->message);
  const bool is_too_big = report.compiled
                              ? report.compiled->verdict == tpu_check::Verdict::too_big
                              : std::ranges::none_of(report.findings, &tpu_check::Finding::refused);
  if (is_too_big)
    return failed_precondition("{}: program, got one that does not fit, expected one that does",
                               path);
  return failed_precondition("{}: program, got one that a TPU would refuse, expected none", path);
}

// A batch that the cores cannot share is that of one core.
CheckReport report_for_cores(const tpu_check::Target& target, const TrainingConfig& config,
                             const InputFn& input) {
  const int64_t batch = config.estimator.train_batch_size.value_or(0);
  if (batch > 0 && batch % target.devices == 0)
    return report_on(target.system, target.devices, config, input);
  log_warning(
      "{} examples are no multiple of the {} cores of {}: the step of one core has them all", batch,
      target.devices, target.system);
  return TPUEstimator(config.estimator).check(input);
}

}  // namespace

tpu_check::CompileOptions CompilerOptions::read() const {
  return {.system = system,
          .library = library,
          .low_effort = effort == "low",
          .max_seconds = max_seconds,
          .save = save,
          .progress = [name = system](double seconds) { show_progress(name, seconds); }};
}

void add_compiler_options(CommandLine& line, CompilerOptions& options) {
  line.option("--compile", options.system,
              "Asks Google's compiler for this TPU, v2-8, v3-8... v3-2048, v4-8, v5e-4, v5p-8, "
              "v6e-8, tpu7x-8: on this machine, without a TPU, with the libtpu that you have "
              "installed")
      .value_name("TPU");
  line.option("--tpu-library", options.library,
              "libtpu.so for --compile; by default $TPU_LIBRARY_PATH, or that of the active "
              "virtual environment")
      .value_name("FILE");
  line.option("--effort", options.effort,
              "Of --compile: low takes a third to a half of the time and is good for verdicts, not "
              "for times")
      .one_of({"full", "low"})
      .show_default();
  line.option("--time-limit", options.max_seconds, "Seconds that --compile may take")
      .show_default()
      .positive();
  line.option("--save", options.save,
              "Writes the executable of --compile, which a TPU of that kind loads")
      .value_name("FILE");
}

bool is_program(const std::string& path) {
  constexpr std::array<std::string_view, 4> kEndings = {".mlir", ".mlirbc", ".stablehlo", ".jax"};
  if (std::ranges::any_of(kEndings, [&](std::string_view end) { return path.ends_with(end); }))
    return true;
  if (is_saved_model(path)) return true;
  if (path.ends_with(".yaml") || path.ends_with(".yml") || !default_file_system().exists(path) ||
      default_file_system().stat(path).is_directory)
    return false;
  const std::string bytes = read_file(default_file_system(), path);
  return hlo::is_bytecode(tpu_check::program_in(bytes));
}

FileCheck check_program(const std::string& path, const std::string& system,
                        const CompilerOptions& compiler) {
  const CheckedProgram checked = read_checked(path);
  const std::string_view program = checked.program;
  std::vector<std::string> systems = {"v2-8", "v3-8"};
  if (system == "all") {
    systems.clear();
    for (const std::string_view name : profile::examples_of_tpu_systems())
      systems.emplace_back(name);
  } else if (!system.empty()) {
    systems = {system};
  }
  if (compiler.wanted()) systems = {compiler.system};
  for (const std::string& name : systems) profile::tpu_system(name);  // or it is an error
  tpu_check::ProgramReport report = tpu_check::check_program(program, path, systems);
  if (compiler.wanted()) {
    report.compiled = tpu_check::compile(program, path, compiler.read());
    end_progress();
  }
  FileCheck check{report.to_string(), report.to_json(), {}};
  if (!report.ok()) check.refusal = refusal_of(report, path);
  return check;
}

FileCheck check_step(const std::string& path, const TrainingConfig& config, const InputFn& input,
                     const CompilerOptions& compiler) {
  const tpu_check::Target target = tpu_check::target_of(compiler.system);
  CheckReport report = report_for_cores(target, config, input);
  if (report.step.module == nullptr) {
    return {report.to_string(), report.to_json(),
            failed_precondition("{}: program of a step, got none, expected one: correct what "
                                "stands above",
                                path)};
  }
  report.compile(compiler.read());
  end_progress();
  FileCheck check{report.to_string(), report.to_json(), {}};
  if (report.compiled && report.compiled->verdict == tpu_check::Verdict::out_of_time) {
    check.refusal = make_error(Code::deadline_exceeded, "{}: Google's compiler, got no verdict: {}",
                               path, report.compiled->message);
  } else if (!report.ok()) {
    check.refusal = failed_precondition(
        "{}: step of the model, got one that Google's compiler does not take for {}, expected one "
        "that fits",
        path, target.system);
  }
  return check;
}

}  // namespace systole::app
