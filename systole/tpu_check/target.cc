#include "systole/tpu_check/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "systole/profile/prediction/tpu_system.h"

namespace systole::tpu_check {
namespace {

// The configuration of chips in which the cores of a chip are one device, as on Cloud TPUs. It is
// the default of later generations, and v2, v3 and 7x have none.
std::string_view chip_config_of(const profile::TpuSystem& system) {
  return system.generation->name == "v4" ? "megacore" : "";
}

// The sides of a slice, a power of two each and as equal as can be: 2x2, 4x4, 4x8; 2x2x1, 2x2x2,
// 2x2x4.
std::string sides_of(const profile::TpuSystem& system) {
  std::vector<int64_t> sides(static_cast<size_t>(system.axes), 1);
  // The first two axes hold a host. From there on the shortest axis grows, the last one first.
  sides[0] = sides[1] = 2;
  for (int64_t left = system.hosts(); left > 1; left /= 2) {
    auto shortest = std::min_element(sides.rbegin(), sides.rend());
    *shortest *= 2;
  }
  std::ranges::sort(sides);
  // 2x2x1: an axis of one chip comes last, as libtpu writes it.
  if (sides.front() == 1) std::ranges::rotate(sides, sides.begin() + 1);
  return fmt::format("{}", fmt::join(sides, "x"));
}

}  // namespace

Target target_of(std::string_view name) {
  const profile::TpuSystem system = profile::tpu_system(name);
  const std::string_view series = name.substr(0, name.rfind('-'));
  return {.system = system.name,
          .topology = fmt::format("{}:{}", series, sides_of(system)),
          .chip_config = std::string(chip_config_of(system)),
          .devices = system.cores,
          .clock_hz = system.generation->clock_hz,
          .memory_bytes = system.generation->memory_bytes};
}

}  // namespace systole::tpu_check
