// The blocks of objects that readers share: read ahead, kept for later reads, bounded in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "systole/base/mutex.h"
#include "systole/io/buckets/object_store.h"

namespace systole::buckets {

// A range of one version of an object, on its way or complete. Thread-safe.
class ObjectBlock {
 public:
  // Starts the request.
  ObjectBlock(ObjectStore& store, ObjectName name, std::string version, uint64_t offset,
              size_t size);

  // Waits for the whole range and returns its size() bytes, which live as long as the block. After
  // a broken or short response it requests the bytes that are missing. Errors: FAILED_PRECONDITION
  // if this version of the object was replaced or removed; those of the store when no attempt is
  // left. All later calls throw the same error.
  const char* bytes();
  size_t size() const { return size_; }

 private:
  void complete() SYSTOLE_REQUIRES(mutex_);
  std::string what() const;
  // Checks the response of a part and returns whether the part is whole. Throws permanent errors.
  bool accept(const http::HttpCall& call, size_t* got);

  ObjectStore& store_;
  const ObjectName name_;
  const std::string version_;
  const uint64_t offset_;
  const size_t size_;
  std::shared_ptr<char[]> bytes_;
  Mutex mutex_;
  std::unique_ptr<http::HttpCall> call_ SYSTOLE_GUARDED_BY(mutex_);
  bool complete_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Error> error_ SYSTOLE_GUARDED_BY(mutex_);
};

// Thread-safe.
class BlockCache {
 public:
  explicit BlockCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  using Key = std::pair<std::string, uint64_t>;  // the object with its version, and the offset
  using Start = std::function<std::shared_ptr<ObjectBlock>()>;

  // Returns a block, and starts it if it is not there. Evicts the least recently used blocks that
  // are not in use. Blocks that are read ahead (`needed` is false) evict no others of their kind
  // that nobody has read yet; without room the result is null. Needed blocks may exceed the limit,
  // by one a reader.
  std::shared_ptr<ObjectBlock> get(const Key& key, size_t size, bool needed, const Start& start);
  // Forgets a block that failed or, with `only_unread`, one that was read ahead in vain.
  void drop(const Key& key, bool only_unread = false);
  // Returns the bytes of all blocks now, and the most that they have been.
  size_t bytes() const;
  size_t peak_bytes() const;

 private:
  struct Entry {
    std::shared_ptr<ObjectBlock> block;
    size_t size = 0;
    bool unread = false;  // read ahead, not yet needed
    std::list<Key>::iterator use;
  };
  void make_room(size_t size, bool also_unread) SYSTOLE_REQUIRES(mutex_);

  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::map<Key, Entry> blocks_ SYSTOLE_GUARDED_BY(mutex_);
  std::list<Key> uses_ SYSTOLE_GUARDED_BY(mutex_);  // the most recent first
  size_t bytes_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  size_t peak_ SYSTOLE_GUARDED_BY(mutex_) = 0;
};

}  // namespace systole::buckets
