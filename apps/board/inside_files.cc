#include "apps/board/inside_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>

#include "systole/base/open_file.h"
#include "systole/io/local/local_file_system.h"

namespace systole::board {
namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// The name by which the descriptor's file can be opened again, whatever its path names now.
std::string name_of(const FileDescriptor& descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor.get());
}

class InsideFile final : public RandomAccessFile {
 public:
  InsideFile(std::string path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  size_t read(uint64_t offset, size_t size, void* out) const override {
    size_t done = 0;
    while (done < size) {
      const ssize_t got = ::pread(file_.get(), static_cast<char*>(out) + done, size - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw file_error(path_, fmt::format("cannot read at offset {}", offset + done));
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

class InsideFiles final : public FileSystem {
 public:
  explicit InsideFiles(std::string root) : root_(std::move(root)) {}

  std::unique_ptr<RandomAccessFile> open(const std::string& path) override {
    const FileDescriptor found = find(path, "cannot open");
    const mode_t mode = info_of(found, path).st_mode;
    if (!S_ISREG(mode)) {
      throw failed_precondition("{}: file, got {}, expected a regular file", path, kind_of(mode));
    }
    FileDescriptor file(
        ::open(name_of(found).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0) throw file_error(path, "cannot open");
    return std::make_unique<InsideFile>(path, std::move(file));
  }

  bool exists(const std::string& path) override {
    try {
      find(path, "cannot stat");
      return true;
    } catch (const Error& error) {
      if (error.code() == Code::not_found) return false;
      throw;
    }
  }

  FileStat stat(const std::string& path) override {
    const struct stat info = info_of(find(path, "cannot stat"), path);
    return {.size = S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0,
            .is_directory = S_ISDIR(info.st_mode),
            .modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
  }

  std::vector<std::string> list(const std::string& directory) override {
    const FileDescriptor found = find(directory, "cannot list");
    if (!S_ISDIR(info_of(found, directory).st_mode))
      throw file_error(directory, "cannot list", ENOTDIR);
    return local_file_system().list(name_of(found));
  }

  std::unique_ptr<WritableFile> create(const std::string& path) override { refuse(path); }
  void make_directories(const std::string& directory) override { refuse(directory); }
  void rename(const std::string& from, const std::string& /*to*/) override { refuse(from); }
  void touch(const std::string& path) override { refuse(path); }
  void remove(const std::string& path) override { refuse(path); }

 private:
  [[noreturn]] static void refuse(const std::string& path) {
    throw make_error(Code::permission_denied, "{}: change, got one, expected to read only", path);
  }

  static struct stat info_of(const FileDescriptor& descriptor, const std::string& path) {
    struct stat info {};
    if (::fstat(descriptor.get(), &info) != 0) throw file_error(path, "cannot stat");
    return info;
  }

  // Returns a descriptor that only names the file: it waits for nothing and has no effect on
  // devices. The file is inside the root, whatever becomes of the path.
  FileDescriptor find(const std::string& path, std::string_view what) const {
    FileDescriptor found(::open(local_path(path).value_or(path).c_str(), O_PATH | O_CLOEXEC));
    if (found.get() < 0) throw file_error(path, what);
    std::array<char, PATH_MAX> real{};
    const ssize_t size = ::readlink(name_of(found).c_str(), real.data(), real.size());
    if (size < 0) throw file_error(path, what);
    const std::string_view place(real.data(), static_cast<size_t>(size));
    const bool inside = place == root_ || root_ == "/" ||
                        (place.starts_with(root_) && place.substr(root_.size()).starts_with('/'));
    if (!inside) {
      throw make_error(Code::permission_denied, "{}: file, got a link to {}, expected one in {}",
                       path, place, root_);
    }
    return found;
  }

  const std::string root_;  // without links
};

}  // namespace

std::unique_ptr<FileSystem> files_inside(std::string root) {
  return std::make_unique<InsideFiles>(std::move(root));
}

}  // namespace systole::board
