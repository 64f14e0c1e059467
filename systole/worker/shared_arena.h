// Memory that the worker and the process of a session share, so that arrays are not copied.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/base/tensor.h"

namespace systole::worker {

// Where an array lies in an arena.
struct BlockPlace {
  uint32_t index = 0;  // of its state
  int64_t offset = 0;
  int64_t bytes = 0;
};

// An arena lies in a file in memory that both processes map. One of them allocates blocks and hands
// some over; the one that holds a block frees it. Memory of freed blocks is used again, or given
// back to the system. Thread-safe.
class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  // A block that this process holds. Its end frees the block, unless it was handed over.
  class Block {
   public:
    Block(std::shared_ptr<SharedArena> arena, BlockPlace place)
        : arena_(std::move(arena)), place_(place) {}
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    void* data() const { return arena_->data_ + place_.offset; }
    // The other process holds it from now on, under this place.
    BlockPlace hand_over();

   private:
    const std::shared_ptr<SharedArena> arena_;
    const BlockPlace place_;
    bool held_ = true;
  };

  // Makes one. Errors: RESOURCE_EXHAUSTED.
  static std::shared_ptr<SharedArena> make(int64_t bytes);
  // One that another process made. Takes the descriptor `file` over. Errors: RESOURCE_EXHAUSTED.
  static std::shared_ptr<SharedArena> open(int file);
  // This process allocates from it, and no other. Freed memory is kept for later blocks while
  // `cached`, a counter that arenas share, does not pass `max_cached`. Called once, before
  // allocate().
  void allocate_here(std::shared_ptr<std::atomic<int64_t>> cached,
                     int64_t max_cached) SYSTOLE_NO_THREAD_SAFETY_ANALYSIS;
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  // Errors: RESOURCE_EXHAUSTED. REQUIRES: allocate_here().
  std::shared_ptr<Block> allocate(int64_t bytes);
  // A block that the other process handed over. Errors: DATA_LOSS for a place outside.
  std::shared_ptr<Block> take_over(const BlockPlace& place);
  // Gives memory of freed blocks that is not kept back to the system.
  void trim();
  // The file, for the other process.
  int file() const { return file_; }

 private:
  struct Range {
    int64_t offset;
    int64_t bytes;
  };
  SharedArena() = default;
  void map(int64_t bytes);
  std::atomic<uint32_t>& state(uint32_t index) const;
  // REQUIRES of all below: mutex_.
  void collect() SYSTOLE_REQUIRES(mutex_);
  void release(Range range) SYSTOLE_REQUIRES(mutex_);
  Range find(int64_t bytes) SYSTOLE_REQUIRES(mutex_);

  int file_ = -1;
  char* data_ = nullptr;
  int64_t bytes_ = 0;
  std::shared_ptr<std::atomic<int64_t>> cached_;
  int64_t max_cached_ = 0;

  Mutex mutex_;
  std::map<uint32_t, Range> used_ SYSTOLE_GUARDED_BY(mutex_);  // by index
  std::vector<uint32_t> free_indices_ SYSTOLE_GUARDED_BY(mutex_);
  std::deque<Range> kept_
      SYSTOLE_GUARDED_BY(mutex_);  // freed ranges whose memory is kept, the oldest first
  std::map<int64_t, int64_t> gaps_ SYSTOLE_GUARDED_BY(mutex_);  // offset to bytes, without memory
};

// The tensor of a block. Errors: RESOURCE_EXHAUSTED.
Tensor tensor_in(const std::shared_ptr<SharedArena::Block>& block, const TensorType& type);

}  // namespace systole::worker
