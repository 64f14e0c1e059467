// The product of rows of bytes and a weight tile, exact in 32 bits: what the systolic array
// computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace systole::tpu_v1 {

// A square weight tile, packed for multiply_rows(). Column c is unsigned where `unsigned_columns`
// says so. Rows and columns of zeros at the end are left out.
class PackedTile {
 public:
  // `weights` has size * size bytes, row-major: row k holds the weights of input k. With 16-bit
  // weights (`pairs`) column 2j holds the low bytes (unsigned), column 2j + 1 the high bytes of the
  // weights of output j.
  PackedTile(int size, std::span<const uint8_t> weights, bool unsigned_weights, bool pairs);

  // The inputs that have weights.
  int64_t inputs() const { return inputs_; }
  // Bytes between rows of multiply_rows()'s input: inputs(), rounded up to 4.
  int64_t input_stride() const { return 4 * quads_; }
  // Elements between rows of its output. Columns from there on have only zeros.
  int64_t output_stride() const { return columns_; }

 private:
  friend class RowMultiplier;
  int64_t inputs_;
  int64_t quads_;                  // groups of four inputs
  int64_t columns_;                // rounded up to 64
  std::vector<int8_t> packed_;     // [quads][columns][4], unsigned weights less 128
  std::vector<int32_t> sums_;      // of packed columns
  std::vector<int32_t> unsigned_;  // 128 for an unsigned column, else 0
};

// Multiplies rows with a tile on the calling thread. Borrows the tile.
class RowMultiplier {
 public:
  RowMultiplier(const PackedTile& tile, bool input_is_signed);
  // As multiply_rows().
  void run(const uint8_t* input, int64_t rows, int32_t* output) const;

 private:
  const PackedTile& tile_;
  std::vector<int32_t> constant_;  // added to columns
  bool any_unsigned_ = false;
};

// Computes output[r][c] = sum over k of input[r][k] * weight[k][c]. Signed input is given with its
// top bit flipped (x + 128); bytes from inputs() on are ignored. Uses all cores.
void multiply_rows(const uint8_t* input, int64_t rows, bool input_is_signed, const PackedTile& tile,
                   int32_t* output);

}  // namespace systole::tpu_v1
