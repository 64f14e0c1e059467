#include "systole/session/target.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "systole/base/error.h"
#include "systole/runtime/registry.h"

namespace systole {
namespace {

constexpr int kCoresPerHost = 8;
constexpr int kMaxCores = 2048;

// Memory of a core, by generation (Cloud TPU's system architecture).
struct Generation {
  std::string_view name;
  int64_t memory_per_core;
};
constexpr int64_t kGiB = int64_t{1} << 30;
constexpr Generation kGenerations[] = {{"v2", 8 * kGiB}, {"v3", 16 * kGiB}};

struct Cores {
  int count = 0;
  int64_t memory = 0;  // of each
};

std::optional<int> parse_count(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) return std::nullopt;
  return count <= kMaxCores ? std::optional(count) : std::nullopt;
}

// "v3-8" -> 8 cores with 16 GiB; "4" -> 4 of the first generation that there is.
std::optional<Cores> parse_cores(std::string_view type) {
  const auto dash = type.find('-');
  const bool named = dash != std::string_view::npos;
  const auto* generation =
      named ? std::ranges::find(kGenerations, type.substr(0, dash), &Generation::name)
            : std::begin(kGenerations);
  const auto count = parse_count(named ? type.substr(dash + 1) : type);
  if (generation == std::end(kGenerations) || !count) return std::nullopt;
  return Cores{*count, generation->memory_per_core};
}

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
  if (target.empty()) return {.name = name, .client = client, .environment = {.target = name}};

  std::optional<Cores> cores;
  if (target == "local") cores = parse_cores("v2-8");
  if (target.starts_with("local:")) cores = parse_cores(target.substr(6));
  if (!cores) {
    throw invalid_argument(
        "Session: target, got '{}', expected '' (this machine), 'local', 'local:v2-8', "
        "'local:v3-8', 'local:N' (a virtual TPU of N cores) or 'grpc://host:port'",
        target);
  }
  return {.name = name,
          .client = client,
          .environment = {.target = name,
                          .is_tpu = true,
                          .num_hosts = (cores->count + kCoresPerHost - 1) / kCoresPerHost,
                          .num_cores = cores->count},
          .memory_per_core = cores->memory};
}

}  // namespace systole
