#include "systole/backends/cpu/kernels/scratch_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "systole/base/mutex.h"

namespace systole::cpu {
namespace {

using Block = std::unique_ptr<Tensor>;

struct Blocks {
  Mutex mutex;
  std::vector<Block> idle SYSTOLE_GUARDED_BY(mutex);  // by size
  int64_t caches SYSTOLE_GUARDED_BY(mutex) = 0;
};

// Never destroyed: caches of static objects end after everything else.
Blocks& blocks() {
  static auto* const instance = new Blocks;
  return *instance;
}

int64_t size_of_block(const Block& block) { return block->num_elements(); }

}  // namespace

ScratchCache::ScratchCache() {
  const MutexLock lock(blocks().mutex);
  ++blocks().caches;
}

ScratchCache::~ScratchCache() {
  std::vector<Block> freed;
  const MutexLock lock(blocks().mutex);
  if (--blocks().caches == 0) freed.swap(blocks().idle);
}

// The smallest block that is large enough. Where none is, a new one takes the place of the largest.
Block ScratchCache::take(int64_t elements) {
  {
    const MutexLock lock(blocks().mutex);
    std::vector<Block>& idle = blocks().idle;
    auto found = std::ranges::lower_bound(idle, elements, {}, &size_of_block);
    const bool fits = found != idle.end();
    if (!fits && !idle.empty()) --found;
    if (found != idle.end()) {
      Block block = std::move(*found);
      idle.erase(found);
      if (fits) return block;
    }  // frees it before there is more
  }
  return std::make_unique<Tensor>(DType::f32, Shape{elements});
}

void ScratchCache::give_back(Block memory) {
  const MutexLock lock(blocks().mutex);
  std::vector<Block>& idle = blocks().idle;
  idle.insert(std::ranges::lower_bound(idle, size_of_block(memory), {}, &size_of_block),
              std::move(memory));
}

}  // namespace systole::cpu
