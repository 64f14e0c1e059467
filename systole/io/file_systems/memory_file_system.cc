#include "systole/io/file_systems/memory_file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
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
  // The synced bytes before the file was emptied, while a power failure may bring them back.
  std::optional<std::string> before = std::nullopt;
  // For a directory: the names that survive a power failure, and the changes since: what each name
  // was in turn, null for nothing.
  std::map<std::string, NodePtr> durable = {};
  std::map<std::string, std::vector<NodePtr>> pending = {};
};

class MemoryFileSystem::Reader final : public RandomAccessFile {
 public:
  Reader(MemoryFileSystem& owner, std::string path, NodePtr node)
      : owner_(owner), path_(std::move(path)), node_(std::move(node)) {}

  size_t read(uint64_t offset, size_t size, void* out) const override {
    const auto lock = owner_.begin(path_);
    const std::string& bytes = node_->bytes;
    if (size == 0 || offset >= bytes.size()) return 0;  // `out` may be null
    const size_t count = std::min<size_t>(size, bytes.size() - offset);
    std::memcpy(out, bytes.data() + offset, count);
    return count;
  }

  uint64_t size() const override {
    const auto lock = owner_.begin(path_);
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
    ++owner_.changes_;
  }

  void flush() override { (void)begin("flush"); }

  void sync() override {
    const auto lock = begin("sync");
    node_->synced = node_->bytes.size();
    node_->before.reset();
    ++owner_.changes_;
  }

  void close() override {
    if (closed_) return;
    (void)begin("close");
    closed_ = true;
  }

 private:
  std::unique_lock<Mutex> begin(std::string_view what) {
    std::unique_lock lock = owner_.lock_observed();
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
    const std::string name = normalized(path);
    nodes_[name] = std::make_shared<Node>(Node{.bytes = bytes, .synced = bytes.size()});
    nodes_[parent_path(name)]->durable[base_name(name)] = nodes_[name];
  }
  operations_ = 0;
  changes_ = 0;
}

MemoryFileSystem::~MemoryFileSystem() = default;

// Locks the file system, after the observer has seen what changed.
std::unique_lock<Mutex> MemoryFileSystem::lock_observed() {
  std::unique_lock lock(mutex_);
  if (observer_ == nullptr || observed_changes_ == changes_) return lock;
  observed_changes_ = changes_;
  lock.unlock();
  observer_();
  lock.lock();
  return lock;
}

std::unique_lock<Mutex> MemoryFileSystem::begin(const std::string& path) {
  std::unique_lock lock = lock_observed();
  count(path);
  return lock;
}

// Notes that the entry of `path` in its directory became `node`, null for a removed one.
void MemoryFileSystem::set_entry(const std::string& path, const NodePtr& node) {
  nodes_.at(parent_path(path))->pending[base_name(path)].push_back(node);
  ++changes_;
}

void MemoryFileSystem::sync_directory(const std::string& path) {
  const auto directory = nodes_.find(path);
  if (directory == nodes_.end()) return;  // removed by another thread meanwhile
  for (const auto& [name, states] : directory->second->pending) {
    if (states.empty()) continue;  // memory was lacking for the first
    if (states.back() == nullptr) {
      directory->second->durable.erase(name);
    } else {
      directory->second->durable[name] = states.back();
    }
  }
  directory->second->pending.clear();
  ++changes_;
}

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
  const auto lock = begin(path);
  NodePtr node = find(path, "cannot open");
  if (node->is_directory) {
    throw error_at(Code::failed_precondition, path, "cannot open", "Is a directory");
  }
  return std::make_unique<Reader>(*this, path, std::move(node));
}

std::unique_ptr<WritableFile> MemoryFileSystem::create(const std::string& path) {
  const auto lock = begin(path);
  check_parent(path);
  const std::string name = normalized(path);
  const auto found = nodes_.find(name);
  if (found != nodes_.end() && found->second->is_directory) {
    throw error_at(Code::failed_precondition, path, "cannot create", "Is a directory");
  }
  const NodePtr node = found == nodes_.end() ? std::make_shared<Node>() : found->second;
  auto writer = std::make_unique<Writer>(*this, path, node);
  std::optional<std::string> before;
  if (found == nodes_.end()) {
    nodes_[name] = node;
    set_entry(name, node);
  } else {
    before = node->before ? std::move(node->before) : node->bytes.substr(0, node->synced);
  }
  *node = Node{.modified = ++time_, .before = std::move(before)};
  ++changes_;
  return writer;
}

bool MemoryFileSystem::exists(const std::string& path) {
  const auto lock = begin(path);
  return nodes_.contains(normalized(path));
}

FileStat MemoryFileSystem::stat(const std::string& path) {
  const auto lock = begin(path);
  const NodePtr node = find(path, "cannot stat");
  return {.size = node->bytes.size(),
          .is_directory = node->is_directory,
          .modified_ns = node->modified};
}

std::vector<std::string> MemoryFileSystem::list(const std::string& directory) {
  const auto lock = begin(directory);
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
  auto lock = begin(directory);
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
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {  // parents first
    nodes_[*path] = std::make_shared<Node>(Node{.is_directory = true, .modified = ++time_});
    if (*path != parent_path(*path)) set_entry(*path, nodes_[*path]);
  }
  for (const std::string& path : missing) {
    lock.unlock();
    lock = lock_observed();
    sync_directory(parent_path(path));
  }
}

void MemoryFileSystem::touch(const std::string& path) {
  const auto lock = begin(path);
  find(path, "cannot touch")->modified = ++time_;
}

void MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  auto lock = begin(from);
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
  std::vector<std::pair<std::string, std::string>> moves;
  for (const auto& [path, child] : nodes_) {
    if (path != source && !path.starts_with(source + "/")) continue;
    moves.emplace_back(path, target + path.substr(source.size()));
  }
  set_entry(target, node);
  set_entry(source, nullptr);
  // From here on nothing fails.
  if (replaced != nodes_.end()) nodes_.erase(replaced);
  for (auto& [old_path, new_path] : moves) {
    auto entry = nodes_.extract(old_path);
    entry.key() = std::move(new_path);
    nodes_.insert(std::move(entry));
  }
  lock.unlock();
  lock = lock_observed();
  sync_directory(parent_path(target));
}

void MemoryFileSystem::remove(const std::string& path) {
  const auto lock = begin(path);
  const NodePtr node = find(path, "cannot remove");
  const std::string key = normalized(path);
  if (key == parent_path(key) || (node->is_directory && has_children(key))) {
    throw error_at(Code::failed_precondition, path, "cannot remove", "Directory not empty");
  }
  nodes_.erase(key);
  set_entry(key, nullptr);
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

// Chooses what of the files and names of a disk survives.
class MemoryFileSystem::Survivors {
 public:
  explicit Survivors(uint64_t seed) : state_(seed) {
    names_ = random(3);
    bytes_ = random(4);
  }

  // Adds a directory and all in it.
  void add(const std::string& path, const NodePtr& node) {
    const NodePtr kept = nodes_[path] = std::make_shared<Node>();
    kept->is_directory = node->is_directory;
    kept->modified = node->modified;
    if (!node->is_directory) {
      kept->bytes = bytes_of(*node);
      kept->synced = kept->bytes.size();
      return;
    }
    std::map<std::string, NodePtr> entries = node->durable;
    for (const auto& [name, states] : node->pending) {
      const uint64_t happened = survived(names_, states.size());
      if (happened > 0) entries[name] = states[happened - 1];
    }
    for (const auto& [name, child] : entries) {
      if (child == nullptr) continue;
      const std::string child_path = join_path(path == "." ? "" : path, name);
      add(child_path, child);
      kept->durable[name] = nodes_[child_path];
    }
  }

  std::map<std::string, NodePtr> take() { return std::move(nodes_); }

 private:
  // Returns how many of `count` changes happened. Mode 0: none, 1: all, others: any number.
  uint64_t survived(uint64_t mode, uint64_t count) {
    if (mode == 0) return 0;
    if (mode == 1) return count;
    return random(count + 1);
  }

  // SplitMix64: below `limit`.
  uint64_t random(uint64_t limit) {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t mixed = (state_ ^ (state_ >> 30U)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EB;
    return (mixed ^ (mixed >> 31U)) % limit;
  }

  std::string bytes_of(const Node& node) {
    if (node.before && survived(bytes_, 1) == 0) return *node.before;
    constexpr size_t kSector = 512;
    const size_t unsynced = node.bytes.size() - node.synced;
    const bool damaged = bytes_ == 3;
    const bool all = damaged && random(2) == 0;
    std::string bytes =
        node.bytes.substr(0, node.synced + (all ? unsynced : survived(bytes_, unsynced)));
    if (!damaged) return bytes;
    for (size_t begin = node.synced; begin < bytes.size();) {
      const size_t end = std::min(bytes.size(), begin / kSector * kSector + kSector);
      const uint64_t fate = random(4);
      for (size_t i = begin; i < end && fate < 2; ++i) {
        bytes[i] = static_cast<char>(fate == 0 ? 0 : random(256));
      }
      begin = end;
    }
    return bytes;
  }

  uint64_t state_;
  uint64_t names_ = 0;  // the mode of names: none, all or any of the changes
  uint64_t bytes_ = 0;  // of bytes: none, all, a prefix, or a prefix with damaged sectors
  std::map<std::string, NodePtr> nodes_;
};

void MemoryFileSystem::lose_power(uint64_t seed) {
  const std::lock_guard lock(mutex_);
  Survivors survivors(seed);
  for (const auto& [path, node] : nodes_) {
    if (path == parent_path(path)) survivors.add(path, node);
  }
  nodes_ = survivors.take();
  ++changes_;
}

void MemoryFileSystem::copy_from(const MemoryFileSystem& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  std::unordered_map<const Node*, NodePtr> copies;
  const std::function<NodePtr(const NodePtr&)> copy = [&](const NodePtr& node) -> NodePtr {
    if (node == nullptr) return nullptr;
    NodePtr& known = copies[node.get()];
    if (known != nullptr) return known;
    const NodePtr made = known = std::make_shared<Node>(*node);
    for (auto& [name, child] : made->durable) child = copy(child);
    for (auto& [name, states] : made->pending) {
      for (NodePtr& child : states) child = copy(child);
    }
    return made;
  };
  nodes_.clear();
  for (const auto& [path, node] : other.nodes_) nodes_[path] = copy(node);
  time_ = other.time_;
  ++changes_;
}

void MemoryFileSystem::observe(std::function<void()> observer) {
  const std::lock_guard lock(mutex_);
  observer_ = std::move(observer);
  observed_changes_ = changes_;
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
