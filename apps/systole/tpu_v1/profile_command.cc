// systole tpu-v1 profile: the counters of programs.
#include <fmt/core.h>

#include "apps/systole/base/output.h"
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/profile/writer.h"
#include "systole/tpu_v1/pictures/pictures.h"

namespace systole::app {
namespace {

struct ProfileOptions {
  std::vector<std::string> programs;
  std::string svg;
  std::string logdir;
  bool json = false;
  MachineOptions machine;
};

// The page of `systole board`: counters in cycles, and the pictures.
nlohmann::json page_of(std::span<const tpu_v1::NamedCounters> all,
                       const tpu_v1::MachineConfig& machine) {
  nlohmann::json programs = nlohmann::json::array();
  for (const auto& [name, c] : all) {
    programs.push_back({{"name", name},
                        {"cycles", c.cycles},
                        {"active", c.active},
                        {"useful", c.useful},
                        {"unused", c.unused()},
                        {"weight_stall", c.weight_stall},
                        {"weight_shift", c.weight_shift},
                        {"non_matrix", c.non_matrix},
                        {"raw_stall", c.raw_stall},
                        {"input_stall", c.input_stall},
                        {"multiply_adds", c.multiply_adds},
                        {"weight_bytes", c.weight_bytes},
                        {"ops_per_second", tpu_v1::ops_per_second(c, machine)},
                        {"tiles", c.tiles},
                        {"buffer_bytes", c.buffer_bytes}});
  }
  return {{"clock_hz", machine.clock_hz},
          {"peak_ops", machine.peak_ops()},
          {"weight_bandwidth", machine.weight_bandwidth},
          {"programs", std::move(programs)},
          {"wave", tpu_v1::wave_svg(8, 10)}};
}

void profile_programs(const ProfileOptions& options) {
  std::vector<tpu_v1::NamedCounters> all;
  for (const std::string& name : options.programs) {
    tpu_v1::MachineConfig machine = options.machine.machine();
    const tpu_v1::Program program = tpu_v1_program(name, machine);
    all.push_back({name, tpu_v1::simulate(program, machine).counters});
    if (!options.json) {
      write_text("", tpu_v1::counters_table(name, all.back().counters, machine));
    }
  }
  if (!options.svg.empty()) write_text(options.svg, tpu_v1::utilization_svg(all));
  nlohmann::json page = page_of(all, options.machine.machine());
  if (!options.logdir.empty()) {
    const std::string path =
        profile::write_page(page, "tpu_v1", options.logdir, default_file_system());
    if (!options.json) fmt::print("page for `systole board {}`: {}\n", options.logdir, path);
  }
  page.erase("wave");  // a picture
  if (options.json) print_json(page);
}

}  // namespace

void add_tpu_v1_profile_command(CommandLine& line) {
  auto options = std::make_shared<ProfileOptions>();
  line.option("program", options->programs, "Program files, or workloads: " + workload_names())
      .required();
  line.option("--svg", options->svg, "Draws the shares of cycles").value_name("FILE");
  line.option("--logdir", options->logdir, "Writes the counters as a page for `systole board`")
      .value_name("FOLDER");
  line.flag("--json", options->json, kJsonMeaning);
  options->machine.add(line);
  line.on_run([options] { profile_programs(*options); });
}

}  // namespace systole::app
