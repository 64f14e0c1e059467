// A file system in memory, for tests. It can inject faults and simulate power failures.
//
// What survives a power failure, as on the most careless disk that POSIX allows:
//   - the bytes of a file up to its last sync(); of later ones any sectors, the others hold
//   garbage,
//     and the file may end anywhere behind the last sync. An emptied file may have its old bytes.
//   - the names that a directory had when it was last synced; each later change of a name (a file
//     created, removed, renamed) may have happened or not, whatever the order of the changes.
// rename() syncs the directory of the new name, make_directories() the parents of new directories.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>

#include "systole/base/file_system.h"
#include "systole/base/mutex.h"

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

  // Simulates the simplest power failure: drops the bytes that were not synced and keeps the names.
  // Open files stay usable.
  void lose_unsynced();
  // Simulates a power failure after which the disk holds one of the states that it may (see above).
  // Equal seeds choose equal states of equal disks. Files opened before must not be used
  // afterwards.
  void lose_power(uint64_t seed);
  // Becomes a copy of `other`: files, names, and what of them would survive a power failure. Files
  // opened before keep their contents.
  void copy_from(const MemoryFileSystem& other);
  // Calls `observer` before each operation, if an earlier one has changed something since the last
  // call; operations of several steps call it between them, too. It may call copy_from() of another
  // file system. An empty function ends this. Not while operations run.
  void observe(std::function<void()> observer);

  // Returns the contents of all files, by path.
  std::map<std::string, std::string> contents() const;

 private:
  class Reader;
  class Writer;
  class Survivors;
  struct Node;
  using NodePtr = std::shared_ptr<Node>;  // shared with open files, which outlive a removed name

  std::unique_lock<Mutex> begin(const std::string& path);
  std::unique_lock<Mutex> lock_observed();
  void count(const std::string& path);
  void set_entry(const std::string& path, const NodePtr& node);
  void sync_directory(const std::string& path);
  NodePtr find(const std::string& path, std::string_view what) const;
  void check_parent(const std::string& path) const;
  bool has_children(const std::string& path) const;

  mutable Mutex mutex_;  // guards all below and the nodes
  std::map<std::string, NodePtr> nodes_;
  Fault fault_;
  int64_t operations_ = 0;
  int64_t bytes_ = 0;
  bool broken_ = false;  // a fault that stays has happened
  int64_t time_ = 0;     // counts modifications, as the times of files
  std::function<void()> observer_;
  int64_t changes_ = 0;
  int64_t observed_changes_ = 0;
};

// The file system of paths that start with "mem://". Its files live until the process ends.
MemoryFileSystem& memory_file_system();

}  // namespace systole
