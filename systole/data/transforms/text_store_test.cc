#include "systole/data/transforms/text_store.h"

#include <gtest/gtest.h>

#include "systole/base/random.h"

namespace systole::data {
namespace {

// Texts of all lengths, some of them longer than any block.
std::string text_of_length(RandomStream& random) {
  constexpr size_t kLengths[] = {0, 1, 63, 64, 100, 5000, 70000};
  const size_t length = kLengths[random.next_below(std::size(kLengths))];
  return std::string(length, static_cast<char>('a' + random.next_below(26)));
}

TEST(TextStoreTest, IsAVectorOfStrings) {
  RandomStream random(7);
  TextStore store(8);  // it may be more
  std::vector<std::string> expected;
  for (int step = 0; step < 4000; ++step) {
    const size_t i = expected.empty() ? 0 : random.next_below(expected.size());
    std::string text = text_of_length(random);
    const uint64_t action = expected.empty() ? 0 : random.next_below(6);
    if (action == 0 && expected.size() < 50) {
      store.push_copy(text);
      expected.push_back(text);
    } else if (action == 1 && expected.size() < 50) {
      store.push(text);
      expected.push_back(text);
    } else if (action == 2) {
      store.set(i, text);
      expected[i] = text;
    } else if (action == 3) {
      std::string there = text;
      store.exchange(i, there);
      EXPECT_EQ(there, expected[i]);
      expected[i] = text;
    } else if (action == 4) {
      EXPECT_EQ(store.take(i), expected[i]);
      expected[i] = expected.back();
      expected.pop_back();
    } else if (action == 5) {
      store.drop(i);
      expected[i] = expected.back();
      expected.pop_back();
    }
    ASSERT_EQ(store.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) ASSERT_EQ(store.text(k), expected[k]);
    if (!expected.empty()) {
      store.touch(expected.size() - 1);
      store.touch_text(expected.size() - 1);
    }
  }
}

}  // namespace
}  // namespace systole::data
