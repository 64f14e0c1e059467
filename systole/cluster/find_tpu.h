// The target of a program that may be told a TPU, and may not.
#pragma once

#include <string>

namespace systole {

// Returns the target for a Session or RunConfig::master: that of the TPU `tpu` or, if it is empty,
// of the TPU that the environment names (tpu_variable()); "" if neither names one. Errors: those of
// TPUClusterResolver.
std::string find_tpu(const std::string& tpu = "");

// Returns the variable of the environment that names a TPU: the first of
// KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS, TPU_NAME, TPU_CONFIG and COLAB_TPU_ADDR that is set, or "".
std::string tpu_variable();

}  // namespace systole
