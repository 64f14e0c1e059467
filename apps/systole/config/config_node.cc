#include "apps/systole/config/config_node.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "apps/systole/config/yaml_documents.h"
#include "systole/base/mutex.h"

namespace systole::app {
namespace {

constexpr size_t kMaxPathBytes = 2000;
constexpr size_t kMaxShownBytes = 80;

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::optional<size_t> index_of(const std::string& text) {
  size_t index = 0;
  const char* const end = text.data() + text.size();
  const auto [at, status] = std::from_chars(text.data(), end, index);
  return status == std::errc() && at == end ? std::optional(index) : std::nullopt;
}

// Interns a text until the program ends, because graph nodes outlive documents.
const char* lasting(const std::string& text) {
  static Mutex mutex;
  static auto* const texts = new std::set<std::string>;  // never destroyed
  const MutexLock lock(mutex);
  return texts->insert(text).first->c_str();
}

// Whether a path equals another or leads into it.
bool is_in(const std::string& path, const std::string& other) {
  return path == other || path.starts_with(other + ".");
}

YAML::Node nothing() { return YAML::Node(YAML::NodeType::Undefined); }

// The printable form of a text.
std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte >= 0x7F) c = '?';
  }
  return text;
}

// The indentation of the line of a mark.
std::string indentation_at(const std::string& yaml, const YAML::Mark& mark) {
  const size_t at = std::min(static_cast<size_t>(std::max(mark.pos, 0)), yaml.size());
  const size_t begin = at == 0 ? 0 : yaml.rfind('\n', at - 1) + 1;  // of none: 0
  return yaml.substr(begin, yaml.find_first_not_of(" \t", begin) - begin);
}

std::string reason_of(const YAML::Exception& error, const std::string& yaml) {
  if (error.msg == YAML::ErrorMsg::BAD_FILE) return "values in values in values, too many";
  if (indentation_at(yaml, error.mark).find('\t') != std::string::npos) {
    return "a line that begins with a tab: YAML takes blanks";
  }
  return printable(error.msg);
}

// `place` ends in a colon if a line and a column follow.
YAML::Node load(const std::string& yaml, const std::string& place) {
  const char* const wanted = "\"key: value\" lines, or a list";
  const std::string shown_place = place.substr(0, place.find_last_not_of(':') + 1);
  int documents = 0;
  YAML::Node first;
  try {
    documents = count_yaml_documents(yaml);
    first = YAML::Load(yaml);
  } catch (const YAML::Exception& error) {
    const bool placed = place.ends_with(':') && !error.mark.is_null();
    throw invalid_argument(
        "{}: text, got invalid YAML ({}), expected {}",
        placed ? fmt::format("{}{}:{}", place, error.mark.line + 1, error.mark.column + 1)
               : shown_place,
        reason_of(error, yaml), wanted);
  }
  if (documents > 1) {
    throw invalid_argument("{}: text, got {} documents with --- between, expected one", shown_place,
                           documents);
  }
  return first;
}

}  // namespace

struct ConfigNode::Value {
  YAML::Node node;
};

ConfigNode::ConfigNode() : value_(std::make_shared<Value>(Value{nothing()})) {}
ConfigNode::ConfigNode(std::shared_ptr<Document> document, std::string path, Value value)
    : document_(std::move(document)),
      path_(std::move(path)),
      value_(std::make_shared<Value>(std::move(value))) {}

bool ConfigNode::present() const { return document_ != nullptr && value_->node.IsDefined(); }
bool ConfigNode::is_map() const { return present() && value_->node.IsMap(); }
bool ConfigNode::is_list() const { return present() && value_->node.IsSequence(); }
bool ConfigNode::is_scalar() const { return present() && value_->node.IsScalar(); }
bool ConfigNode::is_null() const { return present() && value_->node.IsNull(); }

bool ConfigNode::is_quoted() const { return is_scalar() && value_->node.Tag() == "!"; }

ConfigNode ConfigNode::parse(const std::string& yaml, const std::string& file) {
  auto document = std::make_shared<Document>();
  document->file = file;
  const YAML::Node node = load(yaml, file + ":");
  ConfigNode root(std::move(document), "", {node.IsNull() ? nothing() : node});
  root.take_mark({node});
  return root;
}

void ConfigNode::take_mark(const Value& value) {
  if (!value.node.IsDefined() || value.node.Mark().is_null()) return;
  line_ = value.node.Mark().line + 1;
  column_ = value.node.Mark().column + 1;
}

ConfigNode ConfigNode::child(const std::string& name, Value value) const {
  // An alias of an enclosing value would recurse without end.
  if (path_.size() > kMaxPathBytes) throw error("value", "one deep within others", "few levels");
  ConfigNode result(document_, path_.empty() ? name : path_ + "." + name, std::move(value));
  result.line_ = line_;
  result.column_ = column_;
  result.take_mark(*result.value_);
  return result;
}

ConfigNode ConfigNode::operator[](const std::string& name) const {
  if (!is_map()) return child(name, {nothing()});
  const YAML::Node& node = value_->node;  // the other operator[] would add the name
  const YAML::Node value = node[name];
  return child(name, {value.IsDefined() ? value : nothing()});
}

std::vector<std::pair<std::string, ConfigNode>> ConfigNode::entries(const std::string& what) const {
  if (!is_map()) throw error(what, shown(), "names and values");
  std::vector<std::pair<std::string, ConfigNode>> result;
  std::set<std::string> seen;
  for (const auto& entry : value_->node) {
    const ConfigNode key = child("", {entry.first});
    const auto name = key.as<std::string>(what, "a name");
    if (!seen.insert(name).second) {
      throw key.error(what, "'" + name + "' twice", "each name once");
    }
    ConfigNode value = child(name, {entry.second});
    value.line_ = key.line_;
    value.column_ = key.column_;
    result.emplace_back(name, std::move(value));
  }
  return result;
}

std::vector<ConfigNode> ConfigNode::items(const std::string& what,
                                          const std::string& wanted) const {
  if (!is_list()) throw error(what, shown(), wanted);
  std::vector<ConfigNode> result;
  for (const YAML::Node& item : value_->node) {
    result.push_back(child(std::to_string(result.size()), {item}));
  }
  return result;
}

template <class T>
T ConfigNode::as(const std::string& what, const std::string& wanted) const {
  if (!is_scalar()) throw error(what, shown(), wanted);
  try {
    return value_->node.as<T>();
  } catch (const YAML::Exception&) {
    throw error(what, shown(), wanted);
  }
}
template std::string ConfigNode::as(const std::string&, const std::string&) const;
template int64_t ConfigNode::as(const std::string&, const std::string&) const;
template double ConfigNode::as(const std::string&, const std::string&) const;
template bool ConfigNode::as(const std::string&, const std::string&) const;

std::string ConfigNode::shown() const {
  if (is_scalar()) {
    const std::string text = printable(value_->node.Scalar());
    return fmt::format("'{}{}'", text.substr(0, kMaxShownBytes),
                       text.size() > kMaxShownBytes ? "..." : "");
  }
  if (is_list()) return "a list";
  return is_map() ? "a map" : "nothing";
}

std::string ConfigNode::place() const {
  for (const std::string& set : document_->set_paths) {
    if (is_in(path_, set)) return "--set " + set;
  }
  return fmt::format("{}:{}:{}", document_->file, std::max(line_, 1), std::max(column_, 1));
}

Error ConfigNode::error(const std::string& what, const std::string& got,
                        const std::string& wanted) const {
  if (document_ == nullptr) return invalid_argument("{}, got {}, expected {}", what, got, wanted);
  return invalid_argument("{}: {}, got {}, expected {}", place(), what, got, wanted);
}

Error ConfigNode::placed(const Error& error) const {
  const std::string& told = error.message();
  if (told.starts_with(document_->file + ":") || told.starts_with("--set ")) return error;
  for (const std::string& set : document_->set_paths) {
    if (set != path_ && is_in(set, path_)) {  // something in it
      return make_error(error.code(), "--set {}, {}: {}", set, place(), told);
    }
  }
  return make_error(error.code(), "{}: {}", place(), told);
}

const std::string& ConfigNode::file() const { return document_->file; }

SourceLocation ConfigNode::where() const {
  const std::string base_name = document_->file.substr(document_->file.rfind('/') + 1);
  std::string name = document_->file;
  for (const std::string& set : document_->set_paths) {
    if (is_in(path_, set)) name = "--set " + set;
    if (is_in(set, path_)) name = fmt::format("--set {}, {}", set, base_name);
  }
  SourceLocation where;
  where.file = lasting(name);
  where.line = static_cast<uint32_t>(std::max(line_, 1));
  return where;
}

void ConfigNode::set(const std::string& path, const std::string& yaml) {
  const std::string what = "--set " + path;
  if (!present()) value_->node = YAML::Node(YAML::NodeType::Map);
  YAML::Node at = value_->node;
  for (const std::string& part : split_path(path)) {
    if (part.empty()) {
      throw invalid_argument("{}: path, got an empty name, expected names with dots between", what);
    }
    if (at.IsDefined() && at.IsSequence()) {
      const std::optional<size_t> index = index_of(part);
      if (!index || *index >= at.size()) {
        throw invalid_argument("{}: path, got '{}', expected the number of an element, 0 to {}",
                               what, part, static_cast<int64_t>(at.size()) - 1);
      }
      at.reset(at[*index]);
    } else if (!at.IsDefined() || at.IsNull() || at.IsMap()) {
      at.reset(at[part]);
    } else {
      throw invalid_argument("{}: path, got '{}' below the value '{}', expected a name of a map",
                             what, part, at.Scalar());
    }
  }
  at = load(yaml, what);
  document_->set_paths.push_back(path);
}

std::string ConfigNode::text() const { return YAML::Dump(value_->node); }

}  // namespace systole::app
