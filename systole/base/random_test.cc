#include "systole/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace systole {
namespace {

using Words2 = std::array<uint32_t, 2>;
using Words4 = std::array<uint32_t, 4>;

// Known answers: Random123's kat_vectors.
TEST(ThreefryTest, KnownAnswers) {
  EXPECT_EQ(threefry2x32({0, 0}, {0, 0}), (Words2{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(threefry2x32({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words2{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(threefry2x32({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}),
            (Words2{0xc4923a9c, 0x483df7a0}));
}

TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0}, {0, 0, 0, 0}),
            (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStreamTest, WordsAreThoseOfPhilox) {
  RandomStream stream(0x299f31d0a4093822, 0x0370734413198a2e);
  for (uint32_t block = 0; block < 3; ++block) {
    const Words4 expected =
        philox4x32({0xa4093822, 0x299f31d0}, {block, 0, 0x13198a2e, 0x03707344});
    for (const uint32_t word : expected) EXPECT_EQ(stream.next_u32(), word);
  }
}

TEST(RandomStreamTest, SeekGoesAnywhere) {
  RandomStream stream(42);
  std::array<uint32_t, 20> words{};
  for (uint32_t& word : words) word = stream.next_u32();
  EXPECT_EQ(stream.position(), 20U);
  for (uint64_t i = 20; i-- > 0;) {
    stream.seek(i);
    EXPECT_EQ(stream.next_u32(), words[i]) << i;
  }
  stream.seek(3);
  EXPECT_EQ(stream.next_u64(), words[3] | (uint64_t{words[4]} << 32));
}

TEST(RandomStreamTest, SeedsAndStreamsDiffer) {
  std::set<uint64_t> firsts;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t stream = 0; stream < 10; ++stream) {
      firsts.insert(RandomStream(seed, stream).next_u64());
    }
  }
  EXPECT_EQ(firsts.size(), 100U);
}

TEST(RandomStreamTest, BelowIsUniform) {
  RandomStream stream(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(stream.next_below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
  EXPECT_EQ(stream.next_below(1), 0U);
  const uint64_t bound = (uint64_t{1} << 63) + 1;  // rejects nearly half
  for (int i = 0; i < 100; ++i) EXPECT_LT(stream.next_below(bound), bound);
}

TEST(RandomStreamTest, UniformAndNormalHaveTheirMoments) {
  RandomStream stream(7);
  constexpr int kCount = 100000;
  double uniform = 0;
  double normal = 0;
  double squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = stream.next_uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    uniform += u;
    const double z = stream.next_normal();
    ASSERT_TRUE(std::isfinite(z));
    normal += z;
    squares += z * z;
  }
  EXPECT_NEAR(uniform / kCount, 0.5, 0.005);
  EXPECT_NEAR(normal / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.03);
}

}  // namespace
}  // namespace systole
