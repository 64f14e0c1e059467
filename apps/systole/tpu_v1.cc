// systole tpu-v1: the machine of the TPU paper of 2017.
#include "apps/systole/base/command.h"
#include "apps/systole/tpu_v1/tpu_v1_commands.h"

namespace systole::app {
namespace {

constexpr Command kCommands[] = {
    {.name = "asm",
     .summary = "Assembles program text",
     .add = add_tpu_v1_asm_command,
     .examples = {"p.s --output p.tpu"}},
    {.name = "disasm",
     .summary = "Prints a program as text",
     .add = add_tpu_v1_disasm_command,
     .examples = {"p.tpu --data", "MLP1-R"}},
    {.name = "run",
     .summary = "Runs a program exactly and writes its output ports",
     .add = add_tpu_v1_run_command,
     .examples = {"p.tpu --input x=x.bin --output results"}},
    {.name = "compile",
     .summary = "Compiles a quantized StableHLO program",
     .add = add_tpu_v1_compile_command,
     .examples = {"model.mlir --output model.tpu --host parts"}},
    {.name = "profile",
     .summary = "Prints the counters of programs",
     .add = add_tpu_v1_profile_command,
     .examples = {"MLP0-R LSTM0-R --svg shares.svg", "p.tpu --memory 68"}},
    {.name = "roofline",
     .summary = "Compares programs with the limits of the machine",
     .add = add_tpu_v1_roofline_command,
     .examples = {"--svg roofline.svg"}},
    {.name = "what-if",
     .summary = "Times the paper's workloads on scaled machines",
     .add = add_tpu_v1_what_if_command,
     .examples = {"--factor 4"}},
    {.name = "trace",
     .summary = "Writes the timeline of a program",
     .add = add_tpu_v1_trace_command,
     .examples = {"MLP1-R --output trace.json"}},
    {.name = "validate",
     .summary = "Prints our figures beside the paper's",
     .add = add_tpu_v1_validate_command,
     .examples = {""}},
    {.name = "scalesim",
     .summary = "Counts the cycles of SCALE-Sim's topologies as it does",
     .add = add_tpu_v1_scalesim_command,
     .examples = {"alexnet.csv Resnet50.csv", "gnmt.csv --layers"}},
    {.name = "opentpu",
     .summary = "Runs a program of OpenTPU",
     .add = add_tpu_v1_opentpu_command,
     .examples = {"simplemult.out --memory hostmem.npy --weights weights.npy"}},
};

}  // namespace

const Command kTpuV1Command{
    .name = "tpu-v1",
    .summary = "Assembles, runs and times programs of a model of TPU v1",
    .add = [](CommandLine& line) { add_commands(line, kCommands); },
    .examples = {"validate", "profile MLP0-R"},
};

}  // namespace systole::app
