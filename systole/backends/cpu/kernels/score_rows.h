// Operations on one row of attention scores. All need host_has_avx512() (panel_product.h).
#pragma once

#include <cstdint>

namespace systole::cpu {

void multiply_scores(float* scores, int64_t count, float factor);
void add_number(float* scores, int64_t count, float number);
void add_numbers(float* scores, int64_t count, const float* numbers);
// Replaces scores whose byte in `seen` is 0 by `otherwise`.
void select_scores(float* scores, int64_t count, const uint8_t* seen, float otherwise);

// Returns the maximum; -infinity for an empty row, any of the scores if one is NaN.
float greatest_score(const float* scores, int64_t count);

// Replaces each score by exp(score - greatest), which has a relative error of 2^-22 at most where
// it is not far below 1, and returns their sum. Scores are at most the greatest, or NaN.
float exponentials(float* scores, int64_t count, float greatest);

// Replaces the exponentials, whose sum is `sum`, by the softmax weights, and the gradients of the
// weights by those of the scores: weights * (gradients - sum(weights * gradients)).
void softmax_gradient(float* exponentials, float* gradients, int64_t count, float sum);

// to = from * factor
void scale_row(const float* from, int64_t count, float factor, float* to);

// From the first byte that is not 0 to behind the last one; empty if there is none.
struct SeenRange {
  int64_t begin = 0, end = 0;
};
SeenRange seen_range(const uint8_t* seen, int64_t count);

}  // namespace systole::cpu
