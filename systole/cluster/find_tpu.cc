#include "systole/cluster/find_tpu.h"

#include "systole/base/environment.h"
#include "systole/cluster/tpu_cluster_resolver.h"

namespace systole {

std::string tpu_variable() {
  for (const char* name :
       {"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME", "TPU_CONFIG", "COLAB_TPU_ADDR"}) {
    if (!environment_value(name).empty()) return name;
  }
  return "";
}

std::string find_tpu(const std::string& tpu) {
  if (tpu.empty() && tpu_variable().empty()) return "";
  const TPUClusterResolver resolver =
      tpu.empty() ? TPUClusterResolver() : TPUClusterResolver({.tpu = tpu});
  return resolver.get_master();
}

}  // namespace systole
