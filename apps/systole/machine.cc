// systole machine: measures the limits of this machine.
#include "systole/profile/prediction/machine.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "apps/systole/base/command.h"
#include "systole/io/file_systems/cache_folder.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/profile/prediction/cpu_machine.h"

namespace systole::app {
namespace {

void measure(const std::string& output) {
  const profile::CpuMachine machine = profile::measure_cpu_machine();
  fmt::print("{}\n", machine.name);
  fmt::print("  cores        {}\n", machine.cores);
  fmt::print("  extensions   {}\n", fmt::join(profile::cpu_extensions(), ", "));
  fmt::print("  f32          {:8.1f} GFLOP/s\n", 1e-9 * machine.flops_per_second);
  for (const DType dtype : {DType::bf16, DType::f64}) {
    if (const auto peak = profile::measure_peak_flops(dtype, machine.cores))
      fmt::print("  {:<12} {:8.1f} GFLOP/s\n", to_string(dtype), 1e-9 * *peak);
  }
  fmt::print("  caches       {:8.1f} GB/s\n", 1e-9 * machine.cache_bytes_per_second);
  fmt::print("  memory       {:8.1f} GB/s\n", 1e-9 * machine.memory_bytes_per_second);
  fmt::print("  ridge        {:8.1f} FLOP/byte\n",
             machine.flops_per_second / machine.memory_bytes_per_second);
  std::string path = output;
  if (path.empty() && make_private_folder(default_cache_folder()).empty())
    path = profile::cpu_machine_path();
  if (path.empty()) return fmt::print("not kept: there is no cache folder\n");
  profile::save_cpu_machine(machine, default_file_system(), path);
  fmt::print("kept in {}, for profiles and `systole check --predict cpu`\n", path);
}

}  // namespace

const Command kMachineCommand{
    .name = "machine",
    .summary = "Measures the peaks of this machine, for profiles and predictions",
    .add =
        [](CommandLine& line) {
          auto output = std::make_shared<std::string>();
          line.option("--output", *output, "Another file than that of the cache folder")
              .value_name("FILE.json");
          line.on_run([output] { measure(*output); });
        },
    .examples = {""},
};

}  // namespace systole::app
