// Opens files of this machine that others may have made, replaced or linked. Whatever lies at the
// path, opening it neither blocks nor changes it before its kind is known.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "systole/base/error.h"

namespace systole {

// Owns a descriptor of a file.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : value_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  // -1 for none.
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

struct OpenFileOptions {
  // The flags of open(2). O_CLOEXEC, O_NONBLOCK and O_NOCTTY are added. O_TRUNC empties the file
  // once it is known to be the one that is wanted.
  int flags = O_RDONLY;
  mode_t mode = 0666;  // of a new file
  // Whether the last name of the path may be a symbolic link. Use false for what is written, locked
  // or executed.
  bool follow_link = true;
  // Whether the file may have other names (hard links). Use false for what is written in place.
  bool other_names = true;
  // The file must belong to this user or to root, and nobody else may write to it. For state and
  // for code that this process runs.
  bool own = false;
  std::string_view what = "cannot open";  // of errors
};

// Opens a regular file, or /dev/null. If the file may be written, SIGXFSZ is ignored from now on
// unless the program has a handler: a write beyond the limit of file size is then EFBIG.
// Errors start with `path`: FAILED_PRECONDITION names the kind of anything else (a directory, a
// named pipe, a device, a socket, a symbolic link, a file with other names); PERMISSION_DENIED for
// another owner or mode; those of file_error() for a failed system call. Thread-safe.
FileDescriptor open_file(const std::string& path, const OpenFileOptions& options = {});

// Returns the error of a failed system call, "<path>: <what>, got '<reason>'", with the code of
// FileSystem's contract.
Error file_error(const std::string& path, std::string_view what, int error = errno);

}  // namespace systole
