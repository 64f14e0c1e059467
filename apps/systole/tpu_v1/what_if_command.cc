// systole tpu-v1 what-if: the reconstructed workloads on scaled machines (the paper's figure 11).
#include <fmt/core.h>

#include "apps/systole/base/output.h"
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/base/error.h"
#include "systole/tpu_v1/timing/timing.h"
#include "systole/tpu_v1/validation/validation.h"
#include "systole/tpu_v1/workloads/workloads.h"

namespace systole::app {
namespace {

double seconds_on(const tpu_v1::Workload& workload, const tpu_v1::MachineConfig& machine) {
  return tpu_v1::simulate(workload.program(machine), machine).counters.cycles / machine.clock_hz;
}

// The speed-ups of each workload by each change; null where it does not fit.
nlohmann::json speed_ups(const tpu_v1::MachineConfig& machine,
                         const std::vector<tpu_v1::Change>& changes) {
  nlohmann::json json = nlohmann::json::object();
  for (const tpu_v1::Workload& workload : tpu_v1::workloads()) {
    nlohmann::json& row = json[std::string(workload.name)];
    const double before = seconds_on(workload, machine);
    for (const tpu_v1::Change& change : changes) {
      try {
        row[change.name] = before / seconds_on(workload, change.machine);
      } catch (const Error&) {
        row[change.name] = nullptr;
      }
    }
  }
  return json;
}

void show_changes(const MachineOptions& options, double factor, bool as_json) {
  const tpu_v1::MachineConfig machine = options.machine();
  const std::vector<tpu_v1::Change> changes = tpu_v1::scaled_machines(machine, factor);
  const nlohmann::json json = speed_ups(machine, changes);
  if (as_json) return print_json(json);
  fmt::print("{:<10}", "speed-up");
  for (const tpu_v1::Change& change : changes) fmt::print("{:>13}", change.name);
  fmt::print("\n");
  for (const tpu_v1::Workload& workload : tpu_v1::workloads()) {
    fmt::print("{:<10}", workload.name);
    for (const tpu_v1::Change& change : changes) {
      const nlohmann::json& value = json[std::string(workload.name)][change.name];
      fmt::print("{:>13}",
                 value.is_null() ? "does not fit" : fmt::format("{:.2f}", value.get<double>()));
    }
    fmt::print("\n");
  }
}

}  // namespace

void add_tpu_v1_what_if_command(CommandLine& line) {
  struct Options {
    MachineOptions machine;
    double factor = 2;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  line.option("--factor", options->factor,
              "Scales the memory, the clock and the matrix unit in turn")
      .show_default()
      .positive();
  options->machine.add(line);
  line.flag("--json", options->json, kJsonMeaning);
  line.on_run([options] { show_changes(options->machine, options->factor, options->json); });
}

}  // namespace systole::app
