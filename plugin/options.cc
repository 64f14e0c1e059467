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
constexpr std::string_view kCores = "cores";
constexpr std::string_view kTpu = "tpu";
// JAX tells these to plugins after jax.distributed.initialize().
constexpr std::string_view kProcess = "node_id";
constexpr std::string_view kProcesses = "num_nodes";
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

void check_processes(const runtime::OptionValue& processes) {
  if (processes == runtime::OptionValue(int64_t{1})) return;
  const auto* const count = std::get_if<int64_t>(&processes);
  if (count == nullptr) throw wrong_type(kProcesses);
  throw unimplemented(
      "systole plugin: jax.distributed, got {} processes, expected 1: devices of several processes "
      "are not there",
      *count);
}

void set(BackendChoice& choice, std::string_view name, runtime::OptionValue value) {
  if (std::ranges::find(kIgnored, name) != kIgnored.end() || name == kProcess) return;
  if (name == kProcesses) return check_processes(value);
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

// Takes the option `tpu`, the name of a board, for the cores of the board and their memory.
void choose_board(BackendChoice& choice, std::string_view option_name) {
  const auto given = choice.options.find(std::string(kTpu));
  if (given == choice.options.end()) return;
  const auto* const name = std::get_if<std::string>(&given->second);
  if (name == nullptr) throw wrong_type(kTpu);
  const auto board = std::ranges::find(kBoards, *name, &Board::name);
  if (board == kBoards.end()) {
    throw invalid_argument("systole plugin: {}, got '{}', expected one of {}", option_name, *name,
                           fmt::join(kBoards | std::views::transform(&Board::name), ", "));
  }
  const auto cores = choice.options.find(std::string(kCores));
  if (cores != choice.options.end() &&
      converted(cores->second, int64_t{}) != runtime::OptionValue(board->cores)) {
    throw invalid_argument(
        "systole plugin: cores, got {} with {}={}, expected {} or none",
        std::visit([](const auto& v) { return fmt::format("{}", v); }, cores->second), option_name,
        *name, board->cores);
  }
  choice.options.erase(given);
  choice.options[std::string(kCores)] = board->cores;
  choice.options.try_emplace("core_memory", board->core_memory);
  choice.options.try_emplace("core_kind", std::string(board->kind));
}

// Reads SYSTOLE_CORES, the number of devices, and SYSTOLE_TPU, the name of a board.
void read_environment(BackendChoice& choice) {
  const std::string cores = environment_value("SYSTOLE_CORES");
  const std::string tpu = environment_value("SYSTOLE_TPU");
  if (!cores.empty()) {
    const runtime::OptionValue number = parse_value(cores);
    const auto* const count = std::get_if<int64_t>(&number);
    if (count == nullptr || *count < 1) {
      throw invalid_argument("systole plugin: SYSTOLE_CORES, got '{}', expected 1 or more", cores);
    }
    choice.options[std::string(kCores)] = *count;
  }
  if (tpu.empty()) return;
  choice.options[std::string(kTpu)] = tpu;
  choose_board(choice, "SYSTOLE_TPU");
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
  choose_board(choice, "client option 'tpu'");
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
  // A program that says what devices it wants is not asked by the environment.
  const bool chosen = std::ranges::any_of(values, [](const PJRT_NamedValue& value) {
    const std::string_view name(value.name, value.name_size);
    return name == kCores || name == kTpu;
  });
  if (chosen) {
    choice.options.erase(std::string(kCores));
  } else {
    read_environment(choice);
  }
  for (const PJRT_NamedValue& value : values) {
    const std::string_view name(value.name, value.name_size);
    set(choice, name, value_of(value, name));
  }
  choose_board(choice, "client option 'tpu'");
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
