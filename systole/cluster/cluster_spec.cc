#include "systole/cluster/cluster_spec.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole {

const std::string& task_address(std::string_view who, const ClusterSpec& cluster,
                                const std::string& job, int task) {
  const auto found = cluster.find(job);
  if (found == cluster.end()) {
    std::string jobs;
    for (const auto& [name, tasks] : cluster) jobs += (jobs.empty() ? "" : ", ") + name;
    throw invalid_argument("{}: job, got '{}', expected one of: {}", who, job, jobs);
  }
  const auto tasks = static_cast<int>(found->second.size());
  if (task < 0 || task >= tasks) {
    throw invalid_argument("{}: task of job '{}', got {}, expected 0 to {}", who, job, task,
                           tasks - 1);
  }
  return found->second[task];
}

std::vector<std::string> split_addresses(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace systole
