#include "systole/tpu_v1/workloads/workloads.h"

#include <array>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/tpu_v1/workloads/programs.h"

namespace systole::tpu_v1 {
namespace {

constexpr std::array kWorkloads = {
    Workload{"MLP0-R",
             "5 fully connected layers, 2000-2048-2000-2048-2000-2048, batch 200",
             {12.7, 12.5, 0.3, 53.9, 15.9, 17.5, 3.3, 6.1, 12.3},
             true,
             3,
             mlp0_program},
    Workload{"MLP1-R",
             "4 fully connected layers, 1200-1200-1200-1200-512, batch 168",
             {10.6, 9.4, 1.2, 44.2, 13.4, 31.9, 8.4, 8.8, 9.7},
             true,
             3,
             mlp1_program},
    Workload{"LSTM0-R",
             "6 LSTM layers of width 1024, residual from layer 3 on, batch 64, 16-bit activations",
             {8.2, 8.2, 0.0, 58.1, 15.8, 17.9, 14.6, 5.1, 3.7},
             true,
             3,
             lstm0_program},
    Workload{"LSTM1-R",
             "4 layers of three independent LSTM cells of width 600, batch 96, 16-bit activations",
             {10.5, 6.3, 4.2, 62.1, 17.1, 10.3, 10.6, 2.4, 2.8},
             true,
             3,
             lstm1_program},
    Workload{"CNN0-R",
             "16 convolutions on a 19x19 board, 48 planes, 256 filters, batch 8",
             {78.2, 78.2, 0.0, 0.0, 0.0, 21.8, 3.5, 3.4, 86.0},
             true,
             3,
             cnn0_program},
    Workload{"CNN1-R",
             "72 convolutions (15M weights) and 4 fully connected layers (80M), batch 32",
             {46.2, 22.5, 23.7, 28.1, 7.0, 18.7, 22.8, 0.6, 14.1},
             false,
             3,
             cnn1_program}};

}  // namespace

std::span<const Workload> workloads() { return kWorkloads; }

const Workload& workload(std::string_view name) {
  std::vector<std::string> names;
  for (const Workload& known : kWorkloads) {
    if (known.name == name) return known;
    names.emplace_back(known.name);
  }
  throw not_found(
      "workload: got '{}', expected MLP0-R, MLP1-R, LSTM0-R, LSTM1-R, CNN0-R or CNN1-R{}", name,
      did_you_mean(name, names));
}

}  // namespace systole::tpu_v1
