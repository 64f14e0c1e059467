#include "systole/backends/cpu/kernels/epilogue.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {

BoundEpilogue::BoundEpilogue(const Epilogue& steps, std::span<void* const> buffers)
    : steps_(steps), operands_{} {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].operand != EpilogueStep::Operand::scalar)
      operands_[i] = static_cast<const float*>(buffers[u(steps[i].buffer)]);
  }
}

#if defined(__x86_64__)

namespace {

constexpr int kEpilogueLanes = 16;
constexpr int kRowsTogether = 8;  // rows that a step works on in registers

// Returns the step applied to x, with y as its operand. A maximum or minimum of a NaN is NaN; the
// maximum of -0 and +0 is +0.
template <EpilogueStep::Code kCode>
__attribute__((target("avx512f"))) inline __m512 apply_step(__m512 x, __m512 y) {
  using Code = EpilogueStep::Code;
  switch (kCode) {
    case Code::add:
      return _mm512_add_ps(x, y);
    case Code::subtract:
      return _mm512_sub_ps(x, y);
    case Code::subtract_from:
      return _mm512_sub_ps(y, x);
    case Code::multiply:
      return _mm512_mul_ps(x, y);
    case Code::maximum:
      return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_NLE_UQ), y, x);
    default:
      return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_NGE_UQ), y, x);
  }
}

// The other operand of a step for some rows: one vector for all, or one a row.
struct StepOperand {
  __m512 fixed;
  const float* rows;  // null: fixed
  int64_t row_step;
  __mmask16 mask;
};

template <EpilogueStep::Code kCode, int kRows>
__attribute__((target("avx512f"))) inline void apply_to_rows(__m512* x, const StepOperand& y) {
  if (y.rows == nullptr) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) x[i] = apply_step<kCode>(x[i], y.fixed);
    return;
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
    x[i] = apply_step<kCode>(x[i], _mm512_maskz_loadu_ps(y.mask, y.rows + i * y.row_step));
}

template <int kRows>
__attribute__((target("avx512f"))) inline void apply_code(EpilogueStep::Code code, __m512* x,
                                                          const StepOperand& y) {
  using Code = EpilogueStep::Code;
  switch (code) {
    case Code::add:
      return apply_to_rows<Code::add, kRows>(x, y);
    case Code::subtract:
      return apply_to_rows<Code::subtract, kRows>(x, y);
    case Code::subtract_from:
      return apply_to_rows<Code::subtract_from, kRows>(x, y);
    case Code::multiply:
      return apply_to_rows<Code::multiply, kRows>(x, y);
    case Code::maximum:
      return apply_to_rows<Code::maximum, kRows>(x, y);
    case Code::minimum:
      return apply_to_rows<Code::minimum, kRows>(x, y);
  }
}

// The steps for one vector of columns.
struct ColumnSteps {
  std::span<const EpilogueStep> steps;
  const __m512* fixed;           // of each step
  const float* const* elements;  // of each step that reads an array, at the first row
  float* to;
  int64_t row_step;
  __mmask16 mask;
};

template <int kRows>
__attribute__((target("avx512f"))) void complete_rows(const ColumnSteps& c, int64_t first) {
  float* const to = c.to + first * c.row_step;
  __m512 x[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) x[i] = _mm512_maskz_loadu_ps(c.mask, to + i * c.row_step);
  for (size_t k = 0; k < c.steps.size(); ++k) {
    const float* const rows =
        c.elements[k] == nullptr ? nullptr : c.elements[k] + first * c.row_step;
    apply_code<kRows>(c.steps[k].code, x, {c.fixed[k], rows, c.row_step, c.mask});
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) _mm512_mask_storeu_ps(to + i * c.row_step, c.mask, x[i]);
}

}  // namespace

__attribute__((target("avx512f"))) void BoundEpilogue::apply(const Block& block) const {
  using Operand = EpilogueStep::Operand;
  for (int64_t at = 0; at < block.columns; at += kEpilogueLanes) {
    const int64_t left = std::min<int64_t>(block.columns - at, kEpilogueLanes);
    const auto mask = static_cast<__mmask16>((1U << left) - 1);
    __m512 fixed[kMaxEpilogueSteps];  // scalars, and the columns' numbers
    const float* elements[kMaxEpilogueSteps];
    for (size_t i = 0; i < steps_.size(); ++i) {
      const EpilogueStep& step = steps_[i];
      elements[i] = step.operand == Operand::elements ? operands_[i] + block.offset + at : nullptr;
      fixed[i] = step.operand == Operand::columns
                     ? _mm512_maskz_loadu_ps(mask, operands_[i] + block.column + at)
                     : _mm512_set1_ps(step.scalar);
    }
    const ColumnSteps c{steps_, fixed, elements, block.elements + at, block.row_step, mask};
    int64_t row = 0;
    for (; row + kRowsTogether <= block.rows; row += kRowsTogether)
      complete_rows<kRowsTogether>(c, row);
    for (; row + 2 <= block.rows; row += 2) complete_rows<2>(c, row);
    if (row < block.rows) complete_rows<1>(c, row);
  }
}

#else

void BoundEpilogue::apply(const Block&) const {}

#endif

}  // namespace systole::cpu
