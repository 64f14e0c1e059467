#include "systole/cluster/tpu_cluster_resolver.h"

#include <cstdlib>

#include "systole/base/error.h"
#include "systole/session/target.h"

namespace systole {
namespace {

std::string name_from_environment() {
  const char* name = std::getenv("TPU_NAME");  // NOLINT(concurrency-mt-unsafe): read once, at start
  return name == nullptr ? "" : name;
}

}  // namespace

TPUClusterResolver::TPUClusterResolver(const TPUClusterResolverOptions& options)
    : master_(options.tpu.empty() ? name_from_environment() : options.tpu) {
  if (master_.empty()) {
    throw not_found(
        "TPUClusterResolver: no TPU named, expected .tpu, or TPU_NAME in the environment: {}",
        target_forms());
  }
  if (!has_target_scheme(master_)) {
    throw invalid_argument(
        "TPUClusterResolver: tpu, got '{}', expected {} (cloud names are not looked up: give the "
        "address)",
        master_, target_forms());
  }
}

}  // namespace systole
