#include "systole/base/open_file.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <mutex>
#include <system_error>

namespace systole {
namespace {

Code code_of(int error) {
  switch (error) {
    case ENOENT:
      return Code::not_found;
    case EEXIST:
      return Code::already_exists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::permission_denied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::resource_exhausted;
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EXDEV:
    case ETXTBSY:
      return Code::failed_precondition;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
      return Code::invalid_argument;
    default:
      return Code::unavailable;
  }
}

// Linux's /dev/null: it never blocks, reads as an empty file and keeps nothing.
bool is_null_device(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

// What a file is that is neither regular nor a directory.
std::string_view kind_of(const struct stat& info) {
  switch (info.st_mode & S_IFMT) {
    case S_IFIFO:
      return "a named pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFLNK:
      return "a symbolic link";
    default:
      return "a device";
  }
}

void check_kind(const std::string& path, const OpenFileOptions& options, const struct stat& info) {
  if (S_ISREG(info.st_mode) || is_null_device(info)) return;
  if (S_ISDIR(info.st_mode)) throw file_error(path, options.what, EISDIR);
  throw failed_precondition("{}: {}, got {}, expected a file", path, options.what, kind_of(info));
}

void check_owner(const std::string& path, const OpenFileOptions& options, const struct stat& info) {
  if (!options.other_names && S_ISREG(info.st_mode) && info.st_nlink > 1) {
    throw failed_precondition("{}: {}, got a file with {} names, expected one that has no other",
                              path, options.what, info.st_nlink);
  }
  if (!options.own) return;
  const uid_t user = ::geteuid();
  if (info.st_uid != user && info.st_uid != 0) {
    throw make_error(Code::permission_denied, "{}: {}, got a file of user {}, expected user {}",
                     path, options.what, info.st_uid, user);
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw make_error(Code::permission_denied,
                     "{}: {}, got a file that others can write (mode {:o}), expected mode 600",
                     path, options.what, info.st_mode & 07777);
  }
}

void ignore_size_signal() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction present {};
    const bool unhandled = ::sigaction(SIGXFSZ, nullptr, &present) == 0 &&
                           (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_DFL;
    if (unhandled) std::signal(SIGXFSZ, SIG_IGN);
  });
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (value_ >= 0) ::close(value_);
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Error file_error(const std::string& path, std::string_view what, int error) {
  return make_error(code_of(error), "{}: {}, got '{}'", path, what,
                    std::generic_category().message(error));
}

FileDescriptor open_file(const std::string& path, const OpenFileOptions& options) {
  const bool writes = (options.flags & O_ACCMODE) != O_RDONLY;
  if (writes) ignore_size_signal();
  // Opening some devices does something: they are told before.
  struct stat info {};
  if (::fstatat(AT_FDCWD, path.c_str(), &info, options.follow_link ? 0 : AT_SYMLINK_NOFOLLOW) ==
      0) {
    check_kind(path, options, info);
  }
  int flags = (options.flags & ~O_TRUNC) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (!options.follow_link) flags |= O_NOFOLLOW;
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags, options.mode);
  } while (descriptor < 0 && errno == EINTR);
  FileDescriptor file(descriptor);
  if (descriptor < 0 && errno == ELOOP && !options.follow_link) {
    throw failed_precondition("{}: {}, got a symbolic link, expected a file", path, options.what);
  }
  // Another file may have been put at the path since the look above, so the file that was opened
  // is checked again, by its descriptor.
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0) throw file_error(path, options.what);
  check_kind(path, options, info);
  check_owner(path, options, info);
  if ((options.flags & O_TRUNC) != 0 && info.st_size > 0 && ::ftruncate(descriptor, 0) != 0) {
    throw file_error(path, options.what);
  }
  return file;
}

}  // namespace systole
