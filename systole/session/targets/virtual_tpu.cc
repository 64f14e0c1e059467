#include <charconv>
#include <optional>

#include "systole/base/error.h"
#include "systole/runtime/registry.h"
#include "systole/runtime/tpu_generation.h"
#include "systole/session/targets/targets.h"

namespace systole {
namespace {

constexpr std::string_view kForms =
    "'local', 'local:v2-8', 'local:v3-8' or 'local:N' (a virtual TPU of N cores)";
constexpr int kCoresPerHost = 8;
constexpr int kMaxCores = 2048;

struct Cores {
  int count = 0;
  const runtime::TpuGeneration* generation = nullptr;
};

std::optional<int> parse_count(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) return std::nullopt;
  return count <= kMaxCores ? std::optional(count) : std::nullopt;
}

// "v3-8" -> 8 cores of v3; "4" -> 4 of the first generation.
std::optional<Cores> parse_cores(std::string_view type) {
  const auto dash = type.find('-');
  const bool named = dash != std::string_view::npos;
  const std::string_view name = named ? type.substr(0, dash) : "v2";
  const auto count = parse_count(named ? type.substr(dash + 1) : type);
  if ((name != "v2" && name != "v3") || !count) return std::nullopt;
  return Cores{*count, runtime::find_tpu_generation(name)};
}

Target resolve_virtual_tpu(std::string_view target, std::string_view backend) {
  const auto colon = target.find(':');
  const auto cores =
      parse_cores(colon == std::string_view::npos ? "v2-8" : target.substr(colon + 1));
  if (!cores) {
    throw invalid_argument("Session: target, got '{}', expected {}", target, kForms);
  }
  const int64_t memory = cores->generation->memory_bytes;
  runtime::Client& client =
      runtime::client(backend.empty() ? "cpu" : backend,
                      {{"cores", int64_t{cores->count}},
                       {"core_memory", memory},
                       {"core_kind", fmt::format("virtual TPU {}", cores->generation->name)}});
  return {.name = std::string(target),
          .client = &client,
          .environment = {.target = std::string(target),
                          .is_tpu = true,
                          .num_hosts = (cores->count + kCoresPerHost - 1) / kCoresPerHost,
                          .num_cores = cores->count},
          .memory_per_core = memory};
}

}  // namespace

TargetScheme virtual_tpu_scheme() {
  return {.scheme = "local", .forms = std::string(kForms), .resolve = resolve_virtual_tpu};
}

}  // namespace systole
