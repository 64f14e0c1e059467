// systole tpu-v1 compile: a quantized StableHLO program to program files of the machine.
#include <fmt/core.h>

#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/base/error.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tpu_v1/compiler/module_stages.h"

namespace systole::app {
namespace {

struct CompileCommandOptions {
  std::string file;
  std::string output;
  std::string host;
  MachineOptions machine;
};

void print_program(const tpu_v1::ModuleStage& stage, const std::string& path) {
  fmt::print(
      "{}: {} instructions, {} weight tiles, {} images at a time, {} rows of the Unified "
      "Buffer\n",
      path, stage.program.instructions.size(), stage.report.weight_tiles,
      stage.report.images_at_a_time, stage.report.buffer_rows);
  for (const tpu_v1::Port& port : stage.program.ports) {
    fmt::print("  {} {}: {} rows of {} bytes\n", port.output ? "output" : "input", port.name,
               port.rows, port.row_bytes);
  }
}

void compile_program(const CompileCommandOptions& options) {
  FileSystem& files = default_file_system();
  const auto module = hlo::parse(read_file(files, options.file), options.file);
  const tpu_v1::StagedModule staged = tpu_v1::stage_module(*module, options.machine.machine());
  if (!staged.uses_machine()) {
    throw invalid_argument("{}: quantized ops, got none, expected some: quantize the model first",
                           options.file);
  }
  if (!options.host.empty()) files.make_directories(options.host);
  int number = 0;
  for (size_t i = 0; i < staged.stages.size(); ++i) {
    const tpu_v1::ModuleStage& stage = staged.stages[i];
    if (stage.host == nullptr) {
      const std::string path =
          number == 0 ? options.output : fmt::format("{}.{}", options.output, number);
      tpu_v1::save_program(files, path, stage.program);
      print_program(stage, path);
      ++number;
    } else if (!options.host.empty()) {
      const std::string path = join_path(options.host, fmt::format("host{}.mlir", i));
      write_text(path, hlo::print(*stage.host));
      fmt::print("{}: a part of the host\n", path);
    }
  }
}

}  // namespace

void add_tpu_v1_compile_command(CommandLine& line) {
  auto options = std::make_shared<CompileCommandOptions>();
  line.option("model", options->file, "Quantized StableHLO text").required();
  line.option("--output", options->output,
              "Program file; further programs of a model with ops of the host between them are "
              "FILE.1, FILE.2...")
      .value_name("FILE")
      .required();
  line.option("--host", options->host, "Folder for the parts that the host computes, as StableHLO")
      .value_name("FOLDER");
  options->machine.add(line);
  line.on_run([options] { compile_program(*options); });
}

}  // namespace systole::app
