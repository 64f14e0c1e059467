// YAML files that people write: every mistake is told with the place where it stands.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/source_location.h"

namespace systole::app {

// A value of a YAML file: a text, a list, a map, or nothing. A handle that is cheap to copy; not
// thread-safe. Errors of all methods: INVALID_ARGUMENT
// `<file>:<line>: <what>, got <value>, expected <value>`; what `--set` has put there is told as
// `--set <path>: ...`.
class ConfigNode {
 public:
  ConfigNode() = default;  // absent

  // `file` names the text in messages. A text without a value is absent.
  static ConfigNode parse(const std::string& yaml, const std::string& file);

  // Something stands there, be it nothing more than a name with a colon.
  bool present() const { return node_.IsDefined() && document_ != nullptr; }
  bool is_map() const { return present() && node_.IsMap(); }
  bool is_list() const { return present() && node_.IsSequence(); }
  bool is_scalar() const { return present() && node_.IsScalar(); }
  bool is_null() const { return present() && node_.IsNull(); }

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

  // Of the text that parse() was given.
  const std::string& file() const;
  // The place in the file, for nodes that are built of it. Its name lives as long as a node of the
  // document does.
  SourceLocation where() const;

  // Puts a value at a path of names and numbers of list elements: "train.max_steps",
  // "model.layers.0.dense.units". Maps on the way are made. `yaml` may be any value.
  void set(const std::string& path, const std::string& yaml);

 private:
  struct Document {
    std::string file;
    std::vector<std::string> set_paths;
  };
  ConfigNode(std::shared_ptr<Document> document, std::string path, const YAML::Node& node)
      : document_(std::move(document)), path_(std::move(path)), node_(node) {}
  ConfigNode child(const std::string& name, const YAML::Node& node) const;
  std::string place() const;

  std::shared_ptr<Document> document_;
  std::string path_;
  YAML::Node node_{YAML::NodeType::Undefined};
  int line_ = 0;  // that messages name: of the name, the value, or what is around it
};

}  // namespace systole::app
