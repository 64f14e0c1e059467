// systole tpu-v1 scalesim: cycles of SCALE-Sim's topologies.
#include <fmt/core.h>

#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/backends/tpu_v1/scalesim/topology.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::app {
namespace {

struct ScaleSimOptions {
  std::vector<std::string> files;
  int64_t rows = 256;
  int64_t columns = 256;
  bool layers = false;
};

void show_topology(const std::string& file, const ScaleSimOptions& options) {
  const tpu_v1::Topology topology =
      tpu_v1::parse_topology(read_file(default_file_system(), file), file);
  for (const std::string& note : topology.notes) log_warning("{}", note);
  int64_t cycles = 0;
  int64_t multiply_adds = 0;
  for (const tpu_v1::TopologyLayer& layer : topology.layers) {
    const int64_t own = tpu_v1::scalesim_cycles(layer, options.rows, options.columns);
    cycles += own;
    multiply_adds += layer.multiply_adds();
    if (!options.layers) continue;
    fmt::print("  {:<32} {:>12} cycles {:>6.2f} %\n", layer.name, own,
               tpu_v1::scalesim_utilization(layer, options.rows, options.columns));
  }
  fmt::print("{}: {} layers, {} multiply-adds, {} cycles\n", file, topology.layers.size(),
             multiply_adds, cycles);
}

}  // namespace

void add_tpu_v1_scalesim_command(CommandLine& line) {
  auto options = std::make_shared<ScaleSimOptions>();
  line.option("topology", options->files, "CSV files of convolutions or of products").required();
  line.option("--rows", options->rows, "Rows of the array").show_default().positive();
  line.option("--columns", options->columns, "Columns of the array").show_default().positive();
  line.flag("--layers", options->layers, "Print every layer, with the share of busy cells");
  line.on_run([options] {
    for (const std::string& file : options->files) show_topology(file, *options);
  });
}

}  // namespace systole::app
