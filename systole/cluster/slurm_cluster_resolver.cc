#include "systole/cluster/slurm_cluster_resolver.h"

#include <fmt/format.h>

#include <algorithm>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/base/number_text.h"

namespace systole {
namespace {

constexpr size_t kMaxHosts = 100'000;

Error host_list_error(std::string_view text) {
  return invalid_argument("Slurm: list of hosts, got '{}', expected one such as 'n[08-10,12],m'",
                          text);
}

// Appends prefix + "08", "09", "10" + suffix for the ranges "08-10".
void append_ranges(std::string_view list, const std::string& prefix, std::string_view ranges,
                   std::vector<std::string>* names) {
  for (const std::string& range : split_addresses(ranges)) {
    const size_t dash = range.find('-');
    const std::string first = range.substr(0, dash);
    const auto begin = parse_number<int64_t>(first);
    const auto end =
        dash == std::string::npos ? begin : parse_number<int64_t>(range.substr(dash + 1));
    if (!begin || !end || *begin < 0 || *end < *begin ||
        names->size() + static_cast<size_t>(*end - *begin) >= kMaxHosts) {
      throw host_list_error(list);
    }
    for (int64_t i = *begin; i <= *end; ++i) {
      names->push_back(prefix + fmt::format("{:0{}}", i, first.size()));
    }
  }
}

std::string first_variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    std::string value = environment_value(name);
    if (!value.empty()) return value;
  }
  return "";
}

int number_of(const char* what, const std::string& text, int least) {
  const auto number = parse_number<int>(text);
  if (!number || *number < least) {
    throw invalid_argument("Slurm: {}, got '{}', expected a number of at least {}", what, text,
                           least);
  }
  return *number;
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view text) {
  std::vector<std::string> hosts;
  for (size_t at = 0; at < text.size();) {
    // One host name, with any number of brackets, to a comma outside of them.
    std::vector<std::string> names = {""};
    while (at < text.size() && text[at] != ',') {
      if (text[at] != '[') {
        for (std::string& name : names) name += text[at];
        ++at;
        continue;
      }
      const size_t close = text.find(']', at);
      if (close == std::string_view::npos) throw host_list_error(text);
      std::vector<std::string> longer;
      for (const std::string& name : names) {
        append_ranges(text, name, text.substr(at + 1, close - at - 1), &longer);
      }
      names = std::move(longer);
      at = close + 1;
    }
    if (at < text.size()) ++at;
    for (const std::string& name : names) {
      if (name.empty() || name.find(']') != std::string::npos) throw host_list_error(text);
    }
    if (hosts.size() + names.size() > kMaxHosts) throw host_list_error(text);
    std::ranges::move(names, std::back_inserter(hosts));
  }
  return hosts;
}

std::vector<int> expand_task_counts(std::string_view text) {
  std::vector<int> counts;
  for (const std::string& part : split_addresses(text)) {
    const size_t times = part.find("(x");
    const auto count = parse_number<int>(part.substr(0, times));
    std::optional<int> nodes = 1;
    if (times != std::string::npos) {
      nodes = part.ends_with(')')
                  ? parse_number<int>(part.substr(times + 2, part.size() - times - 3))
                  : std::nullopt;
    }
    if (!count || *count < 1 || !nodes || *nodes < 1 ||
        counts.size() + static_cast<size_t>(*nodes) > kMaxHosts) {
      throw invalid_argument(
          "Slurm: tasks of each node, got '{}', expected a list such as '2(x3),1'", text);
    }
    counts.insert(counts.end(), static_cast<size_t>(*nodes), *count);
  }
  return counts;
}

SlurmClusterResolver::SlurmClusterResolver(const Options& options) : rpc_layer_(options.rpc_layer) {
  const std::string nodes = first_variable({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"});
  if (nodes.empty()) {
    throw not_found(
        "SlurmClusterResolver: SLURM_STEP_NODELIST and SLURM_JOB_NODELIST are not set, expected a "
        "process that srun has started");
  }
  const std::vector<std::string> hosts = expand_host_list(nodes);
  rank_ = number_of("rank", first_variable({"OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}), 0);
  num_tasks_ =
      number_of("number of tasks", first_variable({"OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}), 1);
  std::vector<int> counts =
      expand_task_counts(first_variable({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}));
  if (counts.empty()) {
    const int each =
        (num_tasks_ + static_cast<int>(hosts.size()) - 1) / static_cast<int>(hosts.size());
    counts.assign(hosts.size(), each);
  }
  std::vector<std::string> addresses;
  for (size_t host = 0; host < hosts.size() && host < counts.size(); ++host) {
    for (int i = 0; i < counts[host] && addresses.size() < static_cast<size_t>(num_tasks_); ++i) {
      addresses.push_back(fmt::format("{}:{}", hosts[host], options.port_base + i));
    }
  }
  auto jobs = options.jobs;
  if (jobs.empty()) jobs = {{"worker", static_cast<int>(addresses.size())}};
  int first = 0;
  for (const auto& [job, tasks] : jobs) {
    if (tasks < 1 || static_cast<size_t>(first) + tasks > addresses.size()) {
      throw invalid_argument(
          "SlurmClusterResolver: job '{}', got {} tasks after {} of other jobs, expected {} in all",
          job, tasks, first, addresses.size());
    }
    cluster_[job].assign(addresses.begin() + first, addresses.begin() + first + tasks);
    if (rank_ >= first && rank_ < first + tasks) {
      task_type_ = job;
      task_id_ = rank_ - first;
    }
    first += tasks;
  }
}

std::string SlurmClusterResolver::master() const {
  return task_type_.empty() ? "" : master(task_type_, task_id_);
}

std::string SlurmClusterResolver::master(const std::string& task_type, int task_id) const {
  return rpc_layer_ + "://" + task_address("SlurmClusterResolver", cluster_, task_type, task_id);
}

}  // namespace systole
