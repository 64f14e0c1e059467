// Asks Google's compiler for TPUs (libtpu) what it makes of a program: on any machine, in a process
// of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "systole/hlo/ir/module.h"
#include "systole/tpu_check/compile_report.h"

namespace systole::tpu_check {

struct CompileOptions {
  std::string system;        // "v3-8": target.h
  std::string library = {};  // "": find_libtpu.h
  bool low_effort = false;   // a third to a half of the time; cycles are 2 to 53 % higher
  double max_seconds = 1800;
  std::string save = {};  // the file to write the executable to; "": none
  bool use_cache = true;
  // What the program is written for. 0: what its module says, else one.
  int replicas = 0;
  int partitions = 0;
  std::function<void(double seconds)> progress = {};  // called about once a second
};

// Compiles StableHLO, text or bytecode. `name` stands for the program's file. Errors: NOT_FOUND
// without a library; INVALID_ARGUMENT for an unknown system and a topology that the library
// refuses; FAILED_PRECONDITION for a file that is no such library; CANCELLED after SIGINT or
// SIGTERM; those of writing `save`. All that the compiler says of the program, crashes included, is
// in the report.
CompileReport compile(std::string_view program, std::string_view name,
                      const CompileOptions& options);

// The same of the step of one core of many, which adds up its gradients with all others: a program
// with sums over cores is compiled for all devices of the system.
CompileReport compile_step(const hlo::Module& module, const CompileOptions& options);

// The same of a module, whose instructions' nodes and lines the report names.
CompileReport compile(const hlo::Module& module, const CompileOptions& options);

}  // namespace systole::tpu_check
