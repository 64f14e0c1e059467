#include "systole/worker/shared_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/mutex.h"

namespace systole::worker {
namespace {

// Blocks of an arena at a time.
constexpr uint32_t kMaxBlocks = 4096;
constexpr int64_t kPage = 4096;
// The states of the blocks lie at the begin of the file.
constexpr int64_t kHeaderBytes = kMaxBlocks * sizeof(std::atomic<uint32_t>);
static_assert(kHeaderBytes % kPage == 0);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

int64_t rounded(int64_t bytes) {
  return std::max<int64_t>((bytes + kPage - 1) / kPage * kPage, kPage);
}

Error no_memory(const char* what) {
  return make_error(Code::resource_exhausted, "worker: shared memory, got '{}' from {}",
                    std::strerror(errno), what);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

SharedArena::Block::~Block() {
  if (held_) arena_->state(place_.index).store(0, std::memory_order_release);
}

BlockPlace SharedArena::Block::hand_over() {
  held_ = false;
  return place_;
}

std::shared_ptr<SharedArena> SharedArena::make(int64_t bytes) {
  std::shared_ptr<SharedArena> arena(new SharedArena());
  arena->file_ = ::memfd_create("systole-arrays", MFD_CLOEXEC);
  if (arena->file_ < 0) throw no_memory("memfd_create");
  const int64_t size = kHeaderBytes + rounded(bytes);
  if (::ftruncate(arena->file_, size) != 0) throw no_memory("ftruncate");
  arena->map(size);
  return arena;
}

std::shared_ptr<SharedArena> SharedArena::open(int file) {
  std::shared_ptr<SharedArena> arena(new SharedArena());
  arena->file_ = file;
  struct stat status {};
  if (::fstat(file, &status) != 0) throw no_memory("fstat");
  arena->map(status.st_size);
  return arena;
}

void SharedArena::allocate_here(std::shared_ptr<std::atomic<int64_t>> cached, int64_t max_cached) {
  cached_ = std::move(cached);
  max_cached_ = max_cached;
  gaps_[kHeaderBytes] = bytes_ - kHeaderBytes;
  for (uint32_t index = kMaxBlocks; index > 0; --index) free_indices_.push_back(index - 1);
}

void SharedArena::map(int64_t bytes) {
  void* const mapped = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (mapped == MAP_FAILED) throw no_memory("mmap");
  data_ = static_cast<char*>(mapped);
  bytes_ = bytes;
}

SharedArena::~SharedArena() {
  for (const Range& range : kept_) *cached_ -= range.bytes;
  if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(bytes_));
  if (file_ >= 0) ::close(file_);
}

std::atomic<uint32_t>& SharedArena::state(uint32_t index) const {
  return reinterpret_cast<std::atomic<uint32_t>*>(data_)[index];
}

std::shared_ptr<SharedArena::Block> SharedArena::allocate(int64_t bytes) {
  const MutexLock lock(mutex_);
  collect();
  if (free_indices_.empty()) {
    throw make_error(Code::resource_exhausted,
                     "worker: arrays on their way, got more than {} in one session", kMaxBlocks);
  }
  const Range range = find(rounded(bytes));
  const uint32_t index = free_indices_.back();
  const BlockPlace place = {index, range.offset, bytes};
  auto block = std::make_shared<Block>(shared_from_this(), place);
  used_[index] = range;
  free_indices_.pop_back();
  state(index).store(1, std::memory_order_relaxed);
  return block;
}

SharedArena::Range SharedArena::find(int64_t bytes) {
  const auto fits = [bytes](const Range& range) {
    return range.bytes >= bytes && range.bytes - bytes <= range.bytes / 4;
  };
  // The youngest first: its memory may still be in a cache of the processor.
  if (const auto kept = std::find_if(kept_.rbegin(), kept_.rend(), fits); kept != kept_.rend()) {
    const Range range = *kept;
    kept_.erase(std::next(kept).base());
    *cached_ -= range.bytes;
    return range;
  }
  const auto gap = std::ranges::find_if(gaps_, [&](const auto& g) { return g.second >= bytes; });
  if (gap == gaps_.end()) {
    throw make_error(Code::resource_exhausted,
                     "worker: arrays on their way, got {} bytes, for which there is no room",
                     bytes);
  }
  const auto [offset, size] = *gap;
  gaps_.erase(gap);
  if (size > bytes) gaps_[offset + bytes] = size - bytes;
  return {offset, bytes};
}

std::shared_ptr<SharedArena::Block> SharedArena::take_over(const BlockPlace& place) {
  if (place.index >= kMaxBlocks || place.offset < kHeaderBytes || place.offset % kPage != 0 ||
      place.bytes < 0 || place.bytes > bytes_ - place.offset) {
    throw make_error(Code::data_loss,
                     "worker: shared array, got {} bytes at {}, expected within {}", place.bytes,
                     place.offset, bytes_);
  }
  return std::make_shared<Block>(shared_from_this(), place);
}

void SharedArena::trim() {
  const MutexLock lock(mutex_);
  collect();
}

// The other process frees a block by its state alone.
void SharedArena::collect() {
  std::erase_if(used_, [this](const auto& entry) SYSTOLE_REQUIRES(mutex_) {
    if (state(entry.first).load(std::memory_order_acquire) != 0) return false;
    free_indices_.push_back(entry.first);
    kept_.push_back(entry.second);
    *cached_ += entry.second.bytes;
    return true;
  });
  while (!kept_.empty() && *cached_ > max_cached_) {
    *cached_ -= kept_.front().bytes;
    release(kept_.front());
    kept_.pop_front();
  }
}

void SharedArena::release(Range range) {
  ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range.offset, range.bytes);
  auto after = gaps_.upper_bound(range.offset);
  if (after != gaps_.end() && range.offset + range.bytes == after->first) {
    range.bytes += after->second;
    after = gaps_.erase(after);
  }
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == range.offset) {
      before->second += range.bytes;
      return;
    }
  }
  gaps_[range.offset] = range.bytes;
}

Tensor tensor_in(const std::shared_ptr<SharedArena::Block>& block, const TensorType& type) {
  return Tensor::adopt(type.dtype, type.shape, block->data(), block);
}

}  // namespace systole::worker
