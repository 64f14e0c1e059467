#include "systole/profile/prediction/tpu_system.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "systole/base/error.h"
#include "systole/runtime/tpu_memory.h"

namespace systole::profile {
namespace {

// How Google names and sells slices of a generation. Source: Cloud TPU documentation, "TPU
// configurations" (names, sizes, shapes of slices).
struct Series {
  std::string_view name;
  std::string_view generation;
  int counted_per_chip = 1;  // what the number of a system's name counts
  int axes = 2;
  int most_chips = 0;
};

constexpr std::array kSeries = {
    Series{"v2", "v2", 2, 2, 256},     Series{"v3", "v3", 2, 2, 1024},
    Series{"v4", "v4", 2, 3, 4096},    Series{"v5e", "v5e", 1, 2, 256},
    Series{"v5p", "v5p", 2, 3, 4096},  Series{"v6e", "v6e", 1, 2, 256},
    Series{"tpu7x", "7x", 2, 3, 4096},
};

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

TpuCalibration calibration_of(const runtime::TpuGeneration& generation) {
  TpuCalibration calibration;
  if (generation.name == "v2" || generation.name == "v3") return calibration;
  calibration.kept_on_chip = static_cast<double>(runtime::core_memory(generation).on_chip) / 4;
  calibration.fill_bytes_per_cycle = 190;
  calibration.op_cycles = 1800;
  calibration.copies_tables = false;
  if (generation.name == "v6e") calibration.turned_bytes_per_cycle = 420;
  calibration.step_seconds = 0;
  calibration.infeed_seconds = 0;
  calibration.infeed_bytes_per_second = std::numeric_limits<double>::infinity();
  calibration.all_reduce_bytes_per_second =
      generation.ici_bytes_per_second / generation.devices_per_chip;
  calibration.all_reduce_seconds = 0;
  calibration.sums_overlap = true;
  return calibration;
}

std::vector<std::string_view> examples_of_tpu_systems() {
  return {"v2-8", "v3-8", "v4-8", "v5e-4", "v5p-8", "v6e-8", "tpu7x-8"};
}

TpuSystem tpu_system(std::string_view name) {
  const size_t dash = name.rfind('-');
  const auto* const series = std::ranges::find(kSeries, name.substr(0, dash), &Series::name);
  if (dash == std::string_view::npos || series == kSeries.end()) {
    throw invalid_argument("TPU, got '{}', expected a name such as {}", name,
                           fmt::join(examples_of_tpu_systems(), ", "));
  }
  const runtime::TpuGeneration& generation = *runtime::find_tpu_generation(series->generation);
  const std::string_view digits = name.substr(dash + 1);
  int64_t count = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const int64_t chips = count / series->counted_per_chip;
  if (failed != std::errc() || end != digits.data() + digits.size() || !is_power_of_two(count) ||
      chips < generation.chips_per_host || chips > series->most_chips) {
    const int64_t least = int64_t{generation.chips_per_host} * series->counted_per_chip;
    throw invalid_argument(
        "TPU, got '{}', expected {}-N with N = {}, {}, ... {}: hosts have {} chips, and a slice "
        "has whole hosts",
        name, series->name, least, 2 * least,
        int64_t{series->most_chips} * series->counted_per_chip, generation.chips_per_host);
  }
  return {.name = std::string(name),
          .generation = &generation,
          .chips = static_cast<int>(chips),
          .cores = static_cast<int>(chips * generation.devices_per_chip),
          .axes = series->axes};
}

}  // namespace systole::profile
