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

// Runs of whole lines and of parts of lines, to lines and between them.
TEST(Stream, CopiesRuns) {
  std::vector<uint8_t> from(20000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 31 + i / 253);
  for (const bool streamed : {false, true}) {
    for (const int64_t bytes : {1, 12, 63, 64, 80, 128, 300, 2049}) {
      for (const int64_t to_step : {bytes, bytes + 5, (bytes + 63) / 64 * 64}) {
        const int64_t from_step = bytes + 3;
        constexpr int64_t kRuns = 7;
        std::vector<uint8_t> memory(kRuns * 2200 + 64, 0);
        const auto past = reinterpret_cast<uintptr_t>(memory.data()) % 64;
        const size_t first = past == 0 ? 0 : 64 - past;
        copy_runs({.from = from.data(),
                   .from_step = from_step,
                   .to = memory.data() + first,
                   .to_step = to_step,
                   .bytes = bytes,
                   .count = kRuns},
                  streamed);
        end_streams();
        std::vector<uint8_t> expected(memory.size(), 0);
        for (int64_t i = 0; i < kRuns; ++i) {
          std::copy_n(from.begin() + i * from_step, bytes,
                      expected.begin() + static_cast<long>(first) + i * to_step);
        }
        EXPECT_EQ(memory, expected) << bytes << " bytes, " << to_step << " apart";
      }
    }
  }
}

}  // namespace
}  // namespace systole::cpu
