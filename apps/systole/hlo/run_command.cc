// systole hlo run: runs a program once.
#include <fmt/core.h>

#include <cstdio>

#include "apps/systole/hlo/arguments.h"
#include "apps/systole/hlo/hlo_commands.h"
#include "apps/systole/hlo/programs.h"
#include "systole/base/standard_streams.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npy.h"

namespace systole::app {
namespace {

struct RunOptions {
  std::string file;
  std::string backend = "cpu";
  std::vector<std::string> inputs;
  std::optional<uint64_t> seed;
  std::string output;
};

void run_main(const RunOptions& options) {
  runtime::Client& client = backend(options.backend);
  check_inputs(options.inputs);
  const auto module = read_program(options.file);
  ensure_main(*module);
  if (const int checks = remove_checks(*module); checks > 0) {
    print_error("{}: {} checks left out: systole hlo test makes them\n", options.file, checks);
  }
  const std::vector<Tensor> arguments = read_arguments(*module, options.inputs, options.seed);
  const auto executable = client.compile(*module);
  const std::vector<Tensor> results = runtime::run(*executable, arguments);
  if (!options.output.empty()) default_file_system().make_directories(options.output);
  for (size_t i = 0; i < results.size(); ++i) {
    if (options.output.empty() || results[i].dtype() == DType::token) {
      fmt::print("result {}: {}\n", i, readable(results[i]));
      continue;
    }
    const std::string path = join_path(options.output, fmt::format("{}.npy", i));
    const Tensor stored = widened(results[i]);
    write_npy(default_file_system(), path, stored);
    const std::string as =
        stored.dtype() == results[i].dtype() ? "" : fmt::format(" as {}", stored.dtype());
    fmt::print("result {}: {} in {}{}\n", i, results[i].type(), path, as);
  }
}

}  // namespace

void add_run_command(CommandLine& line) {
  auto options = std::make_shared<RunOptions>();
  line.option("file", options->file, "StableHLO text or MLIR bytecode; - is standard input")
      .required();
  line.option("--backend", options->backend, "The backend that runs the program")
      .value_name(kBackendNames)
      .show_default();
  line.option("--input", options->inputs, "Value of a parameter of main")
      .value_name("NUMBER=FILE.npy");
  line.option("--random", options->seed, "Seed of random values for parameters without --input");
  line.option("--output", options->output,
              "Folder for the results as 0.npy, 1.npy...; without it they are printed")
      .value_name("FOLDER");
  line.on_run([options] { run_main(*options); });
}

}  // namespace systole::app
