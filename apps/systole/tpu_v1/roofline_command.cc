// systole tpu-v1 roofline: programs below the machine's roofline.
#include <fmt/core.h>

#include "apps/systole/base/output.h"
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/tpu_v1/pictures/pictures.h"
#include "systole/tpu_v1/workloads/workloads.h"

namespace systole::app {
namespace {

struct RooflineOptions {
  std::vector<std::string> programs;
  std::string svg;
  bool json = false;
  MachineOptions machine;
};

void show_roofline(const RooflineOptions& options) {
  std::vector<std::string> names = options.programs;
  if (names.empty()) {
    for (const tpu_v1::Workload& known : tpu_v1::workloads()) names.emplace_back(known.name);
  }
  const tpu_v1::MachineConfig machine = options.machine.machine();
  nlohmann::json json = {{"ridge", machine.ridge()},
                         {"peak_ops", machine.peak_ops()},
                         {"programs", nlohmann::json::array()}};
  if (!options.json)
    fmt::print(
        "ridge {:.1f} multiply-adds ({:.1f} operations) of a weight byte, peak {:.2f} TOPS\n",
        machine.ridge(), 2 * machine.ridge(), machine.peak_ops() * 1e-12);
  std::vector<tpu_v1::NamedCounters> all;
  for (const std::string& name : names) {
    tpu_v1::MachineConfig used = machine;
    const tpu_v1::Program program = tpu_v1_program(name, used);
    const tpu_v1::Counters c = tpu_v1::simulate(program, used).counters;
    const double intensity = c.weight_bytes > 0 ? c.multiply_adds / c.weight_bytes : 0.0;
    const double ops = tpu_v1::ops_per_second(c, used);
    json["programs"].push_back(
        {{"name", name}, {"multiply_adds_per_byte", intensity}, {"ops_per_second", ops}});
    if (!options.json) {
      fmt::print("{:<10} {:8.1f} MAC/byte {:8.2f} TOPS\n", name, intensity, ops * 1e-12);
    }
    all.push_back({name, c});
  }
  if (options.json) print_json(json);
  if (!options.svg.empty()) write_text(options.svg, tpu_v1::roofline_svg(all, machine));
}

}  // namespace

void add_tpu_v1_roofline_command(CommandLine& line) {
  auto options = std::make_shared<RooflineOptions>();
  line.option("program", options->programs,
              "Program files or workloads; without any, all workloads");
  line.option("--svg", options->svg, "Draws the roofline").value_name("FILE");
  line.flag("--json", options->json, kJsonMeaning);
  options->machine.add(line);
  line.on_run([options] { show_roofline(*options); });
}

}  // namespace systole::app
