// The cluster of a Slurm job step. (tf.distribute.cluster_resolver.SlurmClusterResolver)
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/cluster/cluster_spec.h"

namespace systole {

// Expands a list of hosts in Slurm's form as `scontrol show hostnames` does: "n[08-10,12],m"
// becomes n08, n09, n10, n12, m. Errors: INVALID_ARGUMENT for text of another form, or for more
// than 100,000 hosts.
std::vector<std::string> expand_host_list(std::string_view text);
// Expands the number of tasks of each node in Slurm's form: "2(x3),1" becomes 2, 2, 2, 1. Errors:
// INVALID_ARGUMENT for text of another form.
std::vector<int> expand_task_counts(std::string_view text);

// Tasks are numbered over the hosts in order: those of one host listen at port_base, port_base + 1,
// ... Reads SLURM_STEP_NODELIST or SLURM_JOB_NODELIST, SLURM_PROCID, SLURM_NTASKS and
// SLURM_STEP_TASKS_PER_NODE or SLURM_TASKS_PER_NODE. Under mpirun, OMPI_COMM_WORLD_RANK and _SIZE
// replace the rank and the number of tasks. Errors: NOT_FOUND outside a job; INVALID_ARGUMENT for
// more jobs' tasks than there are.
class SlurmClusterResolver {
 public:
  struct Options {
    // Names and numbers of tasks, in the order of ranks. Empty: all tasks are "worker".
    std::vector<std::pair<std::string, int>> jobs;
    int port_base = 8888;
    std::string rpc_layer = "grpc";
  };
  explicit SlurmClusterResolver(const Options& options);
  SlurmClusterResolver() : SlurmClusterResolver(Options{}) {}

  const ClusterSpec& cluster_spec() const { return cluster_; }
  // The task of this process: "" and -1 if no job has its rank.
  const std::string& task_type() const { return task_type_; }
  int task_id() const { return task_id_; }
  int rank() const { return rank_; }
  int num_tasks() const { return num_tasks_; }
  // "grpc://host:port" of this task, "" if no job has it.
  std::string master() const;
  std::string master(const std::string& task_type, int task_id) const;

 private:
  ClusterSpec cluster_;
  std::string rpc_layer_;
  std::string task_type_;
  int task_id_ = -1;
  int rank_ = 0;
  int num_tasks_ = 0;
};

}  // namespace systole
