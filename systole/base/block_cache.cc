#include "systole/base/block_cache.h"

#include <deque>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>

#include "systole/base/mutex.h"
#endif

namespace systole {
namespace {

constexpr size_t kKilobyte = 1024;
constexpr size_t kHugePage = 2 * kKilobyte * kKilobyte;

// Huge pages are for blocks so large that rounding to whole pages wastes little.
bool is_huge(size_t bytes) { return bytes >= 2 * kHugePage; }

std::align_val_t alignment_of(size_t bytes) {
  return std::align_val_t{is_huge(bytes) ? kHugePage : 64};
}

// Walks across the rows of an array spend most of their time on TLB misses with small pages.
void want_huge_pages([[maybe_unused]] void* block, [[maybe_unused]] size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Advises whole pages only, which takes no extra memory. Ignores systems without huge pages.
  madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

void* fresh(size_t bytes) {
  void* const block = ::operator new(bytes, alignment_of(bytes), std::nothrow);
  if (block != nullptr && is_huge(bytes)) want_huge_pages(block, bytes);
  return block;
}
void give_back(void* block, size_t bytes) { ::operator delete(block, alignment_of(bytes)); }

#if defined(__SANITIZE_ADDRESS__)

constexpr bool kKeeps = false;  // the sanitizer must see a use after free

#else

constexpr bool kKeeps = true;

#endif

bool is_kept(size_t bytes) {
  return kKeeps && bytes >= 64 * kKilobyte && bytes <= 32 * kKilobyte * kKilobyte;
}

// Rounds sizes, so that a slightly smaller batch reuses the block of the last one.
size_t rounded(size_t bytes) {
  constexpr size_t kStep = 16 * kKilobyte;
  return (bytes + kStep - 1) / kStep * kStep;
}

class BlockCache {
 public:
  void* take(size_t bytes) {
    const MutexLock lock(mutex_);
    // The block freed last is most likely still in the CPU caches.
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      if (block->bytes != bytes) continue;
      void* const memory = block->memory;
      blocks_.erase(std::next(block).base());
      kept_ -= bytes;
      return memory;
    }
    return nullptr;
  }
  void put(void* memory, size_t bytes) {
    const MutexLock lock(mutex_);
    blocks_.push_back({memory, bytes});
    kept_ += bytes;
    while (kept_ > kMaxKept) drop_oldest();
  }
  void clear() {
    const MutexLock lock(mutex_);
    while (!blocks_.empty()) drop_oldest();
  }

 private:
  static constexpr size_t kMaxKept = 64 * kKilobyte * kKilobyte;
  struct Block {
    void* memory;
    size_t bytes;
  };

  void drop_oldest() SYSTOLE_REQUIRES(mutex_) {
    give_back(blocks_.front().memory, blocks_.front().bytes);
    kept_ -= blocks_.front().bytes;
    blocks_.pop_front();
  }

  Mutex mutex_;
  std::deque<Block> blocks_ SYSTOLE_GUARDED_BY(mutex_);  // in the order in which they were freed
  size_t kept_ SYSTOLE_GUARDED_BY(mutex_) = 0;
};

// Never destroyed: tensors of static objects end after everything else.
BlockCache& cache() {
  static auto* const instance = new BlockCache;
  return *instance;
}

}  // namespace

void* allocate_block(size_t bytes) {
  if (!is_kept(bytes)) {
    void* const block = fresh(bytes);
    if (block != nullptr || !kKeeps) return block;
    cache().clear();
    return fresh(bytes);
  }
  const size_t size = rounded(bytes);
  if (void* const block = cache().take(size)) return block;
  if (void* const block = fresh(size)) return block;
  cache().clear();
  return fresh(size);
}

void free_block(void* block, size_t bytes) {
  if (is_kept(bytes)) {
    cache().put(block, rounded(bytes));
  } else {
    give_back(block, bytes);
  }
}

}  // namespace systole
