#include "systole/base/available_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace systole {
namespace {

namespace fs = std::filesystem;

int allowed_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

// The first words of a file, as numbers; a word that is none, such as "max", is none.
std::optional<double> quota_in(const fs::path& quota_file, const fs::path& period_file) {
  double quota = 0;
  double period = 0;
  std::ifstream quotas(quota_file);
  if (!(quotas >> quota)) return std::nullopt;
  std::ifstream periods(period_file);
  std::istream& rest = period_file == quota_file ? static_cast<std::istream&>(quotas) : periods;
  if (!(rest >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// That of the group `folder` of version 2, or else of version 1.
std::optional<double> quota_of(const fs::path& folder) {
  if (const auto quota = quota_in(folder / "cpu.max", folder / "cpu.max")) return quota;
  return quota_in(folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us");
}

// That of `group`, a path such as "/user.slice", and of all around it up to `root`.
std::optional<double> least_quota(const fs::path& root, std::string_view group) {
  std::optional<double> least = quota_of(root);
  fs::path folder = root;
  for (const fs::path& name : fs::path(group).relative_path()) {
    if (name == "..") break;  // outside of the container's groups
    folder /= name;
    if (const auto quota = quota_of(folder)) least = std::min(least.value_or(*quota), *quota);
  }
  return least;
}

bool has_word(std::string_view list, std::string_view word) {
  const std::string padded = "," + std::string(list) + ",";
  return padded.find("," + std::string(word) + ",") != std::string::npos;
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& groups, const fs::path& root) {
  std::optional<double> least;
  std::ifstream file(groups);
  // Lines such as "0::/system.slice" (version 2) and "4:cpu,cpuacct:/docker/1" (version 1).
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (!controllers.empty() && !has_word(controllers, "cpu")) continue;
    const auto quota =
        controllers.empty() ? least_quota(root, group) : least_quota(root / controllers, group);
    if (quota) least = std::min(least.value_or(*quota), *quota);
  }
  return least;
}

int available_cpus() {
  static const int count = [] {
    const int allowed = allowed_cpus();
    const auto quota = cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (!quota || *quota >= allowed) return allowed;
    return std::max(static_cast<int>(std::ceil(*quota)), 1);
  }();
  return count;
}

}  // namespace systole
