// Kinds of files that may lie where a program expects a regular one.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/error.h"

namespace systole::testing {

enum class FileKind {
  pipe,           // without a writer or a reader: a blocking open() would wait for ever
  device,         // /dev/zero through a link
  socket,         // of the file system
  link,           // to `victim`, a file with contents
  dangling_link,  // to a name beside `victim` that does not exist
  sparse,         // 300 GB without a block on the disk
  unreadable,     // mode 0
  directory,      // with a file in it
};

inline const std::vector<FileKind>& all_file_kinds() {
  static const std::vector<FileKind> kinds = {
      FileKind::pipe,          FileKind::device, FileKind::socket,     FileKind::link,
      FileKind::dangling_link, FileKind::sparse, FileKind::unreadable, FileKind::directory};
  return kinds;
}

inline std::string_view name_of(FileKind kind) {
  constexpr std::string_view kNames[] = {"pipe",          "device", "socket",     "link",
                                         "dangling_link", "sparse", "unreadable", "directory"};
  return kNames[static_cast<int>(kind)];
}

// Makes a file of this kind at `path`, where nothing is. `victim` is the file that links point to.
// REQUIRES: for sockets, that base name and parent of `path` have less than 100 bytes.
inline void make_file_of_kind(FileKind kind, const std::string& path, const std::string& victim) {
  const auto check = [&](bool done) {
    if (!done) throw failed_precondition("{}: cannot make a {}", path, name_of(kind));
  };
  switch (kind) {
    case FileKind::pipe:
      return check(::mkfifo(path.c_str(), 0600) == 0);
    case FileKind::device:
      return std::filesystem::create_symlink("/dev/zero", path);
    case FileKind::socket: {
      const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      // Names of sockets are short: it is made elsewhere and moved.
      const std::string name = "/tmp/systole_socket_" + std::to_string(::getpid());
      std::strncpy(address.sun_path, name.c_str(), sizeof address.sun_path - 1);
      const bool bound =
          ::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
      ::close(file);
      return check(bound && ::rename(name.c_str(), path.c_str()) == 0);
    }
    case FileKind::link:
      return std::filesystem::create_symlink(victim, path);
    case FileKind::dangling_link:
      return std::filesystem::create_symlink(victim + ".none", path);
    case FileKind::sparse:
      std::ofstream(path) << "";
      return check(::truncate(path.c_str(), off_t{300} << 30) == 0);
    case FileKind::unreadable:
      std::ofstream(path) << "unreadable";
      return check(::chmod(path.c_str(), 0) == 0);
    case FileKind::directory:
      std::filesystem::create_directory(path);
      std::ofstream(path + "/file") << "in a directory";
      return;
  }
}

}  // namespace systole::testing
