// The interface to files. io/file_systems has the implementations and finds one by a path's scheme.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/error.h"

namespace systole {

// A file opened for reading. Thread-safe. It stays readable when the file is removed or replaced.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  // Reads up to `size` bytes from `offset` into `out`. Returns how many: fewer than `size` only at
  // the end of the file. Errors: those of the device, naming the file and the offset.
  virtual size_t read(uint64_t offset, size_t size, void* out) const = 0;
  // In bytes, at the time of the call.
  virtual uint64_t size() const = 0;
  // As it was given when opening.
  virtual const std::string& path() const = 0;
};

// A file opened for writing, from its begin on. Not thread-safe. After an error only destruction is
// left to do. The destructor closes without reporting errors: call close() where they matter.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  // May keep the bytes in a buffer until flush.
  virtual void append(std::string_view bytes) = 0;
  // Makes what was appended visible to readers.
  virtual void flush() = 0;
  // Flushes, and returns when the bytes would survive a power failure.
  virtual void sync() = 0;
  // Flushes and ends writing. Calling it again does nothing.
  virtual void close() = 0;
};

struct FileStat {
  uint64_t size = 0;  // in bytes; 0 for a directory
  bool is_directory = false;
  int64_t modified_ns = 0;  // since the Unix epoch
};

// A tree of files. Thread-safe. Methods take whole paths, with their scheme: "mem://run/model". The
// separator is '/'; a relative path is relative to the working directory. Errors of every method
// name the path: NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, FAILED_PRECONDITION (a directory
// where a file is needed, or the other way round), RESOURCE_EXHAUSTED (disk full), UNAVAILABLE.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual std::unique_ptr<RandomAccessFile> open(const std::string& path) = 0;
  // Creates the file or empties it. The directory must exist.
  virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  virtual FileStat stat(const std::string& path) = 0;
  // The names (not paths) in a directory, sorted.
  virtual std::vector<std::string> list(const std::string& directory) = 0;
  // With all parents; nothing happens when it is there.
  virtual void make_directories(const std::string& directory) = 0;
  // Replaces a file `to` in one step: at any time `to` is the old or the new one, also after a
  // power failure.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // Sets the modification time of a file to now.
  virtual void touch(const std::string& path) = 0;
  // A file or an empty directory.
  virtual void remove(const std::string& path) = 0;
};

// A file that appears under its name complete or not at all: written under a temporary name beside
// `path`, synced and renamed by commit(). Without commit() the temporary file is removed and `path`
// is untouched. Not thread-safe. `file_system` outlives it.
class AtomicFile {
 public:
  AtomicFile(FileSystem& file_system, std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // What to write to. REQUIRES: not committed.
  WritableFile& file() { return *file_; }
  void commit();

 private:
  FileSystem& file_system_;
  std::string path_;
  std::string temporary_;
  std::unique_ptr<WritableFile> file_;  // null once committed
};

// Writes a file as AtomicFile does. The second calls `write` for the contents; what it throws is
// passed on.
void write_file_atomically(FileSystem& file_system, const std::string& path,
                           std::string_view contents);
void write_file_atomically(FileSystem& file_system, const std::string& path,
                           const std::function<void(WritableFile&)>& write);

// Reads all of [offset, offset + size). Errors: DATA_LOSS when the file ends before.
void read_exactly(const RandomAccessFile& file, uint64_t offset, size_t size, void* out);
// What read_file() reads at most unless told otherwise: protobuf's limit of a message.
inline constexpr uint64_t kMaxWholeFileBytes = (uint64_t{1} << 31U) - 1;
// The whole file. `max_bytes` is what its format allows: a larger one is DATA_LOSS before any
// memory is allocated, as a file with holes may report any size. Errors: RESOURCE_EXHAUSTED if the
// memory does not suffice.
std::string read_file(const RandomAccessFile& file, uint64_t max_bytes = kMaxWholeFileBytes);
std::string read_file(FileSystem& file_system, const std::string& path,
                      uint64_t max_bytes = kMaxWholeFileBytes);

// Removes a file or a directory with all in it; nothing happens when it is not there. Removes
// symbolic links, not what they point to.
void remove_tree(FileSystem& file_system, const std::string& path);

// Returns the scheme of a path: "gs" for "gs://bucket/a", "" for a path without one. A scheme is a
// letter followed by letters, digits, '+', '-' or '.', all in lower case.
std::string_view path_scheme(std::string_view path);
// Returns the start of a path that has no parent: "/" for "/a", "gs://" for "gs://bucket/a",
// "file:///" for "file:///a", "" for a relative path.
std::string_view path_root(std::string_view path);
// Joins "a" or "a/" and "b" to "a/b". Returns `name` if it has a root or `directory` is empty.
std::string join_path(std::string_view directory, std::string_view name);
// Returns the path without its last name: "a/b" for "a/b/c", "." for "a", "/" for "/a", "gs://" for
// "gs://bucket". A root is its own parent.
std::string parent_path(std::string_view path);
// Returns the last name of a path: "c" for "a/b/c". Returns a root unchanged.
std::string base_name(std::string_view path);

}  // namespace systole
