// systole tpu-v1 opentpu: runs OpenTPU's programs.
#include <fmt/core.h>

#include <algorithm>

#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/base/error.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npy.h"
#include "systole/tpu_v1/machine/machine.h"
#include "systole/tpu_v1/opentpu/opentpu.h"

namespace systole::app {
namespace {

struct OpenTpuOptions {
  std::string program;
  std::string memory;
  std::string weights;
  std::string output;
  std::string translated;
  int64_t size = 8;
};

std::vector<uint8_t> bytes_of_npy(const Tensor& tensor, const std::string& path) {
  if (size_of(tensor.dtype()) != 1)
    throw invalid_argument("{}: elements, got {}, expected bytes", path, tensor.dtype());
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
  return {bytes, bytes + tensor.byte_size()};
}

void run_opentpu_program(const OpenTpuOptions& options) {
  FileSystem& files = default_file_system();
  const std::vector<uint8_t> weights =
      bytes_of_npy(read_npy(files, options.weights), options.weights);
  const Tensor memory = read_npy(files, options.memory);
  const std::vector<uint8_t> host = bytes_of_npy(memory, options.memory);
  const tpu_v1::Program program = tpu_v1::translate_opentpu(
      read_file(files, options.program), static_cast<int>(options.size), weights, options.program);
  if (!options.translated.empty()) tpu_v1::save_program(files, options.translated, program);
  tpu_v1::Machine machine(tpu_v1::opentpu_config(static_cast<int>(options.size)));
  machine.write_host(0, host);
  const tpu_v1::RunReport report = machine.run(program);
  fmt::print("{} instructions, {} multiply-adds, {} overflows\n", report.instructions,
             report.multiply_adds, report.overflows);
  const std::vector<uint8_t> after = machine.read_host(0, host.size());
  if (!options.output.empty()) {
    Tensor result(memory.dtype(), memory.shape());
    std::copy(after.begin(), after.end(), static_cast<uint8_t*>(result.raw()));
    write_npy(files, options.output, result);
    return;
  }
  const auto row = static_cast<size_t>(options.size);
  for (size_t i = 0; i < after.size(); ++i)
    fmt::print("{}{}", after[i], (i + 1) % row == 0 || i + 1 == after.size() ? "\n" : " ");
}

}  // namespace

void add_tpu_v1_opentpu_command(CommandLine& line) {
  auto options = std::make_shared<OpenTpuOptions>();
  line.option("program", options->program, "Program of 14-byte words").required();
  line.option("--memory", options->memory, "Host memory before the run")
      .value_name("FILE.npy")
      .required();
  line.option("--weights", options->weights, "Weight tiles").value_name("FILE.npy").required();
  line.option("--size", options->size, "Rows and columns of the array").show_default().positive();
  line.option("--output", options->output, "Host memory after the run; else it is printed")
      .value_name("FILE.npy");
  line.option("--translated", options->translated, "Writes the program as one of ours")
      .value_name("FILE.tpu");
  line.on_run([options] { run_opentpu_program(*options); });
}

}  // namespace systole::app
