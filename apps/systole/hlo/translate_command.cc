// systole hlo translate: converts a program between StableHLO text and MLIR bytecode.
#include <fmt/core.h>

#include <cstdio>

#include "apps/systole/hlo/hlo_commands.h"
#include "apps/systole/hlo/programs.h"
#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"

namespace systole::app {
namespace {

constexpr std::string_view kBytecodeEnding = ".mlirbc";

struct TranslateOptions {
  std::string file;
  std::string output;
  std::string format;
  std::string version = hlo::WriteBytecodeOptions().version;
  bool raw = false;
};

// The one that is asked for, else that of the output's name.
std::string format_of(const TranslateOptions& options) {
  if (!options.format.empty()) return options.format;
  return options.output.ends_with(kBytecodeEnding) ? "bytecode" : "text";
}

std::string translated(const TranslateOptions& options) {
  const std::string bytes = read_text(options.file);
  if (options.raw) return hlo::bytecode_to_text(bytes, options.file);
  const auto module = read_program(bytes, options.file);
  const std::string format = format_of(options);
  if (format == "bytecode") return hlo::write_bytecode(*module, {.version = options.version});
  return hlo::print(*module, {.pretty = format == "pretty"});
}

void run_translate(const TranslateOptions& options) {
  const std::string result = translated(options);
  if (options.output.empty()) {
    std::fwrite(result.data(), 1, result.size(), stdout);
  } else {
    write_file_atomically(default_file_system(), options.output, result);
  }
}

}  // namespace

void add_translate_command(CommandLine& line) {
  auto options = std::make_shared<TranslateOptions>();
  line.option("file", options->file, "StableHLO text or MLIR bytecode; - is standard input")
      .required();
  line.option("--output", options->output, "The file to write; without it the result is printed")
      .value_name("FILE");
  line.option("--output-format", options->format,
              "The form of the result; by default bytecode for files *.mlirbc, else text")
      .one_of({"text", "pretty", "bytecode"});
  line.option("--target-version", options->version,
              "The version of VHLO that bytecode has: that of its oldest reader")
      .value_name("VERSION")
      .show_default();
  line.flag(
      "--raw", options->raw,
      "Prints the text of bytecode without checking it, also of programs with dynamic shapes");
  line.on_run([options] { run_translate(*options); });
}

}  // namespace systole::app
