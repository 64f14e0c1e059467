// A FileSystem over the objects of a store: "gs://bucket/a/b", "s3://bucket/a/b".
//
// A store has no directories. A directory exists while an object has its name and a '/' as a
// prefix; make_directories() makes an empty object "a/b/" that keeps an empty one. Files can be
// created without it. Names are normalised as paths of a disk: "a//b/./x/../c" is "a/b/c".
//
// Differences from a disk:
//   - A written file appears at its first flush(), sync() or close(), whole. Later flushes add the
//   new bytes, at most
//     once in `flush_interval`; sync() and close() always do.
//   - An open file reads the version that it was opened with. If that is replaced or removed, bytes
//   that are not yet
//     in the cache are FAILED_PRECONDITION. size() is that of the version.
//   - rename() copies inside the store, then deletes. A file replaces another in one step. Of a
//   directory, the files
//     move one after another.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/clock.h"
#include "systole/base/file_system.h"
#include "systole/io/buckets/block_cache.h"
#include "systole/io/buckets/object_store.h"

namespace systole::buckets {

struct BucketOptions {
  size_t block_bytes = size_t{4} << 20;
  // Blocks that a sequential reader requests ahead.
  int read_ahead = 8;
  // Bytes of all blocks of all files that are read ahead and kept.
  size_t cache_bytes = size_t{256} << 20;
  // Written bytes are sent when so many are there. A multiple of 256 KiB (gs), at least 5 MiB (s3).
  size_t part_bytes = size_t{8} << 20;
  std::chrono::milliseconds flush_interval{30'000};
  // A lock (object_lock.h) that its holder has not renewed for so long is dead.
  std::chrono::milliseconds lock_lease{60'000};
  Clock* clock = nullptr;  // null: real_clock()
};

// Sets cache_bytes from SYSTOLE_BUCKET_CACHE_MB, flush_interval from SYSTOLE_BUCKET_FLUSH_SECONDS
// and lock_lease from SYSTOLE_BUCKET_LOCK_SECONDS (at least 1). Errors: INVALID_ARGUMENT for a
// value that is no number or is negative.
BucketOptions bucket_options_from_environment();

class BucketFileSystem final : public FileSystem {
 public:
  BucketFileSystem(std::unique_ptr<ObjectStore> store, const BucketOptions& options);
  ~BucketFileSystem() override;

  std::unique_ptr<RandomAccessFile> open(const std::string& path) override;
  std::unique_ptr<WritableFile> create(const std::string& path) override;
  bool exists(const std::string& path) override;
  FileStat stat(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void make_directories(const std::string& directory) override;
  void rename(const std::string& from, const std::string& to) override;
  void touch(const std::string& path) override;
  void remove(const std::string& path) override;

  // Errors: INVALID_ARGUMENT for a path without a bucket, or with a name that the service does not
  // allow.
  ObjectName parse(const std::string& path) const;
  ObjectStore& store() { return *store_; }
  const BucketOptions& options() const { return options_; }
  const BlockCache& cache() const { return cache_; }

 private:
  bool directory_exists(const ObjectName& name);
  // All objects below a prefix.
  std::vector<ObjectInfo> objects_below(const std::string& bucket, const std::string& prefix);
  void write_marker(const ObjectName& directory);
  void rename_directory(const std::string& path, const ObjectName& from, const ObjectName& to);

  std::unique_ptr<ObjectStore> store_;
  const BucketOptions options_;
  BlockCache cache_;
};

}  // namespace systole::buckets
