#include "systole/backends/cpu/analysis/arena_index.h"

#include <gtest/gtest.h>

#include "systole/base/random.h"

namespace systole::cpu {
namespace {

struct Placed {
  Lifetime lifetime;
  ByteRange range;
};

// Tries one place after another.
int64_t lowest_free(const std::vector<Placed>& placed, const Lifetime& lifetime, int64_t bytes) {
  for (int64_t begin = 0;; ++begin) {
    if (std::ranges::none_of(placed, [&](const Placed& p) {
          return overlap(p.lifetime, lifetime) && p.range.begin < begin + bytes &&
                 begin < p.range.end;
        }))
      return begin;
  }
}

TEST(ArenaIndex, FindsWhatALoopFinds) {
  RandomStream random(5);
  const auto pick = [&](int end) {
    return static_cast<int>(random.next_below(static_cast<uint64_t>(end)));
  };
  for (const int last : {0, 1, 6, 63, 64, 200}) {
    ArenaIndex index(last);
    std::vector<Placed> placed;
    for (int i = 0; i < 100; ++i) {
      Lifetime lifetime;
      for (int k = pick(3); k >= 0; --k) {
        const int begin = pick(last + 1);
        add_interval(lifetime, {begin, begin + pick(last + 1 - begin)});
      }
      const int64_t bytes = 1 + pick(9);
      const int64_t begin = lowest_free(placed, lifetime, bytes);
      ASSERT_EQ(index.lowest_free(lifetime, bytes), begin) << last << ", " << i;
      placed.push_back({lifetime, {begin, begin + bytes}});
      index.add(lifetime, placed.back().range);
    }
  }
}

TEST(RangeSet, JoinsRangesThatTouch) {
  RangeSet set;
  for (const ByteRange range : {ByteRange{10, 20}, ByteRange{40, 50}, ByteRange{30, 35}})
    set.add(range);
  EXPECT_EQ(set.first_free(0, 10), 0);
  EXPECT_EQ(set.first_free(0, 11), 50);
  EXPECT_EQ(set.first_free(12, 5), 20);
  set.add({20, 30});
  EXPECT_EQ(set.first_free(10, 5), 35);
  set.add({0, 100});
  EXPECT_EQ(set.first_free(0, 1), 100);
}

// All of them live at the end, as the operands of one concatenation do. Half an hour with a look at
// each pair.
TEST(ArenaIndex, EndsWithManyThatLiveTogether) {
  constexpr int kMany = 100'000;
  ArenaIndex index(kMany);
  for (int i = 0; i < kMany; ++i) {
    const Lifetime lifetime = {{i, kMany}};
    ASSERT_EQ(index.lowest_free(lifetime, 8), 8 * i);
    index.add(lifetime, {8 * i, 8 * i + 8});
  }
}

}  // namespace
}  // namespace systole::cpu
