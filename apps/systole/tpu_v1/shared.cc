#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/tpu_v1/assembler/assembler.h"
#include "systole/tpu_v1/workloads/workloads.h"

namespace systole::app {

std::string workload_names() {
  std::string names;
  for (const tpu_v1::Workload& known : tpu_v1::workloads()) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return names;
}

void MachineOptions::add(CommandLine& line) {
  line.option("--machine", preset, "The machine")
      .one_of({"tpu_v1", "tpu_v1_30gib", "tpu_v1_gddr5"})
      .show_default();
  line.option("--array", array, "Rows and columns of the matrix unit; a program file has its own")
      .value_name("CELLS")
      .between(tpu_v1::kMinArray, tpu_v1::kMaxArray);
  line.option("--memory", memory_gb, "Bandwidth of the weight memory")
      .value_name("GB/S")
      .positive();
  line.option("--clock", clock_mhz, "Clock").value_name("MHZ").positive();
  line.option("--fifo", fifo, "Weight tiles of the FIFO").positive();
  line.option("--accumulators", accumulators, "Rows of the accumulators").positive();
}

tpu_v1::MachineConfig MachineOptions::machine() const {
  tpu_v1::MachineConfig machine = tpu_v1::machine_preset(preset);
  if (array > 0) machine.array = static_cast<int>(std::min<int64_t>(array, 1 << 20));
  if (memory_gb > 0) machine.weight_bandwidth = memory_gb * 1e9;
  if (clock_mhz > 0) machine.clock_hz = clock_mhz * 1e6;
  if (fifo > 0) machine.fifo_tiles = static_cast<int>(fifo);
  if (accumulators > 0) machine.accumulators = accumulators;
  machine.check();
  return machine;
}

tpu_v1::Program tpu_v1_program(const std::string& name, tpu_v1::MachineConfig& machine) {
  for (const tpu_v1::Workload& known : tpu_v1::workloads()) {
    if (known.name == name) return known.program(machine);
  }
  tpu_v1::Program program = name.ends_with(".s")
                                ? tpu_v1::assemble(read_file(default_file_system(), name), name)
                                : tpu_v1::load_program(default_file_system(), name);
  machine.array = program.array;
  return program;
}

void write_text(const std::string& path, std::string_view text) {
  if (path.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    write_file_atomically(default_file_system(), path, text);
  }
}

}  // namespace systole::app
