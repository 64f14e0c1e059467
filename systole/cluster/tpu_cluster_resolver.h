// Finds the TPU that a program should talk to. (tf.contrib.cluster_resolver.TPUClusterResolver)
#pragma once

#include <string>

namespace systole {

struct TPUClusterResolverOptions {
  // A session target: "local" or "local:v3-8" (a virtual TPU on this machine), "grpc://host:port"
  // (a worker), or another registered scheme. If empty, the environment variable TPU_NAME.
  std::string tpu;
};

// Errors of the constructor: NOT_FOUND if neither the options nor TPU_NAME name a TPU;
// INVALID_ARGUMENT for a name that is no session target. Names of cloud TPUs are not looked up: use
// the address of the worker.
class TPUClusterResolver {
 public:
  explicit TPUClusterResolver(const TPUClusterResolverOptions& options = {});
  explicit TPUClusterResolver(const char* tpu)
      : TPUClusterResolver(TPUClusterResolverOptions{.tpu = tpu}) {}

  // The target for Session: "local", "grpc://10.0.0.2:8470".
  const std::string& get_master() const { return master_; }
  const std::string& master() const { return master_; }

 private:
  std::string master_;
};

}  // namespace systole
