// A file system in memory, for tests. It can inject faults and drop the bytes that were not synced.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>

#include "systole/base/file_system.h"

namespace systole {

// An injected fault. Each call to the file system or to one of its files counts as one operation;
// bytes are counted over all appends. Both counts start at inject().
struct Fault {
  // The fault applies to paths that contain this text. Operations on others are not counted.
  std::string path_contains;
  // The operation that fails, from 0; -1: none.
  int64_t at_operation = -1;
  // The append that would write this byte (from 0) writes the bytes before it and fails; -1: none.
  int64_t at_byte = -1;
  // Whether all later operations fail too, as on a disk that is gone.
  bool stays = false;
  Code code = Code::unavailable;
};

struct MemoryFile {
  std::string path;
  std::string contents;
};

// Directories must be made before files are created in them, as on a disk. "/", "." (the working
// directory) and "mem://" exist from the start. Thread-safe.
class MemoryFileSystem final : public FileSystem {
 public:
  // `files` are the initial files; makes their directories.
  MemoryFileSystem(std::initializer_list<MemoryFile> files = {});
  ~MemoryFileSystem() override;

  std::unique_ptr<RandomAccessFile> open(const std::string& path) override;
  std::unique_ptr<WritableFile> create(const std::string& path) override;
  bool exists(const std::string& path) override;
  FileStat stat(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void make_directories(const std::string& directory) override;
  void rename(const std::string& from, const std::string& to) override;
  void touch(const std::string& path) override;
  void remove(const std::string& path) override;

  // Replaces the fault. A fault that does not stay ends when it has happened.
  void inject(Fault fault);
  void clear_fault();
  // Returns the operations counted since inject() or the start.
  int64_t operations() const;

  // Simulates a power failure: drops the bytes that were not synced and keeps the names. (The worst
  // that a disk does is to keep a name and lose the bytes.) Open files stay usable.
  void lose_unsynced();

  // Returns the contents of all files, by path.
  std::map<std::string, std::string> contents() const;

 private:
  class Reader;
  class Writer;
  struct Node;
  using NodePtr = std::shared_ptr<Node>;  // shared with open files, which outlive a removed name

  void count(const std::string& path);
  NodePtr find(const std::string& path, std::string_view what) const;
  void check_parent(const std::string& path) const;
  bool has_children(const std::string& path) const;

  mutable std::mutex mutex_;  // guards all below and the nodes
  std::map<std::string, NodePtr> nodes_;
  Fault fault_;
  int64_t operations_ = 0;
  int64_t bytes_ = 0;
  bool broken_ = false;  // a fault that stays has happened
  int64_t time_ = 0;     // counts modifications, as the times of files
};

// The file system of paths that start with "mem://". Its files live until the process ends.
MemoryFileSystem& memory_file_system();

}  // namespace systole
