// systole tpu-v1 scalesim: cycles of SCALE-Sim's topologies.
#include <fmt/core.h>

#include "apps/systole/base/output.h"
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/tpu_v1/scalesim/topology.h"

namespace systole::app {
namespace {

struct ScaleSimOptions {
  std::vector<std::string> files;
  int64_t rows = 256;
  int64_t columns = 256;
  bool layers = false;
  bool json = false;
};

// Returns whether all rows were counted.
bool show_topology(const std::string& file, const ScaleSimOptions& options, nlohmann::json& json) {
  const tpu_v1::Topology topology =
      tpu_v1::parse_topology(read_file(default_file_system(), file), file);
  for (const std::string& note : topology.notes) log_error("{}", note);
  int64_t cycles = 0;
  int64_t multiply_adds = 0;
  nlohmann::json layers = nlohmann::json::array();
  for (const tpu_v1::TopologyLayer& layer : topology.layers) {
    const int64_t own = tpu_v1::scalesim_cycles(layer, options.rows, options.columns);
    cycles += own;
    multiply_adds += layer.multiply_adds();
    if (options.json) {
      layers.push_back({{"name", layer.name}, {"cycles", own}, {"line", layer.line}});
    }
    if (!options.layers || options.json) continue;
    fmt::print("  {:<32} {:>12} cycles {:>6.2f} %\n", layer.name, own,
               tpu_v1::scalesim_utilization(layer, options.rows, options.columns));
  }
  const std::string missing =
      topology.notes.empty()
          ? ""
          : fmt::format(" without {} that cannot be counted",
                        topology.notes.size() == 1 ? "a row"
                                                   : fmt::format("{} rows", topology.notes.size()));
  if (options.json) {
    json.push_back({{"file", file},
                    {"layers", layers},
                    {"multiply_adds", multiply_adds},
                    {"cycles", cycles},
                    {"not_counted", topology.notes}});
    return topology.notes.empty();
  }
  fmt::print("{}: {} layers, {} multiply-adds, {} cycles{}\n", file, topology.layers.size(),
             multiply_adds, cycles, missing);
  return topology.notes.empty();
}

}  // namespace

void add_tpu_v1_scalesim_command(CommandLine& line) {
  auto options = std::make_shared<ScaleSimOptions>();
  line.option("topology", options->files, "CSV files of convolutions or of products").required();
  line.option("--rows", options->rows, "Rows of the array").show_default().between(1, 1 << 20);
  line.option("--columns", options->columns, "Columns of the array")
      .show_default()
      .between(1, 1 << 20);
  line.flag("--layers", options->layers, "Print every layer, with the share of busy cells");
  line.flag("--json", options->json, kJsonMeaning);
  line.on_run([options] {
    bool all = true;
    nlohmann::json json = nlohmann::json::array();
    for (const std::string& file : options->files) {
      all = show_topology(file, *options, json) && all;
    }
    if (options->json) print_json(json);
    if (!all) throw ExitStatus{1};
  });
}

}  // namespace systole::app
