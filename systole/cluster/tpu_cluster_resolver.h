// Finds the TPU that a program should talk to. (tf.contrib.cluster_resolver.TPUClusterResolver)
#pragma once

#include <chrono>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/clock.h"
#include "systole/cluster/cluster_spec.h"

namespace systole {

class CloudTpu;
struct CloudTpuNode;

// The argument `tpu`: a name, or a list with one.
class TPUNames {
 public:
  TPUNames() = default;
  template <std::convertible_to<std::string> Text>
  TPUNames(Text name) : names_{std::string(name)} {}  // NOLINT: as in Python
  TPUNames(std::initializer_list<const char*> names)  // NOLINT: as in Python
      : names_(names.begin(), names.end()), list_(true) {}
  TPUNames(std::vector<std::string> names)  // NOLINT: as in Python
      : names_(std::move(names)), list_(true) {}

  const std::vector<std::string>& names() const { return names_; }
  bool is_list() const { return list_; }

 private:
  std::vector<std::string> names_;
  bool list_ = false;
};

struct TPUClusterResolverOptions {
  // One of:
  //   a session target: "local" or "local:v3-8" (a virtual TPU on this machine), or another
  //   registered scheme "grpc://host:port", or several with commas between: workers the name of a
  //   cloud TPU, for which the Cloud TPU API is asked
  // "": this machine without a TPU, as in TPUClusterResolver(use_tpu ? tpu : ""). If not given, the
  // environment variables, in this order: KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS (a list of
  // grpc://), TPU_NAME, TPU_CONFIG (JSON with tpu_node_name, project, zone), COLAB_TPU_ADDR
  // (host:port).
  TPUNames tpu;
  TPUNames tpu_names;                   // of TensorFlow before 1.8; logs a warning
  std::string zone;                     // "": the metadata server's
  std::string project;                  // "": the metadata server's
  std::string job_name = "worker";      // of the TPU's tasks in cluster_spec()
  std::string coordinator_name;         // another job, with one task
  std::string coordinator_address;      // its "host:port"; required with coordinator_name
  std::string credentials = "default";  // "default": Google's order; otherwise an access token
  std::string discovery_url;            // of the API; TPU_API_DISCOVERY_URL replaces it
};

// Logs the source that it used. Errors of the constructor: NOT_FOUND if nothing names a TPU, with
// all sources; INVALID_ARGUMENT for an empty list, or for a name that is no target when there is no
// project and zone to ask for it; UNIMPLEMENTED for a list of several; UNAVAILABLE for a cloud TPU
// that is not ready or not healthy; FAILED_PRECONDITION for one that will not be; those of the API.
// All say which source named the TPU.
class TPUClusterResolver {
 public:
  explicit TPUClusterResolver(const TPUClusterResolverOptions& options = {});
  explicit TPUClusterResolver(const char* tpu)
      : TPUClusterResolver(TPUClusterResolverOptions{.tpu = tpu}) {}

  // The target for Session: "local", "grpc://10.0.0.2:8470". Of several workers, the first.
  const std::string& get_master() const { return master_; }
  const std::string& master() const { return master_; }
  // The workers, and the coordinator. nullopt for a target on this machine.
  const std::optional<ClusterSpec>& cluster_spec() const { return cluster_; }
  // All workers as one target: "grpc://10.0.0.2:8470,10.0.0.3:8470". get_master() if there is one.
  std::string all_workers() const;
  // "the argument tpu", "TPU_NAME", ... and, for a cloud TPU, the node.
  const std::string& source() const { return source_; }
  // "google" for a target on this machine, "" for workers.
  const std::string& environment() const { return environment_; }
  // "grpc" for workers.
  std::optional<std::string> rpc_layer() const;
  // job_name if the Cloud TPU API was asked, otherwise none.
  std::optional<std::string> get_job_name() const;
  // The cores of each host, as the system tells them that get_master() names. Errors: those of
  // connecting.
  int num_accelerators() const;

  // Returns the node of a Cloud TPU. Errors: FAILED_PRECONDITION for others; those of the API.
  CloudTpuNode node() const;
  // Whether the TPU will work again (cloud_tpu.h). true for what is no cloud TPU.
  bool recoverable() const;
  // Waits until the node is READY and HEALTHY. Errors: DEADLINE_EXCEEDED; FAILED_PRECONDITION if it
  // is not recoverable.
  void wait_for_healthy(std::chrono::seconds timeout = std::chrono::seconds(1200),
                        std::chrono::seconds interval = std::chrono::seconds(30),
                        Clock& clock = real_clock()) const;

 private:
  void find_name(const TPUClusterResolverOptions& options);
  void resolve(const TPUClusterResolverOptions& options);
  void ask_cloud(const TPUClusterResolverOptions& options);
  void set_workers(const std::vector<std::string>& addresses,
                   const TPUClusterResolverOptions& options);

  std::string name_;
  std::string project_;
  std::string zone_;
  std::string source_;
  std::string master_;
  std::string job_name_;
  std::string environment_;
  std::optional<ClusterSpec> cluster_;
  std::shared_ptr<CloudTpu> cloud_;  // null if the API was not asked
};

}  // namespace systole
