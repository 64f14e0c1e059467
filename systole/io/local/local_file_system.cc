#include "systole/io/local/local_file_system.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "systole/base/open_file.h"

namespace systole {
namespace {

constexpr size_t kFileBufferBytes = 64 * 1024;
constexpr off_t kWriteBackBytes = 8 << 20;

constexpr std::string_view kFileScheme = "file://";

// Returns the path as system calls take it.
const char* system_path(const std::string& path) {
  if (!path.starts_with(kFileScheme)) return path.c_str();
  const char* const local = path.c_str() + kFileScheme.size();
  if (*local == '/') return local;
  throw invalid_argument("{}: path, got a host after 'file://', expected an absolute path", path);
}

// Repeats a system call while signals interrupt it.
template <class Call>
auto retried(Call&& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

class LocalReader final : public RandomAccessFile {
 public:
  LocalReader(std::string path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  size_t read(uint64_t offset, size_t size, void* out) const override {
    size_t done = 0;
    while (done < size) {
      const ssize_t got = retried([&] {
        return ::pread(file_.get(), static_cast<char*>(out) + done, size - done,
                       static_cast<off_t>(offset + done));
      });
      if (got < 0) {
        throw file_error(path_, fmt::format("cannot read at offset {}", offset + done));
      }
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  uint64_t size() const override {
    struct stat info {};
    if (::fstat(file_.get(), &info) != 0) throw file_error(path_, "cannot stat");
    return static_cast<uint64_t>(info.st_size);
  }

  const std::string& path() const override { return path_; }

 private:
  std::string path_;
  FileDescriptor file_;
};

class LocalWriter final : public WritableFile {
 public:
  LocalWriter(std::string path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  ~LocalWriter() override {
    try {
      if (!failed_) close();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a destructor reports nothing
    }
  }

  void append(std::string_view bytes) override {
    check_open("append");
    if (buffer_.size() + bytes.size() < kFileBufferBytes) {
      buffer_ += bytes;
      return;
    }
    flush();
    if (bytes.size() < kFileBufferBytes) {
      buffer_ += bytes;
    } else {
      write(bytes);
    }
  }

  void flush() override {
    check_open("flush");
    write(buffer_);
    buffer_.clear();
  }

  void sync() override {
    flush();
    if (retried([&] { return ::fdatasync(file_.get()); }) != 0) fail("cannot sync");
  }

  void close() override {
    if (file_.get() < 0) return;
    flush();
    // Not retried: an interrupted close() has closed the descriptor.
    if (::close(file_.release()) != 0 && errno != EINTR) fail("cannot close");
  }

 private:
  void check_open(std::string_view what) const {
    if (failed_ || file_.get() < 0) {
      throw failed_precondition("{}: {}, got a file that {}, expected an open one", path_, what,
                                failed_ ? "failed before" : "is closed");
    }
  }

  [[noreturn]] void fail(std::string_view what) {
    const Error error = file_error(path_, what);
    failed_ = true;
    throw error;
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written =
          retried([&] { return ::write(file_.get(), bytes.data(), bytes.size()); });
      if (written < 0) fail("cannot write");
      bytes.remove_prefix(static_cast<size_t>(written));
      written_ += written;
    }
    if (written_ - begun_ < kWriteBackBytes) return;
    // Starts writing to the disk early, so that a sync waits less. Ignores errors: not every file
    // system supports it, and the sync reports failures.
    static_cast<void>(
        ::sync_file_range(file_.get(), begun_, written_ - begun_, SYNC_FILE_RANGE_WRITE));
    begun_ = written_;
  }

  std::string path_;
  FileDescriptor file_;
  std::string buffer_;
  off_t written_ = 0;  // bytes
  off_t begun_ = 0;    // of these, those on their way to the disk
  bool failed_ = false;
};

// Passes the path as system calls take it; errors show it as it was given.
FileDescriptor open_local(const std::string& path, const OpenFileOptions& options) {
  const std::string local = system_path(path);
  try {
    return open_file(local, options);
  } catch (const Error& error) {
    throw Error(error.code(), path + error.message().substr(local.size()));
  }
}

// Makes what was added to a directory, or renamed in it, survive a power failure.
void sync_directory(const std::string& directory) {
  const int file =
      retried([&] { return ::open(system_path(directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (file < 0) throw file_error(directory, "cannot sync");
  const FileDescriptor owner(file);
  // EINVAL: the file system cannot sync directories.
  if (retried([&] { return ::fsync(file); }) != 0 && errno != EINVAL) {
    throw file_error(directory, "cannot sync");
  }
}

class LocalFileSystem final : public FileSystem {
 public:
  explicit LocalFileSystem(bool is_private) : private_(is_private) {}

  std::unique_ptr<RandomAccessFile> open(const std::string& path) override {
    return std::make_unique<LocalReader>(
        path,
        open_local(path, {.follow_link = !private_, .other_names = !private_, .own = private_}));
  }

  std::unique_ptr<WritableFile> create(const std::string& path) override {
    const mode_t mode = private_ ? 0600 : 0666;
    return std::make_unique<LocalWriter>(path,
                                         open_local(path, {.flags = O_WRONLY | O_CREAT | O_TRUNC,
                                                           .mode = mode,
                                                           .follow_link = false,
                                                           .other_names = !private_,
                                                           .own = private_,
                                                           .what = "cannot create"}));
  }

  bool exists(const std::string& path) override {
    struct stat info {};
    if (::stat(system_path(path), &info) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw file_error(path, "cannot stat");
  }

  FileStat stat(const std::string& path) override {
    struct stat info {};
    if (::stat(system_path(path), &info) != 0) throw file_error(path, "cannot stat");
    const bool directory = S_ISDIR(info.st_mode);
    return {.size = directory ? 0 : static_cast<uint64_t>(info.st_size),
            .is_directory = directory,
            .modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
  }

  std::vector<std::string> list(const std::string& directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(system_path(directory)), ::closedir);
    if (stream == nullptr) throw file_error(directory, "cannot list");
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      const dirent* entry =
          ::readdir(stream.get());  // NOLINT(concurrency-mt-unsafe): a stream of its own
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) throw file_error(directory, "cannot list");
    std::ranges::sort(names);
    return names;
  }

  void make_directories(const std::string& directory) override {
    const mode_t mode = private_ ? 0700 : 0777;
    if (::mkdir(system_path(directory), mode) == 0) return sync_directory(parent_path(directory));
    if (errno == EEXIST) {
      if (!stat(directory).is_directory)
        throw file_error(directory, "cannot make a directory", ENOTDIR);
      return;
    }
    if (errno != ENOENT || parent_path(directory) == directory) {
      throw file_error(directory, "cannot make a directory");
    }
    make_directories(parent_path(directory));
    // Another process may have made it.
    if (::mkdir(system_path(directory), mode) != 0 && errno != EEXIST) {
      throw file_error(directory, "cannot make a directory");
    }
    sync_directory(parent_path(directory));
  }

  void rename(const std::string& from, const std::string& to) override {
    struct stat target {};
    if (::lstat(system_path(to), &target) == 0 && !S_ISREG(target.st_mode) &&
        !S_ISDIR(target.st_mode) && !S_ISLNK(target.st_mode)) {
      throw failed_precondition(
          "{}: cannot rename to {}, got a pipe, a socket or a device there, expected a file", from,
          to);
    }
    if (::rename(system_path(from), system_path(to)) != 0) {
      throw file_error(from, fmt::format("cannot rename to {}", to));
    }
    sync_directory(parent_path(to));
  }

  void touch(const std::string& path) override {
    if (::utimensat(AT_FDCWD, system_path(path), nullptr, 0) != 0)
      throw file_error(path, "cannot touch");
  }

  void remove(const std::string& path) override {
    if (std::remove(system_path(path)) != 0) throw file_error(path, "cannot remove");
  }

 private:
  const bool private_;
};

}  // namespace

FileSystem& local_file_system() {
  static LocalFileSystem instance(/*is_private=*/false);
  return instance;
}

FileSystem& private_file_system() {
  static LocalFileSystem instance(/*is_private=*/true);
  return instance;
}

std::optional<std::string> local_path(const std::string& path) {
  const bool local = path_scheme(path).empty() || path.starts_with(kFileScheme);
  return local ? std::optional<std::string>(system_path(path)) : std::nullopt;
}

}  // namespace systole
