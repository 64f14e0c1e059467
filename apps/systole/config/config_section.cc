#include "apps/systole/config/config_section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "systole/base/suggest.h"

namespace systole::app {

std::string expected_names(const std::string& got, const std::vector<std::string>& names) {
  return fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(got, names));
}

std::pair<std::string, ConfigNode> named(const ConfigNode& node, const std::string& what) {
  const std::string wanted = "a name, or a name and its arguments";
  if (node.is_scalar()) return {node.as<std::string>(what, wanted), node[""]};
  if (!node.is_map()) throw node.error(what, node.shown(), wanted);
  auto entries = node.entries(what);
  if (entries.size() != 1) {
    throw node.error(what, fmt::format("{} names", entries.size()), wanted);
  }
  return std::move(entries[0]);
}

ConfigSection::ConfigSection(std::string name, ConfigNode node, std::span<const ConfigKey> keys)
    : name_(std::move(name)), node_(std::move(node)), first_(keys.empty() ? "" : keys[0].name) {
  if (keys.empty() && node_.present() && !node_.is_null() && !node_.is_map()) {
    throw node_.error(name_, node_.shown(), "no arguments");
  }
  if (!node_.is_map() || first_ == kAnyName) return;
  const std::vector<std::string> names = names_of(keys);
  for (const auto& [key, value] : node_.entries(name_)) {
    if (std::ranges::find(names, key) != names.end()) continue;
    throw value.error(name_, "'" + key + "'",
                      names.empty() ? "no arguments" : expected_names(key, names));
  }
}

ConfigNode ConfigSection::find(const std::string& key) const {
  if (node_.is_map()) return node_[key];
  return key == first_ && !node_.is_null() ? node_ : node_[key];
}

ConfigNode ConfigSection::require(const std::string& key, const std::string& wanted) const {
  ConfigNode value = find(key);
  if (!value.present()) throw node_.error(name_, "no " + key, wanted);
  return value;
}

int64_t ConfigSection::integer(const std::string& key) const {
  return require(key, "an integer").as<int64_t>(what(key), "an integer");
}
int64_t ConfigSection::integer(const std::string& key, int64_t otherwise, int64_t least) const {
  return optional_integer(key, least).value_or(otherwise);
}
int64_t ConfigSection::integer_from(const std::string& key, int64_t least) const {
  const int64_t value = integer(key);
  if (value < least) {
    throw error(key, std::to_string(value), fmt::format("an integer of at least {}", least));
  }
  return value;
}
std::optional<int64_t> ConfigSection::optional_integer(const std::string& key,
                                                       int64_t least) const {
  return has(key) ? std::optional(integer_from(key, least)) : std::nullopt;
}

int64_t ConfigSection::size(const std::string& key) const {
  const auto value = integer(key);
  if (value < 1 || value > kMaxConfigSize) {
    throw error(key, std::to_string(value), fmt::format("an integer from 1 to {}", kMaxConfigSize));
  }
  return value;
}

double number_of(const ConfigNode& node, const std::string& what, const std::string& wanted,
                 const NumberRule& rule) {
  const auto value = node.as<double>(what, wanted);
  if (!std::isfinite(value) || !rule.holds(value)) {
    throw node.error(what, fmt::format("{}", value), rule.wanted);
  }
  return value;
}

double ConfigSection::number(const std::string& key, const NumberRule& rule) const {
  return number_of(require(key, "a number"), what(key), "a number", rule);
}
double ConfigSection::number(const std::string& key, double otherwise,
                             const NumberRule& rule) const {
  return has(key) ? number(key, rule) : otherwise;
}

bool ConfigSection::flag(const std::string& key, bool otherwise) const {
  return has(key) ? find(key).as<bool>(what(key), "true or false") : otherwise;
}

std::string ConfigSection::text(const std::string& key, const std::string& otherwise) const {
  return has(key) ? find(key).as<std::string>(what(key), "a text") : otherwise;
}

namespace {

template <class T>
std::vector<T> list_of(const ConfigNode& node, const std::string& what, const std::string& one,
                       const std::string& wanted) {
  if (!node.is_list()) return {node.as<T>(what, wanted)};
  std::vector<T> values;
  for (const ConfigNode& item : node.items(what, wanted)) {
    values.push_back(item.as<T>(what, one));
  }
  return values;
}

}  // namespace

std::vector<int64_t> ConfigSection::integers(const std::string& key) const {
  return list_of<int64_t>(require(key, "a list of integers"), what(key), "an integer",
                          "a list of integers");
}

std::vector<double> ConfigSection::numbers(const std::string& key, const NumberRule& rule) const {
  const ConfigNode node = require(key, "a list of numbers");
  if (!node.is_list()) return {number_of(node, what(key), "a list of numbers", rule)};
  std::vector<double> values;
  for (const ConfigNode& item : node.items(what(key), "a list of numbers")) {
    values.push_back(number_of(item, what(key), "a number", rule));
  }
  return values;
}

std::vector<std::string> ConfigSection::texts(const std::string& key) const {
  if (!has(key)) return {};
  return list_of<std::string>(find(key), what(key), "a text", "a list of texts");
}

Error ConfigSection::not_one_of(const std::string& key, const std::string& got,
                                const std::vector<std::string>& names) const {
  return error(key, "'" + got + "'", expected_names(got, names));
}

}  // namespace systole::app
