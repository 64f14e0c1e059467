#include "systole/tpu_v1/machine/product.h"

#include <gtest/gtest.h>

#include <random>

namespace systole::tpu_v1 {
namespace {

struct ProductCase {
  int size;
  int rows;
  bool input_is_signed;
  bool unsigned_weights;
  bool pairs;
};

void check_product(const ProductCase& c, std::mt19937& random) {
  std::vector<uint8_t> weights(static_cast<size_t>(c.size * c.size));
  for (uint8_t& w : weights) w = static_cast<uint8_t>(random());
  const PackedTile tile(c.size, weights, c.unsigned_weights, c.pairs);
  std::vector<uint8_t> input(static_cast<size_t>(c.rows * tile.input_stride()));
  for (uint8_t& x : input) x = static_cast<uint8_t>(random());
  std::vector<int32_t> output(static_cast<size_t>(c.rows * tile.output_stride()));
  multiply_rows(input.data(), c.rows, c.input_is_signed, tile, output.data());
  for (int r = 0; r < c.rows; ++r) {
    for (int column = 0; column < c.size; ++column) {
      int64_t sum = 0;
      for (int k = 0; k < c.size; ++k) {
        const int x = input[r * tile.input_stride() + k];
        const uint8_t byte = weights[static_cast<size_t>(k) * static_cast<size_t>(c.size) +
                                     static_cast<size_t>(column)];
        const bool is_unsigned = c.unsigned_weights || (c.pairs && column % 2 == 0);
        const int w = is_unsigned ? int{byte} : int{static_cast<int8_t>(byte)};
        sum += (c.input_is_signed ? x - 128 : x) * w;
      }
      ASSERT_EQ(output[r * tile.output_stride() + column], sum)
          << c.size << " " << r << " " << column;
    }
  }
}

TEST(Product, EqualsSumsForEverySignAndSize) {
  std::mt19937 random(3);
  for (const int size : {4, 5, 8, 30, 64, 70, 256, 512}) {
    for (const int rows : {1, 3, 4, 37}) {
      for (int bits = 0; bits < 8; ++bits) {
        check_product({size, rows, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}, random);
      }
    }
  }
}

}  // namespace
}  // namespace systole::tpu_v1
