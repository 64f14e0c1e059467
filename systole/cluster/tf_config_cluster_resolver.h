// The cluster that TF_CONFIG describes. (tf.distribute.cluster_resolver.TFConfigClusterResolver)
#pragma once

#include <optional>
#include <string>

#include "systole/cluster/cluster_spec.h"

namespace systole {

// Reads TF_CONFIG, JSON such as
//   {"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0},
//    "rpc_layer": "grpc", "session_master": "", "environment": "cloud"}
// Arguments replace its fields. Without TF_CONFIG the cluster is empty. Errors: INVALID_ARGUMENT
// for other JSON, with the field.
class TFConfigClusterResolver {
 public:
  struct Options {
    std::optional<std::string> task_type;
    std::optional<int> task_id;
    std::optional<std::string> rpc_layer;
    std::optional<std::string> environment;
  };
  explicit TFConfigClusterResolver(const Options& options);
  TFConfigClusterResolver() : TFConfigClusterResolver(Options{}) {}

  const ClusterSpec& cluster_spec() const { return cluster_; }
  const std::string& task_type() const { return task_type_; }
  int task_id() const { return task_id_; }
  const std::string& rpc_layer() const { return rpc_layer_; }
  const std::string& environment() const { return environment_; }
  // Returns session_master if it is there; "" for a cluster of at most one task; otherwise
  // "<rpc_layer>://<address>" of this task. Errors: INVALID_ARGUMENT for a task that the cluster
  // does not have.
  std::string master() const;
  // The same of another task.
  std::string master(const std::string& task_type, int task_id) const;

 private:
  ClusterSpec cluster_;
  std::string task_type_;
  int task_id_ = 0;
  std::string rpc_layer_;
  std::string environment_;
  std::string session_master_;
};

}  // namespace systole
