// systole check of StableHLO programs, and --compile: what Google's compiler for TPUs says.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "apps/systole/train/training_config.h"
#include "systole/base/command_line.h"
#include "systole/base/error.h"
#include "systole/tpu_check/compile.h"

namespace systole::app {

struct CompilerOptions {
  std::string system;   // "v3-8"; "": libtpu is not asked
  std::string library;  // libtpu.so; "": where it is installed
  std::string effort = "full";
  double max_seconds = 1800;
  std::string save;

  bool wanted() const { return !system.empty(); }
  // With progress on standard error.
  tpu_check::CompileOptions read() const;
};
void add_compiler_options(CommandLine& line, CompilerOptions& options);

// Returns whether a path is that of a StableHLO program, by its name (.mlir, .mlirbc) or its
// content (MLIR bytecode, an artifact of jax.export), or of a SavedModel's folder.
bool is_program(const std::string& path);

// What `systole check` says of a file.
struct FileCheck {
  std::string text;
  nlohmann::json json;  // what --json prints
  // FAILED_PRECONDITION if a TPU refuses it or it does not fit; INVALID_ARGUMENT if it is no valid
  // program; DEADLINE_EXCEEDED if Google's compiler was out of time.
  std::optional<Error> refusal;
};

// What a TPU would refuse of a program, and its memory and time on a core of `system`; of a v2-8
// and a v3-8 if that is empty. Errors: those of reading it.
FileCheck check_program(const std::string& path, const std::string& system,
                        const CompilerOptions& compiler);

// What a TPU would refuse of the step of a configuration file, and what Google's compiler says of
// it. Errors: those of the model.
FileCheck check_step(const std::string& path, const TrainingConfig& config, const InputFn& input,
                     const CompilerOptions& compiler);

}  // namespace systole::app
