#include "examples/support/keras_options.h"

#include <algorithm>
#include <cstdio>

#include "examples/support/mnist_data.h"
#include "systole/base/error.h"
#include "systole/cluster/tpu_cluster_resolver.h"

namespace examples {

void add_keras_options(st::CommandLine& line, KerasOptions& options, const std::string& folder) {
  options.data_dir = default_data_dir();
  line.option("--data_dir", options.data_dir, "Holds " + folder + "/")
      .value_name("FOLDER")
      .show_default();
  line.option("--cores", options.cores, "Cores of a virtual TPU: 1 or 8").show_default();
  line.option("--epochs", options.epochs).positive().show_default();
}

st::keras::tpu::TPUDistributionStrategy strategy_of(const KerasOptions& options) {
  if (options.cores != 1 && options.cores != 8) {
    throw st::invalid_argument("--cores: got {}, expected 1 or 8", options.cores);
  }
  return {st::TPUClusterResolver("local:v3-8"), {.using_single_core = options.cores == 1}};
}

void print_best(const st::keras::History& history, const std::string& name) {
  if (history.epoch.empty()) return;
  const std::vector<double>& values = history.history.at(name);
  const auto [least, largest] = std::ranges::minmax(values);
  const bool is_loss = name.ends_with("loss");
  std::printf("best %s %.4f, last %.4f\n", name.c_str(), is_loss ? least : largest, values.back());
}

}  // namespace examples
