// The commands of `systole tpu-v1`, one file each, and the options that they share.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "systole/base/command_line.h"
#include "systole/tpu_v1/isa/program.h"
#include "systole/tpu_v1/machine/config.h"

namespace systole::app {

void add_tpu_v1_asm_command(CommandLine& line);
void add_tpu_v1_disasm_command(CommandLine& line);
void add_tpu_v1_run_command(CommandLine& line);
void add_tpu_v1_compile_command(CommandLine& line);
void add_tpu_v1_profile_command(CommandLine& line);
void add_tpu_v1_roofline_command(CommandLine& line);
void add_tpu_v1_what_if_command(CommandLine& line);
void add_tpu_v1_trace_command(CommandLine& line);
void add_tpu_v1_validate_command(CommandLine& line);
void add_tpu_v1_scalesim_command(CommandLine& line);
void add_tpu_v1_opentpu_command(CommandLine& line);

// The machine that a command models. add() declares --machine and options for single sizes.
struct MachineOptions {
  std::string preset = "tpu_v1";
  int64_t array = 0;  // 0, here and below: the preset's
  double memory_gb = 0;
  double clock_mhz = 0;
  int64_t fifo = 0;
  int64_t accumulators = 0;

  void add(CommandLine& line);
  tpu_v1::MachineConfig machine() const;
};

// Returns a reconstructed workload ("MLP0-R") or the program of a file, text if its name ends in
// .s. The machine takes the array of the file.
tpu_v1::Program tpu_v1_program(const std::string& name, tpu_v1::MachineConfig& machine);

// Returns the names of the workloads, for help: "MLP0-R, MLP1-R, ...".
std::string workload_names();

// Writes a text to a file, or to standard output if the name is empty.
void write_text(const std::string& path, std::string_view text);

}  // namespace systole::app
