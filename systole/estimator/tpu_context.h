// TPUContext: describes the TPU to an input_fn and a model_fn.
// (tf.contrib.tpu.TPUContext)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace systole {

// With a TPU, `params["context"]`:
//   const auto context = params["context"].as<st::TPUContext>();
// One host feeds all cores, unless mpirun has started several processes: each is then a host, with
// as many of the replicas. A value type.
class TPUContext {
 public:
  // One call of an input_fn.
  struct Deployment {
    std::string device;             // of the host that calls it
    int64_t invocation_index = 0;   // of this call
    int64_t total_invocations = 1;  // with PER_SHARD_V1 one for each replica
    int64_t replicas_consumed = 1;  // replicas that read the result
  };

  // `num_replicas` counts the replicas of all hosts; `host` is this one's number, from 0.
  // `deployment` tells an input_fn which part of the input to read; pass none for a model_fn.
  explicit TPUContext(int64_t num_replicas, std::optional<Deployment> deployment = std::nullopt,
                      int64_t num_hosts = 1, int64_t host = 0)
      : num_replicas_(num_replicas),
        num_hosts_(num_hosts),
        host_(host),
        deployment_(std::move(deployment)) {}

  int64_t num_replicas() const { return num_replicas_; }
  int64_t num_hosts() const { return num_hosts_; }
  int64_t num_of_replicas_per_host() const { return num_replicas_ / num_hosts_; }
  // Errors, of both: FAILED_PRECONDITION in a model_fn.
  int64_t current_host() const;
  const Deployment& current_input_fn_deployment() const;
  // Returns the device of the replica's host and the replica's core there. Errors:
  // INVALID_ARGUMENT for a replica that does not exist.
  std::pair<std::string, int64_t> device_for_replica(int64_t replica) const;

  static std::string host_device(int64_t host = 0) {
    return "/task:" + std::to_string(host) + "/device:CPU:0";
  }

 private:
  int64_t num_replicas_;
  int64_t num_hosts_;
  int64_t host_;
  std::optional<Deployment> deployment_;
};

}  // namespace systole
