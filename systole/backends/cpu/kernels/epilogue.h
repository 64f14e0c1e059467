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

// The steps with the addresses of a run.
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
  };
  // Applies all steps in place. REQUIRES: host_has_avx512() (panel_product.h).
  void apply(const Block& block) const;

 private:
  std::span<const EpilogueStep> steps_;
  std::array<const float*, kMaxEpilogueSteps> operands_;
};

}  // namespace systole::cpu
