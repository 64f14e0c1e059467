// The figures that `make bench` prints: ours beside the machine's limit and, where it is built, the
// peer's, all measured in the same run, in turns: values are medians of the repetitions, shares and
// ratios medians over what ran one after the other.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// What to time: `for (auto _ : state) { one unit of work }`.
using Body = std::function<void(benchmark::State&)>;

// One row. With `work` the value is a rate, work a second, and more is better; without it the value
// is the time of an iteration in `unit` ("us" or "ms"), and less is better.
struct Figure {
  std::string name;  // fixed: bench.json is read by others
  std::string unit;
  double work = 0;  // of an iteration, in units of the rate: 2e-9 * n^3 for GFLOP/s
  double per = 1;   // what a time is divided by: how often an iteration repeats what it is about
  Body ours;
  bool manual_time = false;  // the bodies call state.SetIterationTime
  Body limit = nullptr;      // the same work by the fastest means that the machine has
  std::string peer;          // "libtorch"
  Body peer_body = nullptr;
  int repetitions = 9;  // fewer where one takes seconds
};

// Adds a row; its bodies run as the benchmarks <name>, <name>/limit and <name>/<peer>.
void add(Figure figure);

// Bodies of a peer for rows of ours, by name; empty where the peer is not built in.
Body libtorch(const std::string& figure);

// Each file of rows: called once by main. (Definitions are one a file.)
void add_bandwidth_figures();
void add_checkpoint_figures();
void add_cnn_figures();
void add_conv_figures();
void add_embedding_figures();
void add_input_figures();
void add_iris_figures();
void add_jpeg_figures();
void add_matmul_figures();
void add_mnist_train_figures();
void add_pool_figures();
void add_replica_figures();
void add_sort_figures();
void add_startup_figures();
void add_tfrecord_figures();
void add_while_figures();

// Runs what --benchmark_filter selects and writes the table to stdout and, when not empty, JSON to
// `json_path`. Returns the exit status.
int run(int argc, char** argv, const std::string& json_path);

}  // namespace bench
