// YAML files that people write: every mistake is told with the place where it stands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/source_location.h"

namespace systole::app {

// A value of a YAML file (yaml-cpp's, which only config_node.cc includes): a text, a list, a map,
// or nothing. A handle that is cheap to copy; not thread-safe. Errors of all methods:
// INVALID_ARGUMENT
// `<file>:<line>:<column>: <what>, got <value>, expected <value>`; what `--set` has put there is
// told as `--set <path>: ...`.
class ConfigNode {
 public:
  ConfigNode();  // absent

  // `file` names the text in messages. A text without a value is absent.
  static ConfigNode parse(const std::string& yaml, const std::string& file);

  // Something stands there, be it nothing more than a name with a colon.
  bool present() const;
  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;
  bool is_null() const;

  // The value of a name of a map; absent when there is none. Its mistakes are told here.
  ConfigNode operator[](const std::string& name) const;
  // Names and values of a map, elements of a list. Errors: another kind of value; a name that is
  // there twice, or is no text.
  std::vector<std::pair<std::string, ConfigNode>> entries(const std::string& what) const;
  std::vector<ConfigNode> items(const std::string& what, const std::string& wanted) const;

  // The value as std::string, int64_t, double or bool.
  template <class T>
  T as(const std::string& what, const std::string& wanted) const;

  // What a message says of this value: "'text'", "a list", "a map", "nothing".
  std::string shown() const;
  Error error(const std::string& what, const std::string& got, const std::string& wanted) const;
  // The error of something that was made of this value, with its place before it unless a place of
  // the same text is there.
  Error placed(const Error& error) const;

  // Of the text that parse() was given.
  const std::string& file() const;
  // The place in the file, for nodes that are built of it; it names the `--set` that has changed
  // something there. Its name lives as long as the program: nodes outlive documents.
  SourceLocation where() const;

  // Puts a value at a path of names and numbers of list elements: "train.max_steps",
  // "model.layers.0.dense.units". Maps on the way are made. `yaml` may be any value.
  void set(const std::string& path, const std::string& yaml);

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
  // What messages name, from 1: of the name, the value, or what is around it; 0 when not known.
  int line_ = 0;
  int column_ = 0;
};

}  // namespace systole::app
