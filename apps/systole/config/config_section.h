// A part of a configuration file with names that are known, and tables of such parts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/systole/config/config_node.h"

namespace systole::app {

// A name that a section may have, as docs/training.md shows it.
struct ConfigKey {
  const char* name;
  const char* type;       // "integer"
  const char* otherwise;  // "0.5"; "required"; "" when its absence says enough
  const char* meaning;    // "The part that is dropped."
};

// As the name of the only key: names are the user's own.
inline constexpr const char* kAnyName = "NAME";

// The arguments of one thing: a map of names, or one value, which is that of the first name.
// Errors of all methods: those of ConfigNode, `<file>:<line>: <section> <name>, got ...`.
class ConfigSection {
 public:
  // Errors: a name that is not in `keys`, with near misses and all of them.
  ConfigSection(std::string name, ConfigNode node, std::span<const ConfigKey> keys);

  const std::string& name() const { return name_; }
  const ConfigNode& node() const { return node_; }
  bool has(const std::string& key) const { return find(key).present(); }
  // The value of a name; absent when there is none.
  ConfigNode find(const std::string& key) const;
  // The same, which must be there. `wanted`: "a number".
  ConfigNode require(const std::string& key, const std::string& wanted) const;

  // Without `otherwise` the value must be there. Errors: an integer below `least`.
  int64_t integer(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t otherwise, int64_t least = INT64_MIN) const;
  int64_t integer_from(const std::string& key, int64_t least) const;
  std::optional<int64_t> optional_integer(const std::string& key, int64_t least = INT64_MIN) const;
  double number(const std::string& key) const;
  double number(const std::string& key, double otherwise) const;
  bool flag(const std::string& key, bool otherwise = false) const;
  std::string text(const std::string& key, const std::string& otherwise = "") const;
  // One integer is a list of one.
  std::vector<int64_t> integers(const std::string& key) const;
  std::vector<double> numbers(const std::string& key) const;
  // One text is a list of one; none when absent.
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

// "a, b, c, did you mean 'b'?"
std::string expected_names(const std::string& got, const std::vector<std::string>& names);

// One thing of a table: a layer, an optimizer.
template <class Made>
struct ConfigRow {
  const char* name;
  const char* meaning;
  std::span<const ConfigKey> keys;
  Made (*make)(const ConfigSection& section);
};

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

// `name`, or `name: arguments`. Errors: anything else.
std::pair<std::string, ConfigNode> named(const ConfigNode& node, const std::string& what);

// Makes what a node names: `name` alone, or `name: arguments`. Errors: a name that the table lacks,
// with near misses.
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
