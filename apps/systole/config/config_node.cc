#include "apps/systole/config/config_node.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace systole::app {
namespace {

constexpr size_t kMostPathBytes = 2000;

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

YAML::Node load(const std::string& yaml, const std::string& file) {
  try {
    return YAML::Load(yaml);
  } catch (const YAML::Exception& error) {
    throw invalid_argument("{}:{}: YAML, got '{}', expected YAML", file, error.mark.line + 1,
                           error.msg);
  }
}

}  // namespace

ConfigNode ConfigNode::parse(const std::string& yaml, const std::string& file) {
  auto document = std::make_shared<Document>();
  document->file = file;
  ConfigNode root(std::move(document), "", load(yaml, file));
  root.line_ = root.node_.Mark().line + 1;
  if (root.node_.IsNull()) root.node_ = YAML::Node(YAML::NodeType::Undefined);
  return root;
}

ConfigNode ConfigNode::child(const std::string& name, const YAML::Node& node) const {
  // An alias of what it stands in has no end.
  if (path_.size() > kMostPathBytes) throw error("value", "one deep within others", "few levels");
  ConfigNode result(document_, path_.empty() ? name : path_ + "." + name, node);
  const int line = node.IsDefined() ? node.Mark().line : -1;
  result.line_ = line < 0 ? line_ : line + 1;
  return result;
}

ConfigNode ConfigNode::operator[](const std::string& name) const {
  if (!is_map()) return child(name, YAML::Node(YAML::NodeType::Undefined));
  const YAML::Node& node = node_;  // the other operator[] would add the name
  const YAML::Node value = node[name];
  return child(name, value.IsDefined() ? value : YAML::Node(YAML::NodeType::Undefined));
}

std::vector<std::pair<std::string, ConfigNode>> ConfigNode::entries(const std::string& what) const {
  if (!is_map()) throw error(what, shown(), "names and values");
  std::vector<std::pair<std::string, ConfigNode>> result;
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    const ConfigNode key = child("", entry.first);
    const auto name = key.as<std::string>(what, "a name");
    if (!seen.insert(name).second) {
      throw key.error(what, "'" + name + "' twice", "each name once");
    }
    ConfigNode value = child(name, entry.second);
    value.line_ = key.line_;
    result.emplace_back(name, std::move(value));
  }
  return result;
}

std::vector<ConfigNode> ConfigNode::items(const std::string& what,
                                          const std::string& wanted) const {
  if (!is_list()) throw error(what, shown(), wanted);
  std::vector<ConfigNode> result;
  for (const YAML::Node& item : node_) {
    result.push_back(child(std::to_string(result.size()), item));
  }
  return result;
}

template <class T>
T ConfigNode::as(const std::string& what, const std::string& wanted) const {
  if (!is_scalar()) throw error(what, shown(), wanted);
  try {
    return node_.as<T>();
  } catch (const YAML::Exception&) {
    throw error(what, shown(), wanted);
  }
}
template std::string ConfigNode::as(const std::string&, const std::string&) const;
template int64_t ConfigNode::as(const std::string&, const std::string&) const;
template double ConfigNode::as(const std::string&, const std::string&) const;
template bool ConfigNode::as(const std::string&, const std::string&) const;

std::string ConfigNode::shown() const {
  if (is_scalar()) return "'" + node_.Scalar() + "'";
  if (is_list()) return "a list";
  return is_map() ? "a map" : "nothing";
}

std::string ConfigNode::place() const {
  for (const std::string& set : document_->set_paths) {
    if (path_ == set || path_.starts_with(set + ".")) return "--set " + set;
  }
  return fmt::format("{}:{}", document_->file, std::max(line_, 1));
}

Error ConfigNode::error(const std::string& what, const std::string& got,
                        const std::string& wanted) const {
  if (document_ == nullptr) return invalid_argument("{}, got {}, expected {}", what, got, wanted);
  return invalid_argument("{}: {}, got {}, expected {}", place(), what, got, wanted);
}

const std::string& ConfigNode::file() const { return document_->file; }

SourceLocation ConfigNode::where() const {
  SourceLocation where;
  where.file = document_->file.c_str();
  where.line = static_cast<uint32_t>(std::max(line_, 1));
  return where;
}

void ConfigNode::set(const std::string& path, const std::string& yaml) {
  const std::string what = "--set " + path;
  if (!present()) node_ = YAML::Node(YAML::NodeType::Map);
  YAML::Node at = node_;
  for (const std::string& part : split_path(path)) {
    if (part.empty()) {
      throw invalid_argument("{}: path, got an empty name, expected names with dots between", what);
    }
    if (at.IsDefined() && at.IsSequence()) {
      const std::optional<size_t> index = index_of(part);
      if (!index || *index >= at.size()) {
        throw invalid_argument("{}: path, got '{}', expected the number of one of {} elements",
                               what, part, at.size());
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

}  // namespace systole::app
