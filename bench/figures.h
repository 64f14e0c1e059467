// The rows of `make bench`: ours, the machine's limit and, if built, the peer. Their repetitions
// alternate in one run. Values are medians; shares and ratios are medians over adjacent
// repetitions.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// Code to time: `for (auto _ : state) { one unit of work }`.
using Body = std::function<void(benchmark::State&)>;

// One row. With `work`, the value is a rate (work per second) and higher is better. Without it, the
// value is the time of an iteration in `unit` ("us" or "ms") and lower is better.
struct Figure {
  std::string name;  // must not change: other programs read bench.json
  std::string unit;
  double work = 0;  // per iteration, in units of the rate: 2e-9 * n^3 for GFLOP/s
  double per = 1;   // number of units in an iteration; the time is divided by it
  Body ours;
  bool manual_time = false;  // the bodies call state.SetIterationTime
  Body limit = nullptr;      // the same work as fast as the machine can
  std::string peer;          // "f32", or empty
  Body peer_body = nullptr;
  int repetitions = 9;  // fewer if one takes seconds
};

// Adds a row; its bodies run as the benchmarks <name>, <name>/limit and <name>/<peer>.
void add(Figure figure);

// Runs the server of the bucket rows until standard input ends. Returns true.
bool serve_objects();

// Add the rows of one file each. Called once by main.
void add_bandwidth_figures();
void add_bucket_figures();
void add_busy_figures();
void add_board_figures();
void add_checkpoint_figures();
void add_cnn_figures();
void add_conv_figures();
void add_embedding_figures();
void add_input_figures();
void add_int8_figures();
void add_iris_figures();
void add_jpeg_figures();
void add_keras_figures();
void add_keras_mnist_figures();
void add_matmul_figures();
void add_mnist_train_figures();
void add_plugin_figures();
void add_pool_figures();
void add_profile_figures();
void add_replica_figures();
void add_sort_figures();
void add_startup_figures();
void add_tfrecord_figures();
void add_while_figures();

// Runs the rows that --benchmark_filter selects. Writes the table to stdout and, if `json_path` is
// not empty, JSON to that file. Returns the exit status.
int run(int argc, char** argv, const std::string& json_path);

}  // namespace bench
