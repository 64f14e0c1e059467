// systole tpu-v1 profile: the counters of programs.
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/backends/tpu_v1/pictures/pictures.h"

namespace systole::app {
namespace {

struct ProfileOptions {
  std::vector<std::string> programs;
  std::string svg;
  MachineOptions machine;
};

void profile_programs(const ProfileOptions& options) {
  std::vector<tpu_v1::NamedCounters> all;
  for (const std::string& name : options.programs) {
    tpu_v1::MachineConfig machine = options.machine.machine();
    const tpu_v1::Program program = tpu_v1_program(name, machine);
    all.push_back({name, tpu_v1::simulate(program, machine).counters});
    write_text("", tpu_v1::counters_table(name, all.back().counters, machine));
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
