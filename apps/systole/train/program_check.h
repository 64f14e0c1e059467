// systole check of StableHLO programs, and --compile: what Google's compiler for TPUs says.
#pragma once

#include <string>

#include "apps/systole/train/training_config.h"
#include "systole/base/command_line.h"
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

// Prints what a TPU would refuse of a program, and its memory and time on a core of `system`; of a
// v2-8 and a v3-8 if that is empty. Errors: FAILED_PRECONDITION if a TPU refuses it or it does not
// fit; those of reading it.
void check_program(const std::string& path, const std::string& system,
                   const CompilerOptions& compiler, bool json);

// Prints what a TPU would refuse of the step of a configuration file, and what Google's compiler
// says of it. Errors: FAILED_PRECONDITION if the compiler refuses it or it does not fit; those of
// the model.
void check_step(const std::string& path, const TrainingConfig& config, const InputFn& input,
                const CompilerOptions& compiler, bool json);

}  // namespace systole::app
