// Measures the floating-point operations per second of a TPU's cores in a plain Session: the
// notebook "A quick test, just to measure FLOPS" of Cloud TPU's first users.
//
//   flops_session                      8 virtual cores
//   flops_session --tpu local:4 --n 1024

#include <chrono>
#include <cmath>
#include <cstdio>

#include "systole/base/command_line.h"
#include "systole/systole.h"

namespace {

struct Flags {
  std::string tpu = st::tpu_variable().empty() ? "local" : "";
  int64_t n = 512;  // the matrices' size
  int64_t count = 20;
};

double run(const Flags& flags) {
  const std::string tpu_address = st::TPUClusterResolver({.tpu = flags.tpu}).get_master();
  st::Session session(tpu_address);
  const auto topology = st::tpu::Topology::parse(session.run(st::tpu::initialize_system()));
  const int cores = topology.num_cores();

  const auto flops = [&](const std::vector<st::Output>&) {
    auto x = st::random_uniform({flags.n, flags.n});
    auto y = st::random_uniform({flags.n, flags.n});
    auto last = st::tpu::repeat(
        flags.count,
        [](const std::vector<st::Output>& v) {
          // Scaled, so that values keep their magnitude.
          auto size = static_cast<double>(v[0].shape()[0]);
          return std::vector{st::multiply(st::matmul(v[0], v[1]), 2.0 / size), v[1]};
        },
        {x, y});
    return std::vector{st::reduce_sum(last[0])};
  };
  const auto tpu_ops = st::tpu::batch_parallel(flops, {}, cores);

  std::printf("Warming up on %d cores...\n", cores);
  session.run(tpu_ops[0]);
  const auto start = std::chrono::steady_clock::now();
  session.run(tpu_ops[0]);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  session.run(st::tpu::shutdown_system());
  const double work =
      static_cast<double>(cores * flags.count * 2) * std::pow(static_cast<double>(flags.n), 3);
  std::printf("%.3f s, %.1f GFLOP/s\n", elapsed.count(), 1e-9 * work / elapsed.count());
  return elapsed.count();
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("flops_session",
                       "Measures the floating-point operations a second of a TPU.");
  line.option("--tpu", flags.tpu, "TPU to run on: local, local:v3-8, local:4")
      .value_name("TPU")
      .show_default();
  line.option("--n", flags.n, "Size of the matrices").show_default().between(1, 1 << 16);
  line.option("--count", flags.count, "Products a core").show_default().positive();
  line.on_run([&] { run(flags); });
  return line.run(argc, argv);
}
