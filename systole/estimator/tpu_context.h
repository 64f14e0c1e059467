// TPUContext: what an input_fn and a model_fn are told of the TPU that they run for.
// (tf.contrib.tpu.TPUContext)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace systole {

// In `params["context"]` where a TPU is used:
//   const auto context = params["context"].as<st::TPUContext>();
// One host feeds all cores. A value type.
class TPUContext {
 public:
  // One of the calls of an input_fn.
  struct Deployment {
    std::string device;             // of the host that it is called on
    int64_t invocation_index = 0;   // of the calls
    int64_t total_invocations = 1;  // more than one with PER_SHARD_V1: one a replica
    int64_t replicas_consumed = 1;  // how many replicas what it returns is for
  };

  // For a model_fn without `deployment`.
  explicit TPUContext(int64_t num_replicas, std::optional<Deployment> deployment = std::nullopt)
      : num_replicas_(num_replicas), deployment_(std::move(deployment)) {}

  int64_t num_replicas() const { return num_replicas_; }
  int64_t num_hosts() const { return 1; }
  int64_t num_of_replicas_per_host() const { return num_replicas_; }
  // Errors, of both: FAILED_PRECONDITION in a model_fn.
  int64_t current_host() const;
  const Deployment& current_input_fn_deployment() const;
  // The device of the replica's host, and which of its cores the replica is. Errors:
  // INVALID_ARGUMENT for a replica that is none.
  std::pair<std::string, int64_t> device_for_replica(int64_t replica) const;

  static std::string host_device() { return "/task:0/device:CPU:0"; }

 private:
  int64_t num_replicas_;
  std::optional<Deployment> deployment_;
};

}  // namespace systole
