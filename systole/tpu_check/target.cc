#include "systole/tpu_check/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "systole/base/error.h"
#include "systole/runtime/tpu_generation.h"

namespace systole::tpu_check {
namespace {

// How Google names and sells slices of a generation. Source: Cloud TPU documentation, "TPU
// configurations" (names, sizes, shapes of slices).
struct Generation {
  std::string_view name;     // also libtpu's, in names of topologies
  std::string_view chip;     // runtime::find_tpu_generation's name
  int counted_per_chip = 1;  // what the number of a system's name counts
  int devices_per_chip = 1;  // that a program sees
  int axes = 2;
  int most_chips = 0;
};

constexpr std::array kGenerations = {
    Generation{"v2", "v2", 2, 2, 2, 256},     Generation{"v3", "v3", 2, 2, 2, 1024},
    Generation{"v4", "v4", 2, 2, 3, 4096},    Generation{"v5e", "v5e", 1, 1, 2, 256},
    Generation{"v5p", "v5p", 2, 1, 3, 4096},  Generation{"v6e", "v6e", 1, 1, 2, 256},
    Generation{"tpu7x", "7x", 2, 2, 3, 4096},
};

// A host has 2 x 2 chips: no slice has fewer.
constexpr int kChipsOfHost = 4;

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

// The sides of a slice, a power of two each and as equal as can be: 2x2, 4x4, 4x8; 2x2x1, 2x2x2,
// 2x2x4.
std::string sides_of(const Generation& generation, int64_t chips) {
  std::vector<int64_t> sides(static_cast<size_t>(generation.axes), 1);
  // The first two axes hold a host. From there on the shortest axis grows, the last one first.
  sides[0] = sides[1] = 2;
  for (int64_t left = chips / kChipsOfHost; left > 1; left /= 2) {
    auto shortest = std::min_element(sides.rbegin(), sides.rend());
    *shortest *= 2;
  }
  std::ranges::sort(sides);
  // 2x2x1: an axis of one chip comes last, as libtpu writes it.
  if (sides.front() == 1) std::ranges::rotate(sides, sides.begin() + 1);
  return fmt::format("{}", fmt::join(sides, "x"));
}

const Generation* find_generation(std::string_view name) {
  const auto* const found = std::ranges::find(kGenerations, name, &Generation::name);
  return found == kGenerations.end() ? nullptr : found;
}

}  // namespace

std::vector<std::string_view> examples_of_targets() {
  return {"v2-8", "v3-8", "v4-8", "v5e-4", "v5p-8", "v6e-8", "tpu7x-8"};
}

Target target_of(std::string_view system) {
  const size_t dash = system.rfind('-');
  const Generation* const generation = find_generation(system.substr(0, dash));
  if (dash == std::string_view::npos || generation == nullptr) {
    throw invalid_argument("TPU, got '{}', expected a name such as {}", system,
                           fmt::join(examples_of_targets(), ", "));
  }
  const std::string_view digits = system.substr(dash + 1);
  int64_t count = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const int64_t chips = count / generation->counted_per_chip;
  if (failed != std::errc() || end != digits.data() + digits.size() || !is_power_of_two(count) ||
      chips < kChipsOfHost || chips > generation->most_chips) {
    throw invalid_argument(
        "TPU, got '{}', expected {}-N with N = {}, {}, ... {}: hosts have {} chips, and a slice "
        "has whole hosts",
        system, generation->name, kChipsOfHost * generation->counted_per_chip,
        2 * kChipsOfHost * generation->counted_per_chip,
        int64_t{generation->most_chips} * generation->counted_per_chip, kChipsOfHost);
  }
  const runtime::TpuGeneration& chip = *runtime::find_tpu_generation(generation->chip);
  return {.system = std::string(system),
          .topology = fmt::format("{}:{}", generation->name, sides_of(*generation, chips)),
          .devices = static_cast<int>(chips * generation->devices_per_chip),
          .clock_hz = chip.clock_hz,
          .memory_bytes = chip.memory_bytes,
          .chip = generation->name};
}

}  // namespace systole::tpu_check
