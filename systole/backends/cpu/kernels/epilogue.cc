#include "systole/backends/cpu/kernels/epilogue.h"

#include <algorithm>
#include <array>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {

BoundEpilogue::BoundEpilogue(const Epilogue& steps, std::span<void* const> buffers)
    : steps_(steps), operands_{} {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].operand != EpilogueStep::Operand::scalar)
      operands_[i] = static_cast<const float*>(buffers[u(steps[i].buffer)]);
  }
  find_simple_form();
}

void BoundEpilogue::find_simple_form() {
  using Code = EpilogueStep::Code;
  using Operand = EpilogueStep::Operand;
  const auto is_limit = [](Code code) { return code == Code::maximum || code == Code::minimum; };
  size_t at = 0;
  while (at < steps_.size() && steps_[at].operand != Operand::elements &&
         !is_limit(steps_[at].code))
    ++at;
  simple_.affine = at;
  if (at < steps_.size() && steps_[at].operand == Operand::elements && steps_[at].code == Code::add)
    simple_.elements = operands_[at++];
  const auto take_limit = [&](Code code) {
    const bool found =
        at < steps_.size() && steps_[at].code == code && steps_[at].operand == Operand::scalar;
    return found ? &steps_[at++] : nullptr;
  };
  simple_.low = take_limit(Code::maximum);
  simple_.high = take_limit(Code::minimum);
  is_simple_ = at == steps_.size();
}

#if defined(__x86_64__)

namespace {

constexpr int kEpilogueLanes = 16;
constexpr int kRowsTogether = 8;  // rows that a step works on in registers

// Returns the maximum or minimum: NaN if one of them is, and -0 below +0.
template <bool kMaximum>
__attribute__((target("avx512f"))) inline __m512 extremum_of(__m512 x, __m512 y) {
  const __m512i bits_x = _mm512_castps_si512(x);
  const __m512i bits_y = _mm512_castps_si512(y);
  // (The second operand where one is a NaN, or both are equal.)
  const __m512 either = kMaximum ? _mm512_max_ps(y, x) : _mm512_min_ps(y, x);
  const __m512i signs =
      kMaximum ? _mm512_and_si512(bits_x, bits_y) : _mm512_or_si512(bits_x, bits_y);
  const __m512 of_numbers = _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ), either,
                                                 _mm512_castsi512_ps(signs));
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(y, y, _CMP_UNORD_Q), of_numbers, y);
}

// Returns the step applied to x, with y as its operand.
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
      return extremum_of<true>(x, y);
    default:
      return extremum_of<false>(x, y);
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
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) x[i] = apply_step<kCode>(x[i], y.fixed);
    return;
  }
#pragma GCC unroll 14
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

// One vector of columns of a block: where its rows are read and where they are written.
struct ColumnRows {
  const float* from;
  int64_t from_step;
  float* to;
  int64_t row_step;
  __mmask16 mask;

  template <int kRows>
  __attribute__((target("avx512f"))) void load(int64_t first, __m512* x) const {
    const float* const rows = from + first * from_step;
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) x[i] = _mm512_maskz_loadu_ps(mask, rows + i * from_step);
  }
  template <int kRows>
  __attribute__((target("avx512f"))) void store(int64_t first, const __m512* x) const {
    float* const rows = to + first * row_step;
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) _mm512_mask_storeu_ps(rows + i * row_step, mask, x[i]);
  }
};

// The steps for one vector of columns.
struct ColumnSteps {
  std::span<const EpilogueStep> steps;
  const __m512* fixed;           // of each step
  const float* const* elements;  // of each step that reads an array, at the first row
  ColumnRows rows;
};

template <int kRows>
__attribute__((target("avx512f"))) void complete_rows(const ColumnSteps& c, int64_t first) {
  const int64_t step = c.rows.row_step;
  __m512 x[kRows];
  c.rows.load<kRows>(first, x);
  for (size_t k = 0; k < c.steps.size(); ++k) {
    const float* const rows = c.elements[k] == nullptr ? nullptr : c.elements[k] + first * step;
    apply_code<kRows>(c.steps[k].code, x, {c.fixed[k], rows, step, c.rows.mask});
  }
  c.rows.store<kRows>(first, x);
}

// The steps of a simple epilogue for one vector of columns.
struct SimpleSteps {
  bool scales, shifts, limits_low, limits_high;
  __m512 scale, shift, low, high;
  const float* elements;  // at the first row; null: none
  ColumnRows rows;
};

template <int kRows>
__attribute__((target("avx512f"))) void complete_simple(const SimpleSteps& s, int64_t first) {
  const int64_t step = s.rows.row_step;
  const __mmask16 mask = s.rows.mask;
  __m512 x[kRows];
  s.rows.load<kRows>(first, x);
  if (s.scales) {
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) x[i] = _mm512_fmadd_ps(x[i], s.scale, s.shift);
  } else if (s.shifts) {
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) x[i] = _mm512_add_ps(x[i], s.shift);
  }
  if (s.elements != nullptr) {
    const StepOperand y{{}, s.elements + first * step, step, mask};
    apply_to_rows<EpilogueStep::Code::add, kRows>(x, y);
  }
  if (s.limits_low) apply_to_rows<EpilogueStep::Code::maximum, kRows>(x, {s.low, nullptr, 0, mask});
  if (s.limits_high)
    apply_to_rows<EpilogueStep::Code::minimum, kRows>(x, {s.high, nullptr, 0, mask});
  s.rows.store<kRows>(first, x);
}

using CompleteSimple = void (*)(const SimpleSteps&, int64_t);

template <int... kCounts>
constexpr std::array<CompleteSimple, sizeof...(kCounts)> simple_functions(
    std::integer_sequence<int, kCounts...>) {
  return {&complete_simple<kCounts + 1>...};
}

// Entry n - 1 is for n rows, which a product has at a time.
constexpr auto kCompleteSimple =
    simple_functions(std::make_integer_sequence<int, static_cast<int>(kPanelRows)>());

// The columns of a block from `at` on.
ColumnRows rows_of(const BoundEpilogue::Block& block, int64_t at) {
  const int64_t lanes = std::min<int64_t>(block.columns - at, kEpilogueLanes);
  const bool in_place = block.sums == nullptr;
  return {.from = (in_place ? block.elements : block.sums) + at,
          .from_step = in_place ? block.row_step : block.sums_step,
          .to = block.elements + at,
          .row_step = block.row_step,
          .mask = static_cast<__mmask16>((1U << lanes) - 1)};
}

}  // namespace

__attribute__((target("prfchw"))) void BoundEpilogue::prefetch(const Block& block) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].operand != EpilogueStep::Operand::elements) continue;
    const float* row = operands_[i] + block.offset;
    for (int64_t r = 0; r < block.rows; ++r, row += block.row_step) {
      for (int64_t at = 0; at < block.columns; at += kEpilogueLanes)
        _mm_prefetch(reinterpret_cast<const char*>(row + at), _MM_HINT_T1);
    }
  }
  float* row = block.elements;
  for (int64_t r = 0; r < block.rows; ++r, row += block.row_step) {
    for (int64_t at = 0; at < block.columns; at += kEpilogueLanes) __builtin_prefetch(row + at, 1);
  }
}

void BoundEpilogue::apply(const Block& block) const {
  is_simple_ ? apply_simple(block) : apply_steps(block);
}

__attribute__((target("avx512f"))) void BoundEpilogue::apply_simple(const Block& block) const {
  using Code = EpilogueStep::Code;
  for (int64_t at = 0; at < block.columns; at += kEpilogueLanes) {
    SimpleSteps s{.scales = false,
                  .shifts = simple_.affine > 0,
                  .limits_low = simple_.low != nullptr,
                  .limits_high = simple_.high != nullptr,
                  .scale = _mm512_set1_ps(1),
                  .shift = _mm512_setzero_ps(),
                  .low = _mm512_set1_ps(simple_.low == nullptr ? 0 : simple_.low->scalar),
                  .high = _mm512_set1_ps(simple_.high == nullptr ? 0 : simple_.high->scalar),
                  .elements = nullptr,
                  .rows = rows_of(block, at)};
    if (simple_.elements != nullptr) s.elements = simple_.elements + block.offset + at;
    for (size_t i = 0; i < simple_.affine; ++i) {
      const __m512 y = steps_[i].operand == EpilogueStep::Operand::scalar
                           ? _mm512_set1_ps(steps_[i].scalar)
                           : _mm512_maskz_loadu_ps(s.rows.mask, operands_[i] + block.column + at);
      if (steps_[i].code == Code::multiply) {
        s.scale = _mm512_mul_ps(s.scale, y);
        s.shift = _mm512_mul_ps(s.shift, y);
        s.scales = true;
      } else if (steps_[i].code == Code::subtract_from) {
        s.scale = _mm512_sub_ps(_mm512_setzero_ps(), s.scale);
        s.shift = _mm512_sub_ps(y, s.shift);
        s.scales = true;
      } else {
        s.shift =
            steps_[i].code == Code::add ? _mm512_add_ps(s.shift, y) : _mm512_sub_ps(s.shift, y);
      }
    }
    int64_t row = 0;
    for (; row + kPanelRows <= block.rows; row += kPanelRows)
      complete_simple<static_cast<int>(kPanelRows)>(s, row);
    if (row < block.rows) kCompleteSimple[u(block.rows - row - 1)](s, row);
  }
}

__attribute__((target("avx512f"))) void BoundEpilogue::apply_steps(const Block& block) const {
  using Operand = EpilogueStep::Operand;
  for (int64_t at = 0; at < block.columns; at += kEpilogueLanes) {
    const ColumnRows rows = rows_of(block, at);
    __m512 fixed[kMaxEpilogueSteps];  // scalars, and the columns' numbers
    const float* elements[kMaxEpilogueSteps];
    for (size_t i = 0; i < steps_.size(); ++i) {
      const EpilogueStep& step = steps_[i];
      elements[i] = step.operand == Operand::elements ? operands_[i] + block.offset + at : nullptr;
      fixed[i] = step.operand == Operand::columns
                     ? _mm512_maskz_loadu_ps(rows.mask, operands_[i] + block.column + at)
                     : _mm512_set1_ps(step.scalar);
    }
    const ColumnSteps c{steps_, fixed, elements, rows};
    int64_t row = 0;
    for (; row + kRowsTogether <= block.rows; row += kRowsTogether)
      complete_rows<kRowsTogether>(c, row);
    for (; row + 2 <= block.rows; row += 2) complete_rows<2>(c, row);
    if (row < block.rows) complete_rows<1>(c, row);
  }
}

#else

void BoundEpilogue::prefetch(const Block&) const {}
void BoundEpilogue::apply(const Block&) const {}

#endif

}  // namespace systole::cpu
