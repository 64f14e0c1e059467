#include "systole/base/file_system.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

namespace systole {
namespace {

// Unique among processes that share a directory, also on several hosts with equal process ids.
std::string temporary_name(const std::string& path) {
  static const uint32_t process = std::random_device{}();
  static std::atomic<uint64_t> counter{0};
  return fmt::format("{}.tmp.{}.{:08x}.{}", path, getpid(), process, counter.fetch_add(1));
}

// A file under a temporary name. Its errors show the final name.
class RenamedFile final : public WritableFile {
 public:
  RenamedFile(FileSystem& file_system, const std::string& temporary, const std::string& path)
      : temporary_(temporary), path_(path) {
    told([&] { file_ = file_system.create(temporary_); });
  }
  void append(std::string_view bytes) override {
    told([&] { file_->append(bytes); });
  }
  void flush() override {
    told([&] { file_->flush(); });
  }
  void sync() override {
    told([&] { file_->sync(); });
  }
  void close() override {
    told([&] { file_->close(); });
  }

 private:
  template <class Action>
  void told(const Action& action) const {
    try {
      action();
    } catch (const Error& error) {
      if (!error.message().starts_with(temporary_)) throw;
      throw Error(error.code(), path_ + error.message().substr(temporary_.size()));
    }
  }

  std::string temporary_;
  std::string path_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace

AtomicFile::AtomicFile(FileSystem& file_system, std::string path)
    : file_system_(file_system),
      path_(std::move(path)),
      temporary_(temporary_name(path_)),
      file_(std::make_unique<RenamedFile>(file_system_, temporary_, path_)) {}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  file_.reset();
  try {
    file_system_.remove(temporary_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the error that led here is the one to report
  }
}

void AtomicFile::commit() {
  file_->sync();
  file_->close();
  file_system_.rename(temporary_, path_);
  file_.reset();
}

void write_file_atomically(FileSystem& file_system, const std::string& path,
                           const std::function<void(WritableFile&)>& write) {
  AtomicFile atomic(file_system, path);
  write(atomic.file());
  atomic.commit();
}

void write_file_atomically(FileSystem& file_system, const std::string& path,
                           std::string_view contents) {
  write_file_atomically(file_system, path, [&](WritableFile& file) { file.append(contents); });
}

void read_exactly(const RandomAccessFile& file, uint64_t offset, size_t size, void* out) {
  const size_t got = file.read(offset, size, out);
  if (got != size) {
    throw make_error(Code::data_loss, "{}: file ends early, got {} bytes at offset {}, expected {}",
                     file.path(), got, offset, size);
  }
}

std::string read_file(const RandomAccessFile& file, uint64_t max_bytes) {
  const uint64_t size = file.size();
  if (size > max_bytes) {
    throw make_error(Code::data_loss, "{}: size, got {} bytes, expected at most {}", file.path(),
                     size, max_bytes);
  }
  std::string contents;
  try {
    contents.resize(size);
  } catch (const std::exception&) {  // bad_alloc, or length_error
    throw make_error(Code::resource_exhausted,
                     "{}: size, got {} bytes, for which there is no memory", file.path(), size);
  }
  contents.resize(file.read(0, contents.size(), contents.data()));
  return contents;
}

std::string read_file(FileSystem& file_system, const std::string& path, uint64_t max_bytes) {
  return read_file(*file_system.open(path), max_bytes);
}

namespace {

// Removes a file, a link or an empty directory. Returns false for a directory with files in it.
bool removed_alone(FileSystem& file_system, const std::string& path) {
  try {
    file_system.remove(path);
  } catch (const Error& error) {
    if (error.code() == Code::not_found) return true;
    if (error.code() != Code::failed_precondition) throw;
    return false;
  }
  return true;
}

}  // namespace

void remove_tree(FileSystem& file_system, const std::string& path) {
  // Not stat(): it would follow a link, and the directory behind it is not part of the tree.
  if (removed_alone(file_system, path)) return;
  for (const std::string& name : file_system.list(path)) {
    remove_tree(file_system, join_path(path, name));
  }
  // A directory of a bucket ends with its last file.
  if (!removed_alone(file_system, path)) {
    throw failed_precondition("{}: cannot remove, got files that appeared meanwhile", path);
  }
}

std::string_view path_scheme(std::string_view path) {
  const size_t end = path.find("://");
  if (end == std::string_view::npos || end == 0) return {};
  const auto is_letter = [](char c) { return 'a' <= c && c <= 'z'; };
  const auto may_follow = [&](char c) {
    return is_letter(c) || ('0' <= c && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  const std::string_view scheme = path.substr(0, end);
  return is_letter(scheme.front()) && std::ranges::all_of(scheme, may_follow) ? scheme
                                                                              : std::string_view();
}

std::string_view path_root(std::string_view path) {
  const std::string_view scheme = path_scheme(path);
  size_t size = scheme.empty() ? 0 : scheme.size() + 3;
  if (path.substr(size).starts_with('/')) ++size;
  return path.substr(0, size);
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || !path_root(name).empty()) return std::string(name);
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

namespace {

// The parent and the last name of a path. The parent of a root is the root, its name is empty.
struct SplitPath {
  std::string_view before;
  std::string_view name;
};

SplitPath split_path(std::string_view path) {
  const std::string_view root = path_root(path);
  while (path.size() > root.size() && path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash < root.size()) {
    return {.before = root, .name = path.substr(root.size())};
  }
  return {.before = path.substr(0, slash), .name = path.substr(slash + 1)};
}

}  // namespace

std::string parent_path(std::string_view path) {
  const std::string_view before = split_path(path).before;
  return std::string(before.empty() ? "." : before);
}

std::string base_name(std::string_view path) {
  const SplitPath split = split_path(path);
  return std::string(split.name.empty() ? split.before : split.name);
}

}  // namespace systole
