#include "systole/worker/shared_arena.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "systole/base/testing/error_of.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;

constexpr int64_t kMiB = int64_t{1} << 20;

// An arena as both processes see it.
struct BothSides {
  explicit BothSides(int64_t max_cached = 0) { here->allocate_here(cached, max_cached); }
  std::shared_ptr<std::atomic<int64_t>> cached = std::make_shared<std::atomic<int64_t>>(0);
  std::shared_ptr<SharedArena> here = SharedArena::make(16 * kMiB);
  std::shared_ptr<SharedArena> there = SharedArena::open(::dup(here->file()));
};

TEST(SharedArenaTest, ShowsArraysToTheOtherSide) {
  BothSides arena;
  auto block = arena.here->allocate(kMiB);
  Tensor array = tensor_in(block, {DType::f32, {kMiB / 4}});
  array.data<float>()[7] = 3;
  const auto taken = arena.there->take_over(block->hand_over());
  array = Tensor();
  block.reset();
  const Tensor seen = tensor_in(taken, {DType::f32, {kMiB / 4}});
  EXPECT_EQ(seen.data<float>()[7], 3);
}

TEST(SharedArenaTest, FreesWhatTheLastHolderDrops) {
  BothSides arena;
  auto block = arena.here->allocate(12 * kMiB);
  EXPECT_EQ(error_of([&] { arena.here->allocate(12 * kMiB); }),
            "RESOURCE_EXHAUSTED: worker: arrays on their way, got 12582912 bytes, for which there "
            "is no room");
  auto taken = arena.there->take_over(block->hand_over());
  block.reset();
  EXPECT_NE(error_of([&] { arena.here->allocate(12 * kMiB); }), "no error");
  taken.reset();
  arena.here->allocate(12 * kMiB);
  arena.here->allocate(12 * kMiB);
}

TEST(SharedArenaTest, KeepsMemoryOfFreedBlocksWithinItsLimit) {
  BothSides arena(2 * kMiB);
  void* const first = arena.here->allocate(kMiB)->data();
  arena.here->trim();
  EXPECT_EQ(*arena.cached, kMiB);
  EXPECT_EQ(arena.here->allocate(kMiB - 5)->data(), first);
  std::vector<std::shared_ptr<SharedArena::Block>> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(arena.here->allocate(kMiB));
  std::memset(blocks[0]->data(), 1, kMiB);
  blocks.clear();
  arena.here->trim();
  EXPECT_EQ(*arena.cached, 2 * kMiB);
}

TEST(SharedArenaTest, ReusesGapsOfAnySize) {
  BothSides arena;
  std::mt19937 random(1);
  std::vector<std::shared_ptr<SharedArena::Block>> blocks;
  for (int i = 0; i < 600; ++i) {
    if (blocks.size() < 20) {
      const auto bytes = static_cast<int64_t>(random() % (kMiB / 2));
      blocks.push_back(arena.here->allocate(bytes));
      std::memset(blocks.back()->data(), i & 255, static_cast<size_t>(bytes));
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      blocks.pop_back();
      if (i % 3 == 0) blocks.resize(blocks.size() / 2);
    }
  }
  blocks.clear();
  arena.here->allocate(16 * kMiB);  // the gaps are one again
}

TEST(SharedArenaTest, RefusesPlacesOutside) {
  BothSides arena;
  for (const BlockPlace place :
       {BlockPlace{0, 0, 4}, BlockPlace{0, 1 << 16, 17 * kMiB}, BlockPlace{1 << 20, 1 << 16, 4},
        BlockPlace{0, (1 << 16) + 4, 4}, BlockPlace{0, 1 << 16, -1},
        BlockPlace{0, INT64_MAX - 4095, 4096}}) {
    EXPECT_EQ(error_of([&] { arena.there->take_over(place); }).substr(0, 9), "DATA_LOSS");
  }
}

TEST(SharedArenaTest, BoundsTheNumberOfBlocks) {
  BothSides arena;
  std::vector<std::shared_ptr<SharedArena::Block>> blocks;
  const std::string error = error_of([&] {
    const auto large = SharedArena::make(int64_t{1} << 30);
    large->allocate_here(arena.cached, 0);
    while (true) blocks.push_back(large->allocate(1));
  });
  EXPECT_EQ(error,
            "RESOURCE_EXHAUSTED: worker: arrays on their way, got more than 4096 in one "
            "session");
}

}  // namespace
}  // namespace systole::worker
