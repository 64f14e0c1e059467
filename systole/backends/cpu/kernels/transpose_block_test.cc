#include "systole/backends/cpu/kernels/transpose_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/stream.h"

namespace systole::cpu {
namespace {

constexpr uint8_t kUntouched = 0xee;

// Bytes from the start of a line of memory on.
class Lines {
 public:
  explicit Lines(int64_t bytes) : memory_(u(bytes + kLineBytes), kUntouched) {
    const auto past = reinterpret_cast<uintptr_t>(memory_.data()) % kLineBytes;
    first_ = memory_.data() + (past == 0 ? 0 : u(kLineBytes) - past);
  }
  uint8_t* data() { return first_; }

 private:
  std::vector<uint8_t> memory_;
  uint8_t* first_;
};

struct BlockCase {
  int64_t element_bytes;
  int64_t rows, columns;
  int64_t from_step, to_step;
  bool streamed;
};

// Transposes, and expects every byte of the result, and of what lies between its rows.
void expect_transposed(const BlockCase& x) {
  const int64_t from_bytes = x.rows * x.from_step * x.element_bytes;
  const int64_t to_bytes = x.columns * x.to_step * x.element_bytes;
  Lines from(from_bytes);
  for (int64_t i = 0; i < from_bytes; ++i) from.data()[i] = static_cast<uint8_t>(i * 37 + i / 251);
  Lines to(to_bytes);
  std::vector<uint8_t> expected(u(to_bytes), kUntouched);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) {
      std::copy_n(from.data() + (i * x.from_step + j) * x.element_bytes, x.element_bytes,
                  expected.data() + (j * x.to_step + i) * x.element_bytes);
    }
  }
  transpose_block({.from = from.data(),
                   .from_step = x.from_step,
                   .rows = x.rows,
                   .columns = x.columns,
                   .to = to.data(),
                   .to_step = x.to_step},
                  x.element_bytes, x.streamed);
  end_streams();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.data()))
      << x.element_bytes << " bytes, " << x.rows << " x " << x.columns << ", steps " << x.from_step
      << " and " << x.to_step << (x.streamed ? ", streamed" : "");
}

// Sizes around those of a piece and of a line, for every size of elements.
TEST(TransposeBlock, BlocksOfEverySize) {
  for (const int64_t bytes : {1, 2, 4, 8, 16}) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 8, 15, 16, 17, 33, 64, 70, 130}) {
      for (const int64_t columns : {1, 2, 3, 4, 7, 8, 16, 19, 64, 67, 150}) {
        expect_transposed({bytes, rows, columns, columns, rows, false});
        expect_transposed({bytes, rows, columns, columns + 5, rows + 3, false});
      }
    }
  }
}

// Rows that start at the same places of a cache, and lines of the result that are whole.
TEST(TransposeBlock, RowsThatLieAPageApart) {
  for (const int64_t bytes : {1, 2, 4, 8, 16}) {
    for (const bool streamed : {false, true}) {
      expect_transposed({bytes, 130, 70, 4096 / bytes, 192, streamed});
      expect_transposed({bytes, 128, 64, 1024 / bytes, 128, streamed});
      expect_transposed({bytes, 128, 67, 64, 131, streamed});
    }
  }
}

}  // namespace
}  // namespace systole::cpu
