// How training over hosts scales, on paper. Constants of the machine are measured by mpi_allreduce;
// those of a network are given:
//   mpi_scaling --latency-us 3 --message-us 1 --bandwidth 12 --flops 180e12
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "systole/base/command_line.h"
#include "systole/runtime/process_group.h"

namespace {

struct Constants {
  double latency_us = 30;  // of an operation in which two hosts meet
  double message_us = 5;   // what one more message costs its sender and its receiver
  double bandwidth = 1.1;  // GB/s of a host, in each direction
  double flops = 1.3e12;   // of a host, as reached in training
};

// A network, and what a host computes of it in a step.
struct Network {
  std::string name;
  double large_bytes;  // of gradients of more than 16 KiB, f32
  int large;           // their number
  double small_bytes;  // of the others
  int small;
  double flops;    // of an example: forward and backward
  double batch;    // examples of a host in a step, at most
  double largest;  // batch of all hosts that still trains well

  double compute_seconds(double hosts, double host_flops) const {
    return flops * std::min(batch, largest / hosts) / host_flops;
  }
};

// ResNet-50's convolutions and last layer are large, its normalisations and biases small.
const std::vector<Network> kNetworks = {
    {"ResNet-50", 102.0e6, 54, 0.43e6, 107, 24.6e9, 256, 32768},
    {"BERT base, 128 tokens", 439.0e6, 76, 0.47e6, 123, 84e9, 256, 65536},
};

// One sum of `bytes`: all hosts compare what they do; then small arrays are gathered by all, and
// large ones added up by their owners, in chunks of 1 MiB (runtime/mpi_collective.h).
double seconds_of_sum(const Constants& c, double hosts, double bytes) {
  if (hosts < 2) return 0;
  const double rounds = std::ceil(std::log2(hosts));
  const double meet = rounds * c.latency_us * 1e-6;
  if (bytes <= 16 << 10) return 2 * meet + bytes * (hosts - 1) / (c.bandwidth * 1e9);
  const double chunks = std::ceil(bytes / hosts / (1 << 20));
  const double messages = 2 * (hosts - 1) * chunks * c.message_us * 1e-6;
  return meet + messages + 2 * bytes * (hosts - 1) / hosts / (c.bandwidth * 1e9);
}

double seconds_alone(const Constants& c, const Network& n, double hosts) {
  return n.large * seconds_of_sum(c, hosts, n.large_bytes / n.large) +
         n.small * seconds_of_sum(c, hosts, n.small_bytes / n.small);
}

// As the cpu backend joins gradients: large ones mostly stay alone on few hosts.
double seconds_joined(const Constants& c, const Network& n, double hosts) {
  const auto most =
      static_cast<double>(systole::runtime::max_joined_bytes(static_cast<int>(hosts)));
  const double large = std::min<double>(n.large, std::ceil(n.large_bytes / most));
  const double small = std::ceil(n.small_bytes / most);
  return large * seconds_of_sum(c, hosts, n.large_bytes / large) +
         small * seconds_of_sum(c, hosts, n.small_bytes / small);
}

// What the backward pass, two thirds of the computation, does not hide.
double seconds_exposed(const Constants& c, const Network& n, double hosts) {
  return std::max(0.0, seconds_joined(c, n, hosts) - n.compute_seconds(hosts, c.flops) * 2 / 3);
}

// Returns the largest power of two for which each of so many hosts reaches 80 % of the speed that
// it has alone.
int last_good(const auto& share) {
  int hosts = 1;
  while (hosts < 1 << 20 && share(2.0 * hosts) >= 0.8) hosts *= 2;
  return hosts;
}

void print_table(const Constants& c) {
  std::printf("latency %.3g us, message %.3g us, %.3g GB/s, %.3g TFLOP/s a host\n\n", c.latency_us,
              c.message_us, c.bandwidth, c.flops / 1e12);
  std::printf("| network | hosts | compute, ms | sums, ms | alone | joined | and overlapped |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const Network& n : kNetworks) {
    const auto share = [&](const auto& sums, double hosts) {
      const double compute = n.compute_seconds(hosts, c.flops);
      return compute / (compute + sums(c, n, hosts));
    };
    for (const double hosts : {2.0, 8.0, 64.0, 1024.0}) {
      std::printf("| %s | %.0f | %.0f | %.0f | %.0f %% | %.0f %% | %.0f %% |\n", n.name.c_str(),
                  hosts, 1e3 * n.compute_seconds(hosts, c.flops), 1e3 * seconds_joined(c, n, hosts),
                  100 * share(seconds_alone, hosts), 100 * share(seconds_joined, hosts),
                  100 * share(seconds_exposed, hosts));
    }
    const auto last = [&](const auto& sums) {
      return last_good([&](double hosts) { return share(sums, hosts); });
    };
    std::printf("| %s | 80 %% up to | | | %d | %d | %d |\n", n.name.c_str(), last(seconds_alone),
                last(seconds_joined), last(seconds_exposed));
  }
}

}  // namespace

int main(int argc, char** argv) {
  systole::CommandLine line("mpi_scaling", "Prints how training over hosts scales, on paper.");
  Constants constants;
  line.option("--latency-us", constants.latency_us, "An operation in which two hosts meet")
      .show_default();
  line.option("--message-us", constants.message_us, "One more message").show_default();
  line.option("--bandwidth", constants.bandwidth, "GB/s of a host").show_default();
  line.option("--flops", constants.flops, "Operations a second of a host").show_default();
  line.on_run([&] { print_table(constants); });
  return line.run(argc, argv);
}
