#include "systole/backends/cpu/kernels/stream.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace systole::cpu {
namespace {

// Every place of both ends in a cache line, and nothing beside them.
TEST(Stream, CopiesWhatItIsToldTo) {
  std::vector<uint8_t> from(512);
  std::iota(from.begin(), from.end(), uint8_t{1});
  for (const int64_t bytes : {0, 1, 63, 64, 65, 127, 200, 300}) {
    for (size_t begin = 0; begin < 70; begin += 3) {
      std::vector<uint8_t> to(512, 0);
      stream(to.data() + begin, from.data() + 5, bytes);
      end_streams();
      std::vector<uint8_t> expected(512, 0);
      std::copy_n(from.begin() + 5, bytes, expected.begin() + static_cast<long>(begin));
      EXPECT_EQ(to, expected) << bytes << " bytes from " << begin;
    }
  }
}

}  // namespace
}  // namespace systole::cpu
