#include <algorithm>
#include <cstring>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/io/buckets/bucket_files.h"
#include "systole/io/wire/crc32c.h"

namespace systole::buckets {
namespace {

class ObjectReader final : public RandomAccessFile {
 public:
  ObjectReader(ObjectStore& store, BlockCache& cache, const BucketOptions& options,
               std::string path, ObjectName name, ObjectInfo info)
      : store_(store),
        cache_(cache),
        options_(options),
        path_(std::move(path)),
        name_(std::move(name)),
        info_(std::move(info)),
        id_(object_path(store_, name_) + "#" + info_.version) {}

  ~ObjectReader() override {
    for (uint64_t block = ahead_begin_; block < ahead_end_; ++block) {
      cache_.drop({id_, block * options_.block_bytes}, true);
    }
  }

  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  size_t read(uint64_t offset, size_t size, void* out) const override {
    if (size == 0 || offset >= info_.size) return 0;
    size = static_cast<size_t>(std::min<uint64_t>(size, info_.size - offset));
    const uint64_t block_bytes = options_.block_bytes;
    const uint64_t last = (offset + size - 1) / block_bytes;
    auto* to = static_cast<char*>(out);
    for (uint64_t at = offset; at < offset + size;) {
      const uint64_t block = at / block_bytes;
      const uint64_t begin = block * block_bytes;
      const auto data = needed(block, last);
      const auto count =
          static_cast<size_t>(std::min<uint64_t>(offset + size - at, begin + data->size() - at));
      std::memcpy(to, bytes_of(block, *data) + (at - begin), count);
      to += count;
      at += count;
    }
    return size;
  }

  uint64_t size() const override { return info_.size; }
  const std::string& path() const override { return path_; }

 private:
  std::shared_ptr<ObjectBlock> block(uint64_t index, bool needed) const {
    const uint64_t begin = index * options_.block_bytes;
    const auto size =
        static_cast<size_t>(std::min<uint64_t>(options_.block_bytes, info_.size - begin));
    return cache_.get({id_, begin}, size, needed, [&] {
      return std::make_shared<ObjectBlock>(store_, name_, info_.version, begin, size);
    });
  }

  // Returns a block, and reads ahead: to the end of this read, and further if reads are sequential.
  std::shared_ptr<ObjectBlock> needed(uint64_t index, uint64_t last) const {
    const MutexLock lock(mutex_);
    auto result = block(index, true);
    if (index == latest_) return result;
    const bool sequential =
        index == latest_ + 1;  // true for block 0 of a file that was just opened
    latest_ = index;
    window_ = sequential ? std::min<uint64_t>(2 * window_ + 1, options_.read_ahead) : 0;
    const uint64_t blocks = (info_.size + options_.block_bytes - 1) / options_.block_bytes;
    uint64_t end = std::max(index + 1 + window_, last + 1);
    end = std::min({end, index + 1 + static_cast<uint64_t>(options_.read_ahead), blocks});
    ahead_begin_ = index + 1;
    ahead_end_ = std::max(end, index + 1);
    for (uint64_t next = index + 1; next < end; ++next) {
      if (block(next, false) == nullptr) break;
    }
    return result;
  }

  // Waits for a block, and checks the checksum of the whole object when its blocks were read in
  // order.
  const char* bytes_of(uint64_t index, ObjectBlock& block) const {
    const char* bytes = nullptr;
    try {
      bytes = block.bytes();
    } catch (const Error&) {
      cache_.drop({id_, index * options_.block_bytes});
      throw;
    }
    const MutexLock lock(mutex_);
    if (!info_.crc32c || index != checked_) return bytes;
    crc_ = crc32c({bytes, block.size()}, crc_);
    ++checked_;
    const bool end = index * options_.block_bytes + block.size() == info_.size;
    if (end && crc_ != *info_.crc32c) {
      for (uint64_t i = 0; i < checked_; ++i) cache_.drop({id_, i * options_.block_bytes});
      checked_ = 0;
      throw make_error(Code::data_loss, "{}: crc32c of the object, got {:#010x}, expected {:#010x}",
                       path_, std::exchange(crc_, 0), *info_.crc32c);
    }
    return bytes;
  }

  ObjectStore& store_;
  BlockCache& cache_;
  const BucketOptions options_;
  const std::string path_;
  const ObjectName name_;
  const ObjectInfo info_;
  const std::string id_;

  mutable Mutex mutex_;
  mutable uint64_t latest_ SYSTOLE_GUARDED_BY(mutex_) = ~uint64_t{0};  // the block of the last read
  mutable uint64_t window_ SYSTOLE_GUARDED_BY(mutex_) = 0;             // blocks to read ahead
  mutable uint64_t ahead_begin_ SYSTOLE_GUARDED_BY(mutex_) = 0;  // blocks that were requested ahead
  mutable uint64_t ahead_end_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  mutable uint64_t checked_ SYSTOLE_GUARDED_BY(mutex_) = 0;  // blocks that crc_ covers
  mutable uint32_t crc_ SYSTOLE_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<RandomAccessFile> open_object(ObjectStore& store, BlockCache& cache,
                                              const BucketOptions& options, std::string path,
                                              ObjectName name, ObjectInfo info) {
  return std::make_unique<ObjectReader>(store, cache, options, std::move(path), std::move(name),
                                        std::move(info));
}

}  // namespace systole::buckets
