// The cluster that the pods of Kubernetes make.
// (tf.distribute.cluster_resolver.KubernetesClusterResolver)
#pragma once

#include <map>
#include <string>
#include <vector>

#include "systole/cluster/cluster_spec.h"
#include "systole/io/http/http_retry.h"

namespace systole {

// Asks the API server of the cluster in which this process is a pod for the pods of each job. The
// service account of the pod must be allowed to list pods.
class KubernetesClusterResolver {
 public:
  struct Options {
    // The label selectors of each job.
    std::map<std::string, std::vector<std::string>> job_to_label_mapping = {
        {"worker", {"job-name=tensorflow"}}};
    int tf_server_port = 8470;
    std::string rpc_layer = "grpc";
    // "": https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT
    std::string api_server;
    // The folder with `token` and `ca.crt`.
    std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
    // "": pods of all namespaces, as in TensorFlow.
    std::string name_space;
    http::RetryOptions retries;
  };
  explicit KubernetesClusterResolver(Options options);
  KubernetesClusterResolver() : KubernetesClusterResolver(Options{}) {}

  // Asks anew at each call. Pods are sorted by name; their address is that of their host. Errors:
  // NOT_FOUND outside a pod; UNAVAILABLE for a pod that is not Running, with its name and phase;
  // those of the request.
  ClusterSpec cluster_spec() const;
  // "grpc://host:port" of a task.
  std::string master(const std::string& task_type = "worker", int task_id = 0) const;

 private:
  std::vector<std::string> addresses(const std::string& selector) const;

  Options options_;
};

// Parses a list of pods, the answer of the API server: "<address of its host>:<port>" of each, in
// the order of the pods' names. Errors: DATA_LOSS for another text, UNAVAILABLE for a pod that is
// not Running. `what` starts messages.
std::vector<std::string> parse_kubernetes_pods(const std::string& what, const std::string& text,
                                               int port);

}  // namespace systole
