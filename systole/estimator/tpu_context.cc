#include "systole/estimator/tpu_context.h"

#include "systole/base/error.h"

namespace systole {

const TPUContext::Deployment& TPUContext::current_input_fn_deployment() const {
  if (!deployment_) {
    throw failed_precondition("This TPUContext instance must not be called from model_fn.");
  }
  return *deployment_;
}

int64_t TPUContext::current_host() const {
  current_input_fn_deployment();
  return host_;
}

std::pair<std::string, int64_t> TPUContext::device_for_replica(int64_t replica) const {
  if (replica < 0 || replica >= num_replicas_) {
    throw invalid_argument("TPUContext: replica, got {}, expected 0 to {}", replica,
                           num_replicas_ - 1);
  }
  const int64_t per_host = num_of_replicas_per_host();
  return {host_device(replica / per_host), replica % per_host};
}

}  // namespace systole
