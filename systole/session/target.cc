#include "systole/session/target.h"

#include <charconv>
#include <optional>

#include "systole/base/error.h"
#include "systole/runtime/registry.h"

namespace systole {
namespace {

// "v3-8" -> 8 cores.
std::optional<int> parse_accelerator_type(std::string_view type) {
  const auto dash = type.find('-');
  if (!type.starts_with('v') || dash == std::string_view::npos) return std::nullopt;
  int cores = 0;
  const auto [end, error] =
      std::from_chars(type.data() + dash + 1, type.data() + type.size(), cores);
  if (error != std::errc() || end != type.data() + type.size() || cores < 1) return std::nullopt;
  return cores;
}

constexpr int kCoresPerHost = 8;

}  // namespace

Target resolve_target(std::string_view target, std::string_view backend) {
  const std::string name(target);
  if (target.starts_with("grpc://")) {
    throw make_error(
        Code::unavailable,
        "Session: target '{}': no worker answers, expected '' (this machine) or 'local' (a "
        "virtual TPU); this version has no remote workers",
        target);
  }
  runtime::Client* const client = &runtime::client(backend.empty() ? "cpu" : backend);
  if (target.empty()) return {name, client, {.target = name}};

  std::optional<int> cores;
  if (target == "local") cores = kCoresPerHost;
  if (target.starts_with("local:")) cores = parse_accelerator_type(target.substr(6));
  if (!cores) {
    throw invalid_argument(
        "Session: target, got '{}', expected '' (this machine), 'local', 'local:v2-8' (a virtual "
        "TPU) or "
        "'grpc://host:port'",
        target);
  }
  return {name,
          client,
          {.target = name,
           .is_tpu = true,
           .num_hosts = (*cores + kCoresPerHost - 1) / kCoresPerHost,
           .num_cores = *cores}};
}

}  // namespace systole
