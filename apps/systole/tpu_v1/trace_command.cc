// systole tpu-v1 trace: the timeline of a program, and the animated array.
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/tpu_v1/pictures/pictures.h"

namespace systole::app {

void add_tpu_v1_trace_command(CommandLine& line) {
  struct Options {
    std::string program;
    std::string output;
    std::string wave;
    MachineOptions machine;
  };
  auto options = std::make_shared<Options>();
  line.option("program", options->program, "Program file, or a workload: " + workload_names())
      .required();
  line.option("--output", options->output,
              "File for Chrome's trace viewer or Perfetto; else standard output")
      .value_name("FILE.json");
  line.option("--wave", options->wave, "Draws the wave of an 8x8 array as an animation")
      .value_name("FILE.svg");
  options->machine.add(line);
  line.on_run([options] {
    tpu_v1::MachineConfig machine = options->machine.machine();
    const tpu_v1::Program program = tpu_v1_program(options->program, machine);
    write_text(options->output,
               tpu_v1::trace_json(program, tpu_v1::simulate(program, machine, true), machine));
    if (!options->wave.empty()) write_text(options->wave, tpu_v1::wave_svg(8, 10));
  });
}

}  // namespace systole::app
