// `make bench`: see bench/README.md.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cnn_step.h"
#include "bench/figures.h"
#include "bench/iris.h"

int main(int argc, char** argv) {
  std::string json_path;
  // Repetitions in random order: what disturbs the machine disturbs all rows alike; the table shows
  // medians.
  std::vector<char*> arguments = {argv[0]};
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::string repetitions = "--benchmark_repetitions=9";
  std::string min_time = "--benchmark_min_time=0.05";
  arguments.insert(arguments.end(), {interleave.data(), repetitions.data(), min_time.data()});
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    // A child of ours: see startup.cc.
    if (argument == "--compile-iris-cold" || argument == "--compile-cnn-cold") {
      const bool iris = argument == "--compile-iris-cold";
      std::printf("%.9f\n",
                  iris ? bench::seconds_to_compile_iris() : bench::seconds_to_compile_cnn());
      return 0;
    }
    if (argument.starts_with("--json=")) {
      json_path = argument.substr(7);
    } else {
      arguments.push_back(argv[i]);
    }
  }
  bench::add_bandwidth_figures();
  bench::add_checkpoint_figures();
  bench::add_embedding_figures();
  bench::add_input_figures();
  bench::add_iris_figures();
  bench::add_cnn_figures();
  bench::add_conv_figures();
  bench::add_jpeg_figures();
  bench::add_matmul_figures();
  bench::add_pool_figures();
  bench::add_replica_figures();
  bench::add_sort_figures();
  bench::add_startup_figures();
  bench::add_tfrecord_figures();
  bench::add_while_figures();
  return bench::run(static_cast<int>(arguments.size()), arguments.data(), json_path);
}
