// systole tpu-v1 disasm: a program file as text.
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/tpu_v1/assembler/assembler.h"

namespace systole::app {

void add_tpu_v1_disasm_command(CommandLine& line) {
  struct Options {
    std::string program;
    bool data = false;
  };
  auto options = std::make_shared<Options>();
  line.option("program", options->program, "Program file, or a workload: " + workload_names())
      .required();
  line.flag("--data", options->data,
            "Print weights and constants too, so that asm restores the program");
  line.on_run([options] {
    tpu_v1::MachineConfig machine;
    write_text("", tpu_v1::disassemble(tpu_v1_program(options->program, machine), options->data));
  });
}

}  // namespace systole::app
