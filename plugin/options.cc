#include "plugin/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/runtime/registry.h"

namespace systole::plugin {
namespace {

constexpr std::string_view kBackend = "backend";
// JAX and PyTorch/XLA pass these to plugins.
constexpr std::array<std::string_view, 4> kIgnored = {"ml_framework_name", "ml_framework_version",
                                                      "max_inflight_computations", "platform_name"};

// A board of a Cloud TPU: its cores, and what the compiler has of the memory of each.
struct Board {
  std::string_view name;
  int64_t cores;
  int64_t core_memory;
  std::string_view kind;
};
constexpr std::array<Board, 2> kBoards = {
    {{"v2-8", 8, 8'034'172'928, "TPU v2"}, {"v3-8", 8, 16'624'107'520, "TPU v3"}}};

Error wrong_type(std::string_view name) {
  return invalid_argument(
      "systole plugin: option '{}', got a value of a type that it does not take", name);
}

runtime::OptionValue value_of(const PJRT_NamedValue& value, std::string_view name) {
  switch (value.type) {
    case PJRT_NamedValue_kString:
      return std::string(value.string_value, value.value_size);
    case PJRT_NamedValue_kInt64:
      return value.int64_value;
    case PJRT_NamedValue_kFloat:
      return static_cast<double>(value.float_value);
    case PJRT_NamedValue_kBool:
      return value.bool_value;
    default:
      throw wrong_type(name);
  }
}

void set(BackendChoice& choice, std::string_view name, runtime::OptionValue value) {
  if (std::ranges::find(kIgnored, name) != kIgnored.end()) return;
  if (name != kBackend) {
    choice.options[std::string(name)] = std::move(value);
    return;
  }
  const auto* const backend = std::get_if<std::string>(&value);
  if (backend == nullptr) throw wrong_type(name);
  choice.backend = *backend;
}

// An integer if all of `text` is one, else text.
runtime::OptionValue parse_value(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return std::string(text);
}

// A text, for hosts that give nothing else, as a value of the type of `like` if it is one.
runtime::OptionValue converted(const runtime::OptionValue& value,
                               const runtime::OptionValue& like) {
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr || std::holds_alternative<std::string>(like)) return value;
  if (std::holds_alternative<bool>(like)) {
    return *text == "true" ? true : *text == "false" ? false : value;
  }
  return parse_value(*text);
}

// Reads SYSTOLE_CORES, the number of devices, and SYSTOLE_TPU, the name of a board.
void read_environment(BackendChoice& choice) {
  const std::string cores = environment_value("SYSTOLE_CORES");
  const std::string tpu = environment_value("SYSTOLE_TPU");
  const runtime::OptionValue number = parse_value(cores);
  if (!cores.empty()) {
    const auto* const count = std::get_if<int64_t>(&number);
    if (count == nullptr || *count < 1) {
      throw invalid_argument("systole plugin: SYSTOLE_CORES, got '{}', expected 1 or more", cores);
    }
    choice.options["cores"] = *count;
  }
  if (tpu.empty()) return;
  const auto board = std::ranges::find(kBoards, tpu, &Board::name);
  if (board == kBoards.end()) {
    throw invalid_argument("systole plugin: SYSTOLE_TPU, got '{}', expected one of {}", tpu,
                           fmt::join(kBoards | std::views::transform(&Board::name), ", "));
  }
  if (!cores.empty() && number != runtime::OptionValue(board->cores)) {
    throw invalid_argument(
        "systole plugin: SYSTOLE_CORES, got {} with SYSTOLE_TPU={}, expected {} or none", cores,
        tpu, board->cores);
  }
  choice.options["cores"] = board->cores;
  choice.options["core_memory"] = board->core_memory;
  choice.options["core_kind"] = std::string(board->kind);
}

}  // namespace

BackendChoice parse_choice(std::string_view text) {
  BackendChoice choice;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      throw invalid_argument("SYSTOLE_PJRT_OPTIONS: option, got '{}', expected name=value", entry);
    }
    set(choice, entry.substr(0, equals), parse_value(entry.substr(equals + 1)));
  }
  return choice;
}

std::string to_text(const BackendChoice& choice) {
  std::string text = fmt::format("{}={}", kBackend, choice.backend);
  for (const auto& [name, value] : choice.options) {
    std::visit([&, &name = name](const auto& v) { text += fmt::format(",{}={}", name, v); }, value);
  }
  return text;
}

BackendChoice read_client_options(std::span<const PJRT_NamedValue> values) {
  BackendChoice choice = parse_choice(environment_value("SYSTOLE_PJRT_OPTIONS"));
  read_environment(choice);
  for (const PJRT_NamedValue& value : values) {
    const std::string_view name(value.name, value.name_size);
    set(choice, name, value_of(value, name));
  }
  const auto names = runtime::backend_names();
  if (std::ranges::find(names, choice.backend) == names.end()) {
    throw invalid_argument("systole plugin: option 'backend', got '{}', expected one of {}",
                           choice.backend, fmt::join(names, ", "));
  }
  for (const runtime::OptionDef& def : runtime::backend_options(choice.backend)) {
    const auto given = choice.options.find(def.name);
    if (given != choice.options.end()) given->second = converted(given->second, def.default_value);
  }
  return choice;
}

}  // namespace systole::plugin
