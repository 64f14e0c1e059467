// `make bench`: see bench/README.md.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cnn_step.h"
#include "bench/figures.h"
#include "bench/iris.h"
#include "bench/keras.h"
#include "bench/remote.h"

// Runs the task of a child process of startup.cc and prints its seconds. Returns false if the
// arguments name no such task.
bool measured_in_child(std::span<char*> arguments) {
  if (arguments.size() < 2) return false;
  const std::string_view what = arguments[1];
  double seconds = 0;
  if (what == "--serve-objects") return bench::serve_objects();
  if (what == "--compile-iris-cold") {
    seconds = bench::seconds_to_compile_iris();
  } else if (what == "--compile-cnn-cold") {
    seconds = bench::seconds_to_compile_cnn();
  } else if (what == "--compile-imdb-lstm-cold") {
    seconds = bench::seconds_to_compile_imdb_lstm();
  } else {
    return false;
  }
  std::printf("%.9f\n", seconds);
  return true;
}

int main(int argc, char** argv) {
  // Compilations are cold but where a row says otherwise.
  setenv("SYSTOLE_CACHE_DIR", "", /*overwrite=*/0);  // NOLINT(concurrency-mt-unsafe)
  if (measured_in_child({argv, static_cast<size_t>(argc)})) return 0;
  std::string json_path;
  std::vector<char*> arguments = {argv[0]};
  std::string min_time = "--benchmark_min_time=0.05";
  arguments.push_back(min_time.data());
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--json=")) {
      json_path = argument.substr(7);
    } else {
      arguments.push_back(argv[i]);
    }
  }
  bench::add_bandwidth_figures();
  bench::add_bucket_figures();
  bench::add_busy_figures();
  bench::add_board_figures();
  bench::add_checkpoint_figures();
  bench::add_embedding_figures();
  bench::add_input_figures();
  bench::add_int8_figures();
  bench::add_iris_figures();
  bench::add_cnn_figures();
  bench::add_conv_figures();
  bench::add_jpeg_figures();
  bench::add_keras_figures();
  bench::add_keras_mnist_figures();
  bench::add_matmul_figures();
  bench::add_mnist_train_figures();
  bench::add_plugin_figures();
  bench::add_pool_figures();
  bench::add_profile_figures();
  bench::add_remote_figures();
  bench::add_replica_figures();
  bench::add_sort_figures();
  bench::add_startup_figures();
  bench::add_tfrecord_figures();
  bench::add_while_figures();
  return bench::run(static_cast<int>(arguments.size()), arguments.data(), json_path);
}
