#include "systole/backends/cpu/kernels/few_rows_dot.h"

#include <algorithm>
#include <array>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/scratch_cache.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

constexpr int kFewRowsLanes = 16;
constexpr int kTogether = 4;  // rows of the matrix

// Some rows of the matrix, and sums of their products.
struct MatrixPiece {
  const float* lhs;
  int64_t lhs_row, lhs_column;
  const float* rhs;
  int64_t rhs_row;
  int64_t depth, columns;
  float* sums;  // [rows, columns]
};

#if defined(__x86_64__)

// Adds the products of kTogether rows of the matrix, or of one, from row k on.
template <int kRows, int kDepth>
__attribute__((target("avx512f"))) inline void add_rows(const MatrixPiece& p, int64_t k) {
  __m512 lhs[kRows][kDepth];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int d = 0; d < kDepth; ++d)
      lhs[i][d] = _mm512_set1_ps(p.lhs[i * p.lhs_row + (k + d) * p.lhs_column]);
  }
  const float* const rhs = p.rhs + k * p.rhs_row;
  for (int64_t at = 0; at < p.columns; at += kFewRowsLanes) {
    const int64_t left = std::min<int64_t>(p.columns - at, kFewRowsLanes);
    const auto mask = static_cast<__mmask16>((1U << left) - 1);
    __m512 matrix[kDepth];
#pragma GCC unroll 4
    for (int d = 0; d < kDepth; ++d)
      matrix[d] = _mm512_maskz_loadu_ps(mask, rhs + d * p.rhs_row + at);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      float* const to = p.sums + i * p.columns + at;
      __m512 sum = _mm512_maskz_loadu_ps(mask, to);
#pragma GCC unroll 4
      for (int d = 0; d < kDepth; ++d) sum = _mm512_fmadd_ps(lhs[i][d], matrix[d], sum);
      _mm512_mask_storeu_ps(to, mask, sum);
    }
  }
}

template <int kRows>
__attribute__((target("avx512f"))) void multiply_piece(const MatrixPiece& p) {
  std::fill_n(p.sums, kRows * p.columns, 0.0F);
  int64_t k = 0;
  for (; k + kTogether <= p.depth; k += kTogether) add_rows<kRows, kTogether>(p, k);
  for (; k < p.depth; ++k) add_rows<kRows, 1>(p, k);
}

#else

template <int kRows>
void multiply_piece(const MatrixPiece&) {}

#endif

template <int... kCounts>
constexpr std::array<void (*)(const MatrixPiece&), sizeof...(kCounts)> pieces_of(
    std::integer_sequence<int, kCounts...>) {
  return {&multiply_piece<kCounts + 1>...};
}

// Entry n - 1 is for n rows of the left operand.
constexpr auto kMultiplyPiece =
    pieces_of(std::make_integer_sequence<int, static_cast<int>(kMaxFewRows)>());

class FewRowsKernel : public Kernel {
 public:
  explicit FewRowsKernel(const FewRowsDot& dot) : dot_(dot) {
    constexpr int64_t kPieceElements = 64 * 1024;
    constexpr int64_t kMaxPieces = 32;
    pieces_ = std::clamp<int64_t>(dot.depth * dot.columns / kPieceElements, 1, kMaxPieces);
    depth_ = (dot.depth + pieces_ - 1) / pieces_;
    pieces_ = (dot.depth + depth_ - 1) / depth_;
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const auto* const lhs = static_cast<const float*>(buffers[0]);
    const auto* const rhs = static_cast<const float*>(buffers[1]);
    auto memory = scratch_.take(pieces_ * sums());
    float* const all_sums = memory->data<float>().data();
    run_in_parallel(context, pieces_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t first = piece * depth_;
        kMultiplyPiece[u(dot_.rows - 1)]({.lhs = lhs + first * dot_.lhs_column,
                                          .lhs_row = dot_.lhs_row,
                                          .lhs_column = dot_.lhs_column,
                                          .rhs = rhs + first * dot_.rhs_row,
                                          .rhs_row = dot_.rhs_row,
                                          .depth = std::min(depth_, dot_.depth - first),
                                          .columns = dot_.columns,
                                          .sums = all_sums + piece * sums()});
      }
    });
    for (int64_t row = 0; row < dot_.rows; ++row)
      add_up(all_sums + row * dot_.columns,
             static_cast<float*>(buffers[2]) + row * dot_.result_row);
    scratch_.give_back(std::move(memory));
  }

 private:
  int64_t sums() const { return dot_.rows * dot_.columns; }  // of a piece

  void add_up(const float* first, float* result) const {
    std::copy_n(first, dot_.columns, result);
    for (int64_t piece = 1; piece < pieces_; ++piece) {
      const float* const more = first + piece * sums();
      for (int64_t i = 0; i < dot_.columns; ++i) result[i] += more[i];
    }
  }

  FewRowsDot dot_;
  int64_t pieces_;
  int64_t depth_;  // of a piece
  mutable ScratchCache scratch_;
};

}  // namespace

std::unique_ptr<Kernel> make_few_rows_kernel(const FewRowsDot& dot) {
  if (!host_has_avx512() || dot.rows > kMaxFewRows) return nullptr;
  return std::make_unique<FewRowsKernel>(dot);
}

}  // namespace systole::cpu
