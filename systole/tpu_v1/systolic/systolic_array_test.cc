#include "systole/tpu_v1/systolic/systolic_array.h"

#include <gtest/gtest.h>

#include <random>

#include "systole/tpu_v1/machine/product.h"

namespace systole::tpu_v1 {
namespace {

// A wave through the array gives what the fast product gives, for several tiles in a row.
void compare_with_product(int size, int blocks, std::mt19937& random) {
  const auto n = static_cast<size_t>(size);
  std::vector<std::vector<int32_t>> weights;
  std::vector<std::vector<int32_t>> vectors;
  std::vector<SystolicBlock> feed;
  std::vector<int32_t> expected;
  for (int b = 0; b < blocks; ++b) {
    const size_t rows = 1 + random() % (5 * n);
    std::vector<uint8_t> weight_bytes(n * n);
    for (uint8_t& w : weight_bytes) w = static_cast<uint8_t>(random());
    const PackedTile tile(size, weight_bytes, false, false);
    std::vector<uint8_t> input(rows * static_cast<size_t>(tile.input_stride()));
    std::vector<int32_t> output(rows * static_cast<size_t>(tile.output_stride()));
    auto& w = weights.emplace_back();
    auto& v = vectors.emplace_back();
    for (const uint8_t byte : weight_bytes) w.push_back(static_cast<int8_t>(byte));
    for (size_t r = 0; r < rows; ++r) {
      for (size_t k = 0; k < n; ++k) {
        const auto byte = static_cast<uint8_t>(random());
        input[r * static_cast<size_t>(tile.input_stride()) + k] = byte ^ 0x80;
        v.push_back(static_cast<int8_t>(byte));
      }
    }
    multiply_rows(input.data(), static_cast<int64_t>(rows), true, tile, output.data());
    for (size_t r = 0; r < rows; ++r) {
      const int32_t* row = output.data() + r * static_cast<size_t>(tile.output_stride());
      expected.insert(expected.end(), row, row + n);
    }
  }
  for (size_t b = 0; b < weights.size(); ++b) feed.push_back({weights[b], vectors[b]});
  EXPECT_EQ(run_systolic(size, feed).results, expected) << size;
}

TEST(SystolicArray, EqualsTheFastProduct) {
  std::mt19937 random(4);
  for (const int size : {4, 5, 8, 16, 23, 32, 64}) {
    for (const int blocks : {1, 2, 5}) compare_with_product(size, blocks, random);
  }
}

TEST(SystolicArray, TakesTheCyclesOfTheFormula) {
  // size cycles to shift the weights in, a cycle a vector, 2 * size - 2 until the last sum has
  // left.
  for (const int size : {4, 16}) {
    for (const int rows : {1, 7, 40}) {
      const std::vector<int32_t> weights(static_cast<size_t>(size * size), 1);
      const std::vector<int32_t> vectors(static_cast<size_t>(rows * size), 2);
      const std::vector<SystolicBlock> blocks = {{weights, vectors}};
      EXPECT_EQ(run_systolic(size, blocks).cycles, size + rows + 2 * size - 2);
    }
  }
}

TEST(SystolicArray, HidesTheShiftOfTheNextTile) {
  const int size = 8;
  const int rows = 64;
  const std::vector<int32_t> weights(size * size, 1);
  const std::vector<int32_t> vectors(rows * size, 2);
  const std::vector<SystolicBlock> one = {{weights, vectors}};
  const std::vector<SystolicBlock> three = {
      {weights, vectors}, {weights, vectors}, {weights, vectors}};
  EXPECT_EQ(run_systolic(size, three).cycles, run_systolic(size, one).cycles + 2 * rows);
}

TEST(SystolicArray, WrapsSums) {
  const std::vector<int32_t> weights(16, 1 << 30);
  const std::vector<int32_t> vectors(4, 2);
  const std::vector<SystolicBlock> blocks = {{weights, vectors}};
  EXPECT_EQ(run_systolic(4, blocks).results, std::vector<int32_t>(4, 0));
}

}  // namespace
}  // namespace systole::tpu_v1
