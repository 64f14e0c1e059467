// How many processors this process may use.
#pragma once

#include <filesystem>
#include <optional>

namespace systole {

// Returns the number of processors of the affinity mask (taskset, cpusets), or that of the quota of
// its control groups (docker --cpus, Kubernetes limits, systemd's CPUQuota), rounded up, if that is
// less. At least 1. The first call decides. Thread-safe.
int available_cpus();

// Returns the least quota of a process's control groups and the groups around them in processors;
// nullopt if there is none. `groups` has the form of /proc/self/cgroup, `root` that of
// /sys/fs/cgroup, of version 1 or 2. In a container the groups are often mounted at the root.
std::optional<double> cpu_quota(const std::filesystem::path& groups,
                                const std::filesystem::path& root);

}  // namespace systole
