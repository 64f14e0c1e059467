#include "systole/backends/cpu/analysis/interval_index.h"

#include <gtest/gtest.h>

#include "systole/base/random.h"

namespace systole::cpu {
namespace {

TEST(IntervalIndex, FindsWhatALoopFinds) {
  RandomStream random(5);
  const auto pick = [&](int end) {
    return static_cast<int>(random.next_below(static_cast<uint64_t>(end)));
  };
  for (const int last : {0, 1, 6, 63, 64, 200}) {
    IntervalIndex<int> index(last);
    std::vector<Lifetime> all;
    for (int i = 0; i < 100; ++i) {
      Lifetime lifetime;
      for (int k = pick(3); k >= 0; --k) {
        const int begin = pick(last + 1);
        add_interval(lifetime, {begin, begin + pick(last + 1 - begin)});
      }
      std::vector<int> want;
      for (int other = 0; other < i; ++other) {
        if (overlap(lifetime, all[static_cast<size_t>(other)])) want.push_back(other);
      }
      EXPECT_EQ(index.overlapping(lifetime), want) << last;
      index.add(lifetime, i);
      all.push_back(lifetime);
    }
  }
}

}  // namespace
}  // namespace systole::cpu
