#include "systole/io/file_systems/memory_file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace systole {
namespace {

// "a//b/./c/" and "./a/b/c" name the same file as "a/b/c", "mem:///a" the same as "mem://a".
std::string normalized(std::string_view path) {
  const std::string_view root = path_root(path);
  path.remove_prefix(root.size());
  std::string result(root.ends_with(":///") ? root.substr(0, root.size() - 1) : root);
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (!name.empty() && name != ".") {
      if (!result.empty() && !result.ends_with('/')) result += '/';
      result += name;
    }
    begin = end + 1;
  }
  return result.empty() ? "." : result;
}

Error error_at(Code code, const std::string& path, std::string_view what, std::string_view got) {
  return make_error(code, "{}: {}, got '{}'", path, what, got);
}

}  // namespace

struct MemoryFileSystem::Node {
  bool is_directory = false;
  std::string bytes;
  size_t synced = 0;
  int64_t modified = 0;
};

class MemoryFileSystem::Reader final : public RandomAccessFile {
 public:
  Reader(MemoryFileSystem& owner, std::string path, NodePtr node)
      : owner_(owner), path_(std::move(path)), node_(std::move(node)) {}

  size_t read(uint64_t offset, size_t size, void* out) const override {
    const std::lock_guard lock(owner_.mutex_);
    owner_.count(path_);
    const std::string& bytes = node_->bytes;
    if (size == 0 || offset >= bytes.size()) return 0;  // `out` may be null
    const size_t count = std::min<size_t>(size, bytes.size() - offset);
    std::memcpy(out, bytes.data() + offset, count);
    return count;
  }

  uint64_t size() const override {
    const std::lock_guard lock(owner_.mutex_);
    owner_.count(path_);
    return node_->bytes.size();
  }

  const std::string& path() const override { return path_; }

 private:
  MemoryFileSystem& owner_;
  std::string path_;
  NodePtr node_;
};

class MemoryFileSystem::Writer final : public WritableFile {
 public:
  Writer(MemoryFileSystem& owner, std::string path, NodePtr node)
      : owner_(owner), path_(std::move(path)), node_(std::move(node)) {}

  void append(std::string_view bytes) override {
    const auto lock = begin("append");
    const Fault& fault = owner_.fault_;
    const bool counted = path_.find(fault.path_contains) != std::string::npos;
    const int64_t room = fault.at_byte - owner_.bytes_;
    const auto size = static_cast<int64_t>(bytes.size());
    if (counted && fault.at_byte >= 0 && room < size) {
      node_->bytes += bytes.substr(0, static_cast<size_t>(std::max<int64_t>(room, 0)));
      failed_ = true;
      owner_.broken_ = fault.stays;
      owner_.fault_.at_byte = -1;
      throw error_at(fault.code, path_, "cannot write", "an injected fault");
    }
    if (counted) owner_.bytes_ += size;
    node_->bytes += bytes;
    node_->modified = ++owner_.time_;
  }

  void flush() override { (void)begin("flush"); }

  void sync() override {
    const auto lock = begin("sync");
    node_->synced = node_->bytes.size();
  }

  void close() override {
    if (closed_) return;
    (void)begin("close");
    closed_ = true;
  }

 private:
  std::unique_lock<std::mutex> begin(std::string_view what) {
    std::unique_lock lock(owner_.mutex_);
    if (failed_ || closed_) {
      throw failed_precondition("{}: {}, got a file that {}, expected an open one", path_, what,
                                failed_ ? "failed before" : "is closed");
    }
    failed_ = true;  // unless what follows returns
    owner_.count(path_);
    failed_ = false;
    return lock;
  }

  MemoryFileSystem& owner_;
  std::string path_;
  NodePtr node_;
  bool failed_ = false;
  bool closed_ = false;
};

MemoryFileSystem::MemoryFileSystem(std::initializer_list<MemoryFile> files) {
  for (const char* root : {"/", ".", "mem://"}) {
    nodes_[root] = std::make_shared<Node>(Node{.is_directory = true});
  }
  for (const auto& [path, bytes] : files) {
    make_directories(parent_path(path));
    nodes_[normalized(path)] = std::make_shared<Node>(Node{.bytes = bytes, .synced = bytes.size()});
  }
  operations_ = 0;
}

MemoryFileSystem::~MemoryFileSystem() = default;

void MemoryFileSystem::count(const std::string& path) {
  if (path.find(fault_.path_contains) == std::string::npos) return;
  const int64_t operation = operations_++;
  if (broken_ || operation == fault_.at_operation) {
    broken_ = fault_.stays;
    throw error_at(fault_.code, path, fmt::format("operation {} fails", operation),
                   "an injected fault");
  }
}

MemoryFileSystem::NodePtr MemoryFileSystem::find(const std::string& path,
                                                 std::string_view what) const {
  const auto it = nodes_.find(normalized(path));
  if (it == nodes_.end()) throw error_at(Code::not_found, path, what, "No such file or directory");
  return it->second;
}

void MemoryFileSystem::check_parent(const std::string& path) const {
  const auto it = nodes_.find(parent_path(normalized(path)));
  if (it == nodes_.end()) {
    throw error_at(Code::not_found, path, "cannot create", "No such file or directory");
  }
  if (!it->second->is_directory) {
    throw error_at(Code::failed_precondition, path, "cannot create", "Not a directory");
  }
}

bool MemoryFileSystem::has_children(const std::string& path) const {
  return std::ranges::any_of(nodes_, [&](const auto& entry) {
    return entry.first != path && parent_path(entry.first) == path;
  });
}

std::unique_ptr<RandomAccessFile> MemoryFileSystem::open(const std::string& path) {
  const std::lock_guard lock(mutex_);
  count(path);
  NodePtr node = find(path, "cannot open");
  if (node->is_directory) {
    throw error_at(Code::failed_precondition, path, "cannot open", "Is a directory");
  }
  return std::make_unique<Reader>(*this, path, std::move(node));
}

std::unique_ptr<WritableFile> MemoryFileSystem::create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  count(path);
  check_parent(path);
  NodePtr& node = nodes_[normalized(path)];
  if (node == nullptr) {
    node = std::make_shared<Node>();
  } else if (node->is_directory) {
    throw error_at(Code::failed_precondition, path, "cannot create", "Is a directory");
  }
  *node = Node{.modified = ++time_};
  return std::make_unique<Writer>(*this, path, node);
}

bool MemoryFileSystem::exists(const std::string& path) {
  const std::lock_guard lock(mutex_);
  count(path);
  return nodes_.contains(normalized(path));
}

FileStat MemoryFileSystem::stat(const std::string& path) {
  const std::lock_guard lock(mutex_);
  count(path);
  const NodePtr node = find(path, "cannot stat");
  return {.size = node->bytes.size(),
          .is_directory = node->is_directory,
          .modified_ns = node->modified};
}

std::vector<std::string> MemoryFileSystem::list(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  count(directory);
  if (!find(directory, "cannot list")->is_directory) {
    throw error_at(Code::failed_precondition, directory, "cannot list", "Not a directory");
  }
  const std::string parent = normalized(directory);
  std::vector<std::string> names;
  for (const auto& [path, node] : nodes_) {
    if (path != parent && parent_path(path) == parent) names.push_back(base_name(path));
  }
  std::ranges::sort(names);
  return names;
}

void MemoryFileSystem::make_directories(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  count(directory);
  const std::string last = normalized(directory);
  // Checks from the last to the first, so that nothing is made if one of them is a file.
  std::vector<std::string> missing;
  for (std::string path = last;; path = parent_path(path)) {
    const auto it = nodes_.find(path);
    if (it == nodes_.end()) {
      missing.push_back(path);
      if (path == parent_path(path)) break;
      continue;
    }
    if (!it->second->is_directory) {
      throw error_at(Code::failed_precondition, directory, "cannot make a directory",
                     "Not a directory");
    }
    break;
  }
  for (const std::string& path : missing) {
    nodes_[path] = std::make_shared<Node>(Node{.is_directory = true, .modified = ++time_});
  }
}

void MemoryFileSystem::touch(const std::string& path) {
  const std::lock_guard lock(mutex_);
  count(path);
  find(path, "cannot touch")->modified = ++time_;
}

void MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  count(from);
  const std::string what = fmt::format("cannot rename to {}", to);
  const NodePtr node = find(from, what);
  check_parent(to);
  const std::string source = normalized(from);
  const std::string target = normalized(to);
  if (source == target) return;
  const auto replaced = nodes_.find(target);
  if (replaced != nodes_.end() && (replaced->second->is_directory || node->is_directory)) {
    throw error_at(Code::failed_precondition, from, what, "a directory in the way");
  }
  if (target.starts_with(source + "/")) {
    throw error_at(Code::invalid_argument, from, what, "a directory inside itself");
  }
  std::map<std::string, NodePtr> moved;
  std::erase_if(nodes_, [&](const auto& entry) {
    const std::string& path = entry.first;
    if (path != source && !path.starts_with(source + "/")) return false;
    moved[target + path.substr(source.size())] = entry.second;
    return true;
  });
  for (auto& [path, moved_node] : moved) nodes_[path] = std::move(moved_node);
}

void MemoryFileSystem::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  count(path);
  const NodePtr node = find(path, "cannot remove");
  const std::string key = normalized(path);
  if (key == parent_path(key) || (node->is_directory && has_children(key))) {
    throw error_at(Code::failed_precondition, path, "cannot remove", "Directory not empty");
  }
  nodes_.erase(key);
}

MemoryFileSystem& memory_file_system() {
  static MemoryFileSystem instance;
  return instance;
}

void MemoryFileSystem::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
  operations_ = 0;
  bytes_ = 0;
  broken_ = false;
}

void MemoryFileSystem::clear_fault() { inject({}); }

int64_t MemoryFileSystem::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

void MemoryFileSystem::lose_unsynced() {
  const std::lock_guard lock(mutex_);
  for (auto& [path, node] : nodes_) node->bytes.resize(node->synced);
}

std::map<std::string, std::string> MemoryFileSystem::contents() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> result;
  for (const auto& [path, node] : nodes_) {
    if (!node->is_directory) result[path] = node->bytes;
  }
  return result;
}

}  // namespace systole
