#include "systole/profile/prediction/tpu_system.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "systole/base/error.h"

namespace systole::profile {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
// 8 sublanes of 128 lanes, two operations a cycle.
constexpr double kVectorOpsPerCycle = 2 * 1024;

constexpr TpuGeneration kV2{.name = "v2",
                            .matrix_units = 1,
                            .clock_hz = 700e6,
                            .hbm_bytes_per_second = 350e9,
                            .hbm_bytes = 8 * kGiB,
                            .vector_ops_per_second = kVectorOpsPerCycle * 700e6};
constexpr TpuGeneration kV3{.name = "v3",
                            .matrix_units = 2,
                            .clock_hz = 940e6,
                            .hbm_bytes_per_second = 450e9,
                            .hbm_bytes = 16 * kGiB,
                            .vector_ops_per_second = kVectorOpsPerCycle * 940e6};
constexpr std::array kCoresOfV2 = {8, 32, 128, 256, 512};
constexpr std::array kCoresOfV3 = {8, 32, 128, 256, 512, 1024, 2048};

std::vector<TpuSystem> all_systems() {
  std::vector<TpuSystem> systems;
  for (const int cores : kCoresOfV2) systems.push_back({fmt::format("v2-{}", cores), &kV2, cores});
  for (const int cores : kCoresOfV3) systems.push_back({fmt::format("v3-{}", cores), &kV3, cores});
  return systems;
}

}  // namespace

TpuSystem tpu_system(std::string_view name) {
  const std::vector<TpuSystem> systems = all_systems();
  const auto found = std::ranges::find(systems, name, &TpuSystem::name);
  if (found != systems.end()) return *found;
  std::vector<std::string> names;
  for (const TpuSystem& system : systems) names.push_back(system.name);
  throw invalid_argument("TPU: name, got '{}', expected one of {}", name, fmt::join(names, ", "));
}

}  // namespace systole::profile
