// systole tpu-v1 what-if: the reconstructed workloads on scaled machines (the paper's figure 11).
#include <fmt/core.h>

#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/backends/tpu_v1/timing/timing.h"
#include "systole/backends/tpu_v1/validation/validation.h"
#include "systole/backends/tpu_v1/workloads/workloads.h"
#include "systole/base/error.h"

namespace systole::app {
namespace {

double seconds_on(const tpu_v1::Workload& workload, const tpu_v1::MachineConfig& machine) {
  return tpu_v1::simulate(workload.program(machine), machine).counters.cycles / machine.clock_hz;
}

void show_changes(const MachineOptions& options, double factor) {
  const tpu_v1::MachineConfig machine = options.machine();
  const std::vector<tpu_v1::Change> changes = tpu_v1::scaled_machines(machine, factor);
  fmt::print("{:<10}", "speed-up");
  for (const tpu_v1::Change& change : changes) fmt::print("{:>13}", change.name);
  fmt::print("\n");
  for (const tpu_v1::Workload& workload : tpu_v1::workloads()) {
    const double before = seconds_on(workload, machine);
    fmt::print("{:<10}", workload.name);
    for (const tpu_v1::Change& change : changes) {
      try {
        fmt::print("{:>13.2f}", before / seconds_on(workload, change.machine));
      } catch (const Error&) {
        fmt::print("{:>13}", "does not fit");
      }
    }
    fmt::print("\n");
  }
}

}  // namespace

void add_tpu_v1_what_if_command(CommandLine& line) {
  struct Options {
    MachineOptions machine;
    double factor = 2;
  };
  auto options = std::make_shared<Options>();
  line.option("--factor", options->factor,
              "Scales the memory, the clock and the matrix unit in turn")
      .show_default();
  options->machine.add(line);
  line.on_run([options] { show_changes(options->machine, options->factor); });
}

}  // namespace systole::app
