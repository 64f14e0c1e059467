// systole tpu-v1 run: runs a program on the value machine.
#include <fmt/core.h>

#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/tpu_v1/machine/machine.h"

namespace systole::app {
namespace {

struct TpuRunOptions {
  std::string program;
  std::vector<std::string> inputs;
  std::string output;
  MachineOptions machine;
};

void run_tpu_program(const TpuRunOptions& options) {
  tpu_v1::MachineConfig config = options.machine.machine();
  const tpu_v1::Program program = tpu_v1_program(options.program, config);
  tpu_v1::Machine machine(config);
  for (const std::string& input : options.inputs) {
    const size_t equals = input.find('=');
    if (equals == std::string::npos)
      throw UsageError("--input: got '" + input + "', expected PORT=FILE");
    const std::string bytes = read_file(default_file_system(), input.substr(equals + 1));
    machine.write_port(program.port(input.substr(0, equals)),
                       {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  const tpu_v1::RunReport report = machine.run(program);
  fmt::print("{} instructions, {} multiply-adds, {} overflows, {} rows of the Unified Buffer\n",
             report.instructions, report.multiply_adds, report.overflows, report.buffer_rows);
  for (const tpu_v1::Port& port : program.ports) {
    if (!port.output) continue;
    const std::vector<uint8_t> bytes = machine.read_port(port);
    const std::string path = join_path(options.output, port.name + ".bin");
    write_text(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    fmt::print("{}: {} rows of {} bytes in {}\n", port.name, port.rows, port.row_bytes, path);
  }
}

}  // namespace

void add_tpu_v1_run_command(CommandLine& line) {
  auto options = std::make_shared<TpuRunOptions>();
  line.option("program", options->program, "Program file, or program text (.s)").required();
  line.option("--input", options->inputs, "Bytes of an input port, row by row")
      .value_name("PORT=FILE")
      .one_each();
  line.option("--output", options->output, "Folder for the bytes of output ports")
      .value_name("FOLDER");
  options->machine.add(line);
  line.on_run([options] { run_tpu_program(*options); });
}

}  // namespace systole::app
