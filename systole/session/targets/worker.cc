#include <algorithm>

#include "systole/base/error.h"
#include "systole/runtime/registry.h"
#include "systole/session/targets/targets.h"

namespace systole {
namespace {

constexpr std::string_view kGrpc = "grpc://";
constexpr int kCoresPerWorker = 8;  // of a TPU's host

Target resolve_worker(std::string_view target, std::string_view) {
  if (!target.starts_with(kGrpc)) {
    throw invalid_argument("Session: target, got '{}', expected 'grpc://host:port'", target);
  }
  if (std::ranges::count(runtime::backend_names(), "remote") == 0) {
    throw make_error(Code::unavailable,
                     "Session: target '{}': this program is linked without the remote backend",
                     target);
  }
  runtime::Client* client = nullptr;
  try {
    client = &runtime::client("remote", {{"address", std::string(target.substr(kGrpc.size()))}});
  } catch (const Error& error) {
    throw make_error(error.code(), "Session: target '{}': {}", target, error.message());
  }
  const auto devices = client->devices();
  const int cores = static_cast<int>(devices.size());
  return {.name = std::string(target),
          .client = client,
          .environment = {.target = std::string(target),
                          .is_tpu = true,
                          .num_hosts = (cores + kCoresPerWorker - 1) / kCoresPerWorker,
                          .num_cores = cores},
          .memory_per_core = devices.front().memory_bytes};
}

}  // namespace

TargetScheme worker_scheme() {
  return {.scheme = "grpc", .forms = "'grpc://host:port' (a worker)", .resolve = resolve_worker};
}

}  // namespace systole
