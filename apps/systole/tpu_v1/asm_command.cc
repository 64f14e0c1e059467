// systole tpu-v1 asm: program text to a program file.
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/tpu_v1/assembler/assembler.h"

namespace systole::app {

void add_tpu_v1_asm_command(CommandLine& line) {
  struct Options {
    std::string file;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  line.option("file", options->file, "Program text").required();
  line.option("--output", options->output, "Program file").value_name("FILE").required();
  line.on_run([options] {
    const std::string text = read_file(default_file_system(), options->file);
    tpu_v1::save_program(default_file_system(), options->output,
                         tpu_v1::assemble(text, options->file));
  });
}

}  // namespace systole::app
