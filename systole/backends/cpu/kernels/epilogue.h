// What follows a product: a bias, a normalisation with known statistics, the sum with a residual, a
// limit. Kernels apply it to their results while those are in a cache.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace systole::cpu {

// One elementwise operation on all elements of a result, all f32.
struct EpilogueStep {
  enum class Code : uint8_t { add, subtract, subtract_from, multiply, maximum, minimum };
  // The other operand: a number; one number for each column, the last axis; an array as the result.
  enum class Operand : uint8_t { scalar, columns, elements };
  Code code;
  Operand operand;
  float scalar = 0;
  int buffer = 0;  // of the kernel, for columns and elements
};

// In order. At most kMaxEpilogueSteps.
using Epilogue = std::vector<EpilogueStep>;
inline constexpr size_t kMaxEpilogueSteps = 8;

// The steps with the addresses of a run. Neighbouring steps that add to, subtract from or multiply
// by numbers of the columns are one multiplication and addition.
class BoundEpilogue {
 public:
  BoundEpilogue(const Epilogue& steps, std::span<void* const> buffers);

  bool empty() const { return steps_.empty(); }
  // A part of the result: rows of side by side elements, `row_step` elements apart, which begin
  // with column `column` of the result at `offset` elements from its start.
  struct Block {
    float* elements;
    int64_t rows, columns, row_step;
    int64_t column, offset;
    const float* sums = nullptr;  // what the steps begin with, sums_step apart; null: the elements
    int64_t sums_step = 0;
  };
  // Applies all steps. REQUIRES: host_has_avx512() (panel_product.h).
  void apply(const Block& block) const;
  // Begins to fetch what apply() will read and write, but for the sums.
  void prefetch(const Block& block) const;

 private:
  // What most epilogues are: x * scale + shift, the sum with an array, limits, in this order. Steps
  // [0, affine) are the scale and shift.
  struct Simple {
    size_t affine = 0;
    const float* elements = nullptr;
    const EpilogueStep* low = nullptr;
    const EpilogueStep* high = nullptr;
  };
  void find_simple_form();
  void apply_simple(const Block& block) const;
  void apply_steps(const Block& block) const;

  std::span<const EpilogueStep> steps_;
  std::array<const float*, kMaxEpilogueSteps> operands_;
  Simple simple_;
  bool is_simple_ = false;
};

}  // namespace systole::cpu
