// Self-checking programs: StableHLO's check.expect_* calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/systole/hlo/difference.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::app {

// Returns whether the instruction is a check.* call.
bool is_check(const hlo::Instruction& instruction);
// Returns whether the module contains a check.
bool has_checks(const hlo::Module& module);

struct Check {
  std::string name;  // "check.expect_close"
  CheckRule rule;
};

// A program without its checks; main returns their operands instead.
struct CheckedProgram {
  std::unique_ptr<hlo::Module> module;  // results 2 i and 2 i + 1 of main: check i's operands
  std::vector<Tensor> arguments;
  std::vector<Check> checks;
};

// Removes the checks from main and the functions it calls. The results of functions without
// parameters (where JAX keeps inputs and expectations) become arguments, so that no compiler can
// compute the answer; in a program without such calls the constants of main do. So do the results
// of an interpreter.run_parallel of such values, which runs one function as several replicas of the
// client, on the reference backend also as several partitions. `options` are for that run, except
// for the number of replicas.
//
// Errors: UNIMPLEMENTED if main has parameters, if functions that run in parallel differ, or if a
// check is inside a region or unknown; INVALID_ARGUMENT if an interpreter.run_parallel does not fit
// its function; RESOURCE_EXHAUSTED, before values are computed, if the host has not enough memory;
// those of the client.
CheckedProgram extract_checks(const hlo::Module& module, runtime::Client& client,
                              const runtime::CompileOptions& options);

// Returns "" if all checks hold; otherwise the first failed check and its difference.
std::string run_checks(const CheckedProgram& program, runtime::Client& client,
                       const runtime::CompileOptions& options);

}  // namespace systole::app
