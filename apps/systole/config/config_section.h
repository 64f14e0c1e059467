// Sections of a configuration file with known keys, and tables of named things.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/systole/config/config_node.h"

namespace systole::app {

// A key that a section may have, with its documentation for docs/training.md.
struct ConfigKey {
  const char* name;
  const char* type;       // "integer"
  const char* otherwise;  // "0.5"; "required"; "" when its absence says enough
  const char* meaning;    // "The part that is dropped."
};

// As the name of the only key: the section accepts any key.
inline constexpr const char* kAnyName = "NAME";

// A condition on a number. Infinity and NaN never fulfil one.
struct NumberRule {
  bool (*holds)(double number);
  const char* wanted;  // "a number above 0"
};
inline constexpr NumberRule kAnyNumber = {[](double) { return true; }, "a finite number"};
inline constexpr NumberRule kNotNegative = {[](double x) { return x >= 0; },
                                            "a number of at least 0"};
inline constexpr NumberRule kPositive = {[](double x) { return x > 0; }, "a number above 0"};
inline constexpr NumberRule kFraction = {[](double x) { return x >= 0 && x <= 1; },
                                         "a number from 0 to 1"};
inline constexpr NumberRule kNotPositive = {[](double x) { return x <= 0; },
                                            "a number of at most 0"};
inline constexpr NumberRule kBelowOne = {[](double x) { return x >= 0 && x < 1; },
                                         "a number of at least 0 and below 1"};

// The largest size of an axis in a configuration file.
inline constexpr int64_t kMaxConfigSize = INT32_MAX;

// The arguments of one thing: a map from keys to values, or one value for the first key.
// Errors of all methods: those of ConfigNode, `<file>:<line>: <section> <name>, got ...`.
class ConfigSection {
 public:
  // Errors: a key that is not in `keys`; the message lists them and suggests one.
  ConfigSection(std::string name, ConfigNode node, std::span<const ConfigKey> keys);

  const std::string& name() const { return name_; }
  const ConfigNode& node() const { return node_; }
  bool has(const std::string& key) const { return find(key).present(); }
  // The value of a key; absent if the key is.
  ConfigNode find(const std::string& key) const;
  // The same, but an absent key is an error. `wanted`: "a number".
  ConfigNode require(const std::string& key, const std::string& wanted) const;

  // Without `otherwise`, an absent key is an error. Errors: an integer below `least`.
  int64_t integer(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t otherwise, int64_t least = INT64_MIN) const;
  int64_t integer_from(const std::string& key, int64_t least) const;
  std::optional<int64_t> optional_integer(const std::string& key, int64_t least = INT64_MIN) const;
  // A size of an axis: an integer from 1 to kMaxConfigSize.
  int64_t size(const std::string& key) const;
  // Errors: a number that the rule does not allow.
  double number(const std::string& key, const NumberRule& rule = kAnyNumber) const;
  double number(const std::string& key, double otherwise,
                const NumberRule& rule = kAnyNumber) const;
  bool flag(const std::string& key, bool otherwise = false) const;
  std::string text(const std::string& key, const std::string& otherwise = "") const;
  // A single integer is a list of one.
  std::vector<int64_t> integers(const std::string& key) const;
  std::vector<double> numbers(const std::string& key, const NumberRule& rule = kAnyNumber) const;
  // A single text is a list of one; an absent key is an empty list.
  std::vector<std::string> texts(const std::string& key) const;

  // One of several names: choice<Padding>("padding", {{"valid", Padding::valid}, ...}, ...).
  template <class T>
  T choice(const std::string& key, std::span<const std::pair<const char*, T>> choices,
           T otherwise) const;

  Error error(const std::string& key, const std::string& got, const std::string& wanted) const {
    return find(key).error(what(key), got, wanted);
  }
  std::string what(const std::string& key) const { return name_ + " " + key; }

 private:
  Error not_one_of(const std::string& key, const std::string& got,
                   const std::vector<std::string>& names) const;

  std::string name_;
  ConfigNode node_;
  std::string first_;  // the name of a single value
};

// Reads a number. Errors: one that the rule does not allow.
double number_of(const ConfigNode& node, const std::string& what, const std::string& wanted,
                 const NumberRule& rule);

// "a, b, c, did you mean 'b'?"
std::string expected_names(const std::string& got, const std::vector<std::string>& names);

// One thing of a table: a layer, an optimizer.
template <class Made>
struct ConfigRow {
  const char* name;
  const char* meaning;
  std::span<const ConfigKey> keys;
  std::function<Made(const ConfigSection& section)> make;
};

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

// `name`, or `name: arguments`. Errors: anything else.
std::pair<std::string, ConfigNode> named(const ConfigNode& node, const std::string& what);

// Constructs the thing that a node names: `name`, or `name: arguments`. Errors: a name that is not
// in the table, with a suggestion.
template <class Made>
Made make_named(const ConfigNode& node, const std::string& what,
                std::span<const ConfigRow<Made>> table) {
  const auto [name, arguments] = named(node, what);
  for (const ConfigRow<Made>& row : table) {
    if (name == row.name) return row.make(ConfigSection(name, arguments, row.keys));
  }
  throw node.error(what, "'" + name + "'", expected_names(name, names_of(table)));
}

template <class T>
T ConfigSection::choice(const std::string& key, std::span<const std::pair<const char*, T>> choices,
                        T otherwise) const {
  if (!has(key)) return otherwise;
  const auto got = find(key).as<std::string>(what(key), "a name");
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (got == name) return value;
    names.emplace_back(name);
  }
  throw not_one_of(key, got, names);
}

}  // namespace systole::app
