// Values of YAML files; errors have the place of the mistake.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/source_location.h"

namespace systole::app {

// A value of a YAML file: a text, a list, a map, or nothing. A cheap handle; not thread-safe.
// Errors of all methods: INVALID_ARGUMENT `<file>:<line>:<column>: <what>, got <value>, expected
// <value>`; values of `--set` have the place `--set <path>`.
class ConfigNode {
 public:
  ConfigNode();  // absent

  // `file` names the text in messages. A text without a value is absent.
  static ConfigNode parse(const std::string& yaml, const std::string& file);

  // False only for an absent key; a key with a colon and no value is present.
  bool present() const;
  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;
  bool is_null() const;
  // Returns whether it is a scalar in quotation marks. Such a scalar is a string, even "12".
  bool is_quoted() const;

  // The value of a key of a map; absent if the key is. Errors of an absent value have this place.
  ConfigNode operator[](const std::string& name) const;
  // The entries of a map, the elements of a list. Errors: another kind of value; a repeated key, or
  // one that is not a text.
  std::vector<std::pair<std::string, ConfigNode>> entries(const std::string& what) const;
  std::vector<ConfigNode> items(const std::string& what, const std::string& wanted) const;

  // The value as std::string, int64_t, double or bool.
  template <class T>
  T as(const std::string& what, const std::string& wanted) const;

  // This value in a message: "'text'", "a list", "a map", "nothing".
  std::string shown() const;
  Error error(const std::string& what, const std::string& got, const std::string& wanted) const;
  // Adds the place to an error of something that was constructed from this value, unless it has a
  // place in the same text.
  Error placed(const Error& error) const;

  // The file given to parse().
  const std::string& file() const;
  // The place in the file, or the `--set` that changed it, as the source line of graph nodes. The
  // text of the name lives until the program ends.
  SourceLocation where() const;

  // Sets the value at a path of keys and list indices: "train.max_steps",
  // "model.layers.0.Dense.units". Creates missing maps. `yaml` may be any value.
  void set(const std::string& path, const std::string& yaml);
  // Returns the value as YAML, with the changes of set() and without comments.
  std::string text() const;

 private:
  struct Document {
    std::string file;
    std::vector<std::string> set_paths;
  };
  struct Value;  // yaml-cpp's node
  ConfigNode(std::shared_ptr<Document> document, std::string path, Value value);
  ConfigNode child(const std::string& name, Value value) const;
  void take_mark(const Value& value);
  std::string place() const;

  std::shared_ptr<Document> document_;
  std::string path_;
  std::shared_ptr<Value> value_;
  // The place in messages, from 1: of the key, the value or the enclosing value; 0 if unknown.
  int line_ = 0;
  int column_ = 0;
};

}  // namespace systole::app
