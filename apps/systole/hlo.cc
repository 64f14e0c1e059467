// systole hlo: StableHLO programs.
#include "apps/systole/base/command.h"
#include "apps/systole/hlo/hlo_commands.h"

namespace systole::app {
namespace {

constexpr Command kCommands[] = {
    {.name = "run",
     .summary = "Runs a program and prints or writes its results",
     .add = add_run_command,
     .examples = {"model.mlir --random 1", "model.mlir --input 0=x.npy --output results"}},
    {.name = "test",
     .summary = "Runs programs that check themselves (check.expect_*)",
     .add = add_test_command,
     .examples = {"tests", "tests/add.mlir --backend reference"}},
    {.name = "opt",
     .summary = "Prints an optimised program",
     .add = add_opt_command,
     .examples = {"model.mlir --pretty", "model.mlir --passes cse,dce", "model.mlir --dump"}},
    {.name = "translate",
     .summary = "Converts a program between text and MLIR bytecode",
     .add = add_translate_command,
     .examples = {"exported.mlirbc", "model.mlir --output model.mlirbc --target-version 1.8.0"}},
    {.name = "bench",
     .summary = "Times a program and each of its steps",
     .add = add_bench_command,
     .examples = {"model.mlir", "model.mlir --threads 1 --runs 100 --json"}},
    {.name = "support",
     .summary = "Prints which backend computes which op on which element types",
     .add = add_support_command,
     .examples = {"--check docs/stablehlo.md", "--write docs/stablehlo.md"}},
};

}  // namespace

const Command kHloCommand{
    .name = "hlo",
    .summary = "Runs, tests, optimises, converts and times StableHLO programs",
    .add = [](CommandLine& line) { add_commands(line, kCommands); },
    .examples = {"run model.mlir --random 1", "bench model.mlir"},
};

}  // namespace systole::app
