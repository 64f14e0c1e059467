// The matrix-product test of the Cloud TPU notebook: COUNT products of N x N matrices in one
// program.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "apps/systole/base/command.h"
#include "systole/base/counted.h"
#include "systole/profile/prediction/machine.h"
#include "systole/systole.h"

namespace systole::app {
namespace {

constexpr std::array kDTypes = {"float32", "bfloat16", "float16", "float64"};

struct FlopsOptions {
  int64_t n = 2048;
  int64_t count = 20;
  std::string dtype = "float32";
  int cores = 0;
};

// x * y, COUNT times, summed up. Entries of variance 1/N keep the products from growing.
Output repeated_product(const FlopsOptions& options, DType dtype) {
  const double bound = std::sqrt(3.0 / static_cast<double>(options.n));
  const auto uniform = [&] {
    const Shape shape{options.n, options.n};
    return cast(random_uniform(shape, {.minval = -bound, .maxval = bound, .seed = 1}), dtype);
  };
  const Output y = uniform();
  const auto more = [&](const std::vector<Output>& v) {
    return v[0] < static_cast<int>(options.count);
  };
  const auto body = [&](const std::vector<Output>& v) {
    return std::vector<Output>{v[0] + 1, tensordot(v[1], y, 1)};
  };
  const std::vector<Output> last = while_loop(more, body, {0, uniform()});
  return reduce_sum(cast(last[1], DType::f32));
}

double seconds_of_run(Session& session, const Output& fetch) {
  const auto start = std::chrono::steady_clock::now();
  session.run(fetch);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(const FlopsOptions& options) {
  if (std::ranges::find(kDTypes, options.dtype) == kDTypes.end()) {
    throw UsageError(
        fmt::format("--dtype: got '{}', expected {}", options.dtype, fmt::join(kDTypes, ", ")));
  }
  const DType dtype = dtype_from_tf(options.dtype);
  const int cores = options.cores == 0 ? profile::num_cores() : options.cores;
  Graph graph;
  const GraphScope scope(graph);
  const Output product = repeated_product(options, dtype);
  Session session("", {.graph = &graph, .num_threads = cores});
  session.run(product);  // compiles
  double seconds = seconds_of_run(session, product);
  for (int round = 0; round < 2; ++round)
    seconds = std::min(seconds, seconds_of_run(session, product));

  const double n = static_cast<double>(options.n);
  const double achieved = 2 * n * n * n * static_cast<double>(options.count) / seconds;
  fmt::print("{} of [{},{}] {} on {}: {:.3f} s\n", counted(options.count, "product"), options.n,
             options.n, dtype, counted(cores, "core"), seconds);
  fmt::print("  achieved  {:.4g} TFLOP/s\n", achieved * 1e-12);
  if (const auto peak = profile::measure_peak_flops(dtype, cores)) {
    fmt::print(
        "  peak      {:.4g} TFLOP/s, measured now by multiply-adds in registers ({:.3g} %)\n",
        *peak * 1e-12, 100 * achieved / *peak);
  }
}

}  // namespace

const Command kFlopsCommand{
    .name = "flops",
    .summary = "Measures matrix products against this machine's peak",
    .add =
        [](CommandLine& line) {
          auto options = std::make_shared<FlopsOptions>();
          line.option("-n,--size", options->n, "The matrices are N x N")
              .show_default()
              .between(1, 1 << 16);
          line.option("-c,--count", options->count, "Number of products in the program")
              .show_default()
              .positive();
          line.option("--dtype", options->dtype, "Type of the matrices' elements")
              .value_name(fmt::format("{}", fmt::join(kDTypes, "|")))
              .show_default();
          line.option("--cores", options->cores, "CPU cores to use; 0: all")
              .show_default()
              .not_negative();
          line.on_run([options] { run(*options); });
        },
    .examples = {"", "--size 4096 --count 10 --dtype bfloat16 --cores 1"},
};

}  // namespace systole::app
