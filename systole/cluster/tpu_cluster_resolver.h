// Finds the TPU that a program should talk to. (tf.contrib.cluster_resolver.TPUClusterResolver)
#pragma once

#include <string>

namespace systole {

struct TPUClusterResolverOptions {
  // "local" or "local:v3-8" (a virtual TPU on this machine), "grpc://host:port" (a worker). When
  // empty: the environment variable TPU_NAME, by the same rules.
  std::string tpu;
};

// Errors of the constructor: NOT_FOUND when no TPU is named anywhere; INVALID_ARGUMENT for a name
// that cannot be an address (the names of Google's cloud cannot be looked up from here: give the
// worker's address).
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
