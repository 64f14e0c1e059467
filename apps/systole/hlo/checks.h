// Programs that check themselves by StableHLO's check.expect_* calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/systole/hlo/difference.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::app {

// A custom call of one of check.*
bool is_check(const hlo::Instruction& instruction);
// Somewhere in the module is one.
bool has_checks(const hlo::Module& module);

struct Check {
  std::string name;  // "check.expect_close"
  CheckRule rule;
};

// A program without its checks, which are made of what it returns.
struct CheckedProgram {
  std::unique_ptr<hlo::Module> module;  // results 2 i and 2 i + 1 of main: check i's operands
  std::vector<Tensor> arguments;
  std::vector<Check> checks;
};

// Takes the checks out of main and what it calls. What functions without parameters return (where
// JAX keeps inputs and expectations) or, in a program without such calls, the constants of main
// become arguments, so that no compiler can compute the answer. Likewise what an
// interpreter.run_parallel of such values returns: one function as several replicas of the
// client's, on the reference backend also as several partitions. Errors: UNIMPLEMENTED when main
// has parameters, when functions that run in parallel differ, or a check is inside of a region or
// of a kind not known here; INVALID_ARGUMENT where an interpreter.run_parallel does not fit its
// function; RESOURCE_EXHAUSTED before such values are made that the host has no memory for; those
// of the client. `options` are for what runs in parallel; its number of replicas is the call's.
CheckedProgram extract_checks(const hlo::Module& module, runtime::Client& client,
                              const runtime::CompileOptions& options);

// "" when all checks hold; otherwise the first that does not, and how.
std::string run_checks(const CheckedProgram& program, runtime::Client& client,
                       const runtime::CompileOptions& options);

}  // namespace systole::app
