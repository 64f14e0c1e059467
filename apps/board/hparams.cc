#include "apps/board/hparams.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/board/names.h"
#include "apps/systole/config/config_node.h"
#include "systole/io/wire/wire.h"

namespace systole::board {
namespace {

using wire::Reader;
using wire::Type;

constexpr size_t kMaxHparamBytes = 300;
constexpr uint64_t kMaxFileBytes = 256U << 10U;

Hparam number_hparam(double number) {
  return {.kind = Hparam::Kind::number, .text = fmt::format("{}", number), .number = number};
}

Hparam boolean_hparam(bool value) {
  return {
      .kind = Hparam::Kind::boolean, .text = value ? "true" : "false", .number = value ? 1.0 : 0.0};
}

// A google.protobuf.Value.
std::optional<Hparam> value_hparam(std::string_view message) {
  Reader reader(message);
  std::optional<Hparam> hparam;
  while (reader.next()) {
    if (reader.is(2, Type::fixed64)) {
      const char* const at = reader.at();
      reader.skip();
      double number = 0;
      std::memcpy(&number, at, sizeof(number));
      hparam = number_hparam(number);
    } else if (reader.is(3, Type::bytes)) {
      hparam = Hparam{.text = safe_text(reader.bytes(), kMaxHparamBytes)};
    } else if (reader.is(4, Type::varint)) {
      hparam = boolean_hparam(reader.varint() != 0);
    } else {
      reader.skip();
    }
  }
  return hparam;
}

// A SessionStartInfo: its map from names to values.
void add_session_start(std::string_view message, std::map<std::string, Hparam>& hparams) {
  Reader reader(message);
  while (reader.next()) {
    if (!reader.is(1, Type::bytes)) {
      reader.skip();
      continue;
    }
    Reader entry(reader.bytes());
    std::string_view name;
    std::string_view value;
    while (entry.next()) {
      if (entry.is(1, Type::bytes)) {
        name = entry.bytes();
      } else if (entry.is(2, Type::bytes)) {
        value = entry.bytes();
      } else {
        entry.skip();
      }
    }
    const std::optional<Hparam> hparam = value_hparam(value);
    if (hparam && hparams.size() < kMaxHparams) {
      hparams[safe_text(name, kMaxHparamBytes)] = *hparam;
    }
  }
}

Hparam text_hparam(const std::string& text) {
  if (text == "true" || text == "false") return boolean_hparam(text == "true");
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && std::isfinite(number)) {
    return {.kind = Hparam::Kind::number, .text = text, .number = number};
  }
  return {.text = safe_text(text, kMaxHparamBytes)};
}

// Adds the leaves of a value below `name`.
class LeafCollector {
 public:
  explicit LeafCollector(std::map<std::string, Hparam>& hparams) : hparams_(hparams) {}

  void add(const std::string& name, const app::ConfigNode& node, int depth = 0) {
    constexpr int kMaxDepth = 20;
    if (depth > kMaxDepth || visited_++ > 10 * kMaxHparams) return;
    if (node.is_map()) {
      for (const auto& [key, value] : node.entries(name)) add(below(name, key), value, depth + 1);
    } else if (node.is_list()) {
      const auto items = node.items(name, "a list");
      for (size_t i = 0; i < items.size(); ++i) {
        add(below(name, std::to_string(i)), items[i], depth + 1);
      }
    } else if (node.is_scalar()) {
      add(name, text_hparam(node.as<std::string>(name, "a text")));
    }
  }

  void add(const std::string& name, const nlohmann::json& value, int depth = 0) {
    constexpr int kMaxDepth = 20;
    if (depth > kMaxDepth) return;
    if (value.is_object()) {
      for (const auto& [key, item] : value.items()) add(below(name, key), item, depth + 1);
    } else if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) {
        add(below(name, std::to_string(i)), value[i], depth + 1);
      }
    } else if (value.is_string()) {
      add(name, Hparam{.text = safe_text(value.get<std::string>(), kMaxHparamBytes)});
    } else if (value.is_number()) {
      add(name, number_hparam(value.get<double>()));
    } else if (value.is_boolean()) {
      add(name, boolean_hparam(value.get<bool>()));
    }
  }

 private:
  static std::string below(const std::string& name, const std::string& key) {
    return name.empty() ? key : name + "." + key;
  }
  void add(const std::string& name, const Hparam& hparam) {
    if (hparams_.size() < kMaxHparams) hparams_[safe_text(name, kMaxHparamBytes)] = hparam;
  }

  std::map<std::string, Hparam>& hparams_;
  size_t visited_ = 0;
};

}  // namespace

void add_hparams(std::string_view plugin_data, std::map<std::string, Hparam>& hparams) {
  Reader reader(plugin_data);
  while (reader.next()) {
    if (reader.is(3, Type::bytes)) {
      add_session_start(reader.bytes(), hparams);
    } else {
      reader.skip();
    }
  }
}

bool is_hparam_file(std::string_view name) {
  constexpr std::array<std::string_view, 4> kStarts = {"config", "hparams", "params", "args"};
  constexpr std::array<std::string_view, 3> kEnds = {".yaml", ".yml", ".json"};
  return std::ranges::any_of(kStarts, [&](auto start) { return name.starts_with(start); }) &&
         std::ranges::any_of(kEnds, [&](auto end) { return name.ends_with(end); });
}

void add_hparam_file(FileSystem& file_system, const std::string& path,
                     std::map<std::string, Hparam>& hparams) {
  const uint64_t size = file_system.stat(path).size;
  if (size > kMaxFileBytes) {
    throw make_error(Code::resource_exhausted,
                     "{}: file of hyperparameters, got {} bytes, expected at most {}", path, size,
                     kMaxFileBytes);
  }
  const std::string text = read_file(file_system, path);
  LeafCollector leaves(hparams);
  if (path.ends_with(".json")) {
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) throw invalid_argument("{}: not valid JSON", path);
    leaves.add("", json);
  } else {
    leaves.add("", app::ConfigNode::parse(text, path));
  }
}

}  // namespace systole::board
