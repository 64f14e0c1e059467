#include "systole/cluster/tpu_cluster_resolver.h"

#include <cstdlib>

#include "systole/base/error.h"

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
        "TPUClusterResolver: no TPU named, expected .tpu = \"local\" or \"grpc://host:port\", or "
        "TPU_NAME in the "
        "environment");
  }
  if (master_ != "local" && !master_.starts_with("local:") && !master_.starts_with("grpc://")) {
    throw invalid_argument(
        "TPUClusterResolver: tpu, got '{}', expected 'local', 'local:v2-8' or 'grpc://host:port' "
        "(cloud names are "
        "not looked up: give the address)",
        master_);
  }
}

}  // namespace systole
