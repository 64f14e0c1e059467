// systole tpu-v1 profile: the counters of programs.
#include <fmt/core.h>

#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/backends/tpu_v1/pictures/pictures.h"

namespace systole::app {
namespace {

struct ProfileOptions {
  std::vector<std::string> programs;
  std::string svg;
  MachineOptions machine;
};

void print_counters(const std::string& name, const tpu_v1::Counters& c,
                    const tpu_v1::MachineConfig& machine) {
  fmt::print("{}: {:.0f} cycles, {:.1f} us, {:.2f} TOPS of {:.2f}\n", name, c.cycles,
             c.cycles / machine.clock_hz * 1e6, tpu_v1::ops_per_second(c, machine) * 1e-12,
             machine.peak_ops() * 1e-12);
  const auto row = [&](const char* what, double cycles) {
    fmt::print("  {:<24}{:6.1f} %\n", what, c.percent(cycles));
  };
  row("1 array active", c.active);
  row("2 useful products", c.useful);
  row("3 unused products", c.unused());
  row("4 weight stall", c.weight_stall);
  row("5 weight shift", c.weight_shift);
  row("6 non-matrix", c.non_matrix);
  row("7 RAW stalls", c.raw_stall);
  row("8 input data stalls", c.input_stall);
  fmt::print("  {} weight tiles, {:.1f} KiB in, {:.1f} KiB out, {:.2f} MiB of the Unified Buffer\n",
             c.tiles, c.host_in_bytes / 1024, c.host_out_bytes / 1024,
             static_cast<double>(c.buffer_bytes) / (1024.0 * 1024.0));
}

void profile_programs(const ProfileOptions& options) {
  std::vector<tpu_v1::NamedCounters> all;
  for (const std::string& name : options.programs) {
    tpu_v1::MachineConfig machine = options.machine.machine();
    const tpu_v1::Program program = tpu_v1_program(name, machine);
    all.push_back({name, tpu_v1::simulate(program, machine).counters});
    print_counters(name, all.back().counters, machine);
  }
  if (!options.svg.empty()) write_text(options.svg, tpu_v1::utilization_svg(all));
}

}  // namespace

void add_tpu_v1_profile_command(CommandLine& line) {
  auto options = std::make_shared<ProfileOptions>();
  line.option("program", options->programs, "Program files, or workloads: MLP0-R").required();
  line.option("--svg", options->svg, "Draws the shares of cycles").value_name("FILE");
  options->machine.add(line);
  line.on_run([options] { profile_programs(*options); });
}

}  // namespace systole::app
