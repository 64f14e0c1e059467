#include "systole/tpu_v1/machine/product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "systole/base/thread_pool.h"

namespace systole::tpu_v1 {
namespace {

constexpr int64_t kBlockColumns = 64;
constexpr int64_t kBlockRows = 4;

// The operands of a block: `rows` rows of unsigned bytes against 64 columns from `packed`.
struct ProductBlock {
  const uint8_t* input;
  int64_t rows;
  int64_t quads;
  const int8_t* packed;
  int64_t columns;
  int32_t* output;
};

void plain_block(const ProductBlock& block) {
  const int64_t stride = 4 * block.quads;
  for (int64_t r = 0; r < block.rows; ++r) {
    int32_t sums[kBlockColumns] = {};
    for (int64_t q = 0; q < block.quads; ++q) {
      const uint8_t* x = block.input + r * stride + 4 * q;
      const int8_t* w = block.packed + 4 * q * block.columns;
      for (int64_t c = 0; c < kBlockColumns; ++c) {
        sums[c] +=
            x[0] * w[4 * c] + x[1] * w[4 * c + 1] + x[2] * w[4 * c + 2] + x[3] * w[4 * c + 3];
      }
    }
    std::memcpy(block.output + r * block.columns, sums, sizeof(sums));
  }
}

#if defined(__x86_64__)
// Four rows at a time: 16 sums stay in registers. vpdpbusd adds without saturation.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void vnni_block(
    const ProductBlock& block) {
  const int64_t stride = 4 * block.quads;
  for (int64_t r = 0; r < block.rows; r += kBlockRows) {
    const int64_t count = block.rows - r < kBlockRows ? block.rows - r : kBlockRows;
    const uint8_t* x[kBlockRows];
    for (int64_t i = 0; i < kBlockRows; ++i)
      x[i] = block.input + (r + (i < count ? i : 0)) * stride;
    __m512i sums[kBlockRows][4];
    for (auto& row : sums) {
      for (__m512i& sum : row) sum = _mm512_setzero_si512();
    }
    for (int64_t q = 0; q < block.quads; ++q) {
      const int8_t* w = block.packed + 4 * q * block.columns;
      const __m512i w0 = _mm512_loadu_si512(w);
      const __m512i w1 = _mm512_loadu_si512(w + 64);
      const __m512i w2 = _mm512_loadu_si512(w + 128);
      const __m512i w3 = _mm512_loadu_si512(w + 192);
      for (int64_t i = 0; i < kBlockRows; ++i) {
        int32_t four = 0;
        std::memcpy(&four, x[i] + 4 * q, 4);
        const __m512i a = _mm512_set1_epi32(four);
        sums[i][0] = _mm512_dpbusd_epi32(sums[i][0], a, w0);
        sums[i][1] = _mm512_dpbusd_epi32(sums[i][1], a, w1);
        sums[i][2] = _mm512_dpbusd_epi32(sums[i][2], a, w2);
        sums[i][3] = _mm512_dpbusd_epi32(sums[i][3], a, w3);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      int32_t* out = block.output + (r + i) * block.columns;
      for (int64_t v = 0; v < 4; ++v) _mm512_storeu_si512(out + 16 * v, sums[i][v]);
    }
  }
}
#endif

using BlockFunction = void (*)(const ProductBlock&);

BlockFunction block_function() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw")) return vnni_block;
#endif
  return plain_block;
}

}  // namespace

PackedTile::PackedTile(int size, std::span<const uint8_t> weights, bool unsigned_weights,
                       bool pairs)
    : inputs_(1), quads_(0), columns_(1) {
  for (int64_t k = 0; k < size; ++k) {
    for (int64_t c = 0; c < size; ++c) {
      if (weights[k * size + c] == 0) continue;
      inputs_ = k + 1;
      columns_ = std::max(columns_, c + 1);
    }
  }
  const int64_t used = columns_;
  quads_ = (inputs_ + 3) / 4;
  columns_ = (columns_ + kBlockColumns - 1) / kBlockColumns * kBlockColumns;
  packed_.resize(static_cast<size_t>(4 * quads_ * columns_));
  sums_.resize(static_cast<size_t>(columns_));
  unsigned_.resize(static_cast<size_t>(columns_));
  for (int64_t c = 0; c < used; ++c) {
    if (unsigned_weights || (pairs && c % 2 == 0)) unsigned_[c] = 128;
  }
  for (int64_t k = 0; k < inputs_; ++k) {
    int8_t* out = packed_.data() + k / 4 * columns_ * 4 + k % 4;
    const uint8_t* in = weights.data() + k * size;
    for (int64_t c = 0; c < used; ++c) {
      const auto value = static_cast<int8_t>(in[c] ^ unsigned_[c]);
      out[4 * c] = value;
      sums_[c] += value;
    }
  }
}

// (x - a)(w + b) = xw - aw + bx - ab, summed over k, with a = 128 for signed input and b = 128 for
// unsigned weights.
RowMultiplier::RowMultiplier(const PackedTile& tile, bool input_is_signed)
    : tile_(tile), constant_(static_cast<size_t>(tile.columns_)) {
  const int32_t a = input_is_signed ? 128 : 0;
  for (size_t c = 0; c < constant_.size(); ++c) {
    constant_[c] = -a * (tile.sums_[c] + tile.unsigned_[c] * static_cast<int32_t>(tile.inputs_));
    any_unsigned_ |= tile.unsigned_[c] != 0;
  }
}

void RowMultiplier::run(const uint8_t* input, int64_t rows, int32_t* output) const {
  static const BlockFunction compute = block_function();
  const int64_t stride = tile_.input_stride();
  for (int64_t c = 0; c < tile_.columns_; c += kBlockColumns) {
    compute({.input = input,
             .rows = rows,
             .quads = tile_.quads_,
             .packed = tile_.packed_.data() + 4 * c,
             .columns = tile_.columns_,
             .output = output + c});
  }
  for (int64_t r = 0; r < rows; ++r) {
    int32_t sum = 0;
    if (any_unsigned_) {
      for (int64_t k = 0; k < tile_.inputs_; ++k) sum += input[r * stride + k];
    }
    int32_t* out = output + r * tile_.columns_;
    for (size_t c = 0; c < constant_.size(); ++c) out[c] += constant_[c] + tile_.unsigned_[c] * sum;
  }
}

void multiply_rows(const uint8_t* input, int64_t rows, bool input_is_signed, const PackedTile& tile,
                   int32_t* output) {
  const RowMultiplier multiplier(tile, input_is_signed);
  ThreadPool::global().parallel_for(rows, 32, [&](int64_t begin, int64_t end) {
    multiplier.run(input + begin * tile.input_stride(), end - begin,
                   output + begin * tile.output_stride());
  });
}

}  // namespace systole::tpu_v1
