// Products of some rows by a panel of columns, whose sums stay in vector registers.
#pragma once

#include <cstdint>

namespace systole::cpu {

// Returns whether the host has AVX-512 (F and BW), which the functions below need.
bool host_has_avx512();

inline constexpr int64_t kPanelColumns = 32;
inline constexpr int64_t kHalfPanel = kPanelColumns / 2;
inline constexpr int64_t kPanelRows = 14;  // with two vectors of sums each

// result[i][j] = sum over k of rows[i][k] * panel[k][j]: `depth` numbers k, kPanelColumns numbers
// j; added to what is there with `adds`. Steps from row to row in elements. Every sum is computed
// in the order of k by fused multiplications and additions, whatever the number of rows.
struct PanelProduct {
  const float* rows;
  int64_t row_step;
  int64_t depth;
  const float* panel;
  int64_t panel_step = kPanelColumns;  // from k to k + 1
  float* result;
  int64_t result_step;
  int64_t depth_step = 1;  // of a row, from k to k + 1
  bool adds = false;
  bool half = false;  // the first kHalfPanel columns alone
  // kAheadElements of memory for each number k are fetched into the second-level cache, from here
  // on: rows of products to come. Null: none.
  const float* ahead = nullptr;
};
inline constexpr int64_t kAheadElements = 16;

// Any number of rows. REQUIRES: host_has_avx512().
void multiply_panel(const PanelProduct& product, int64_t rows);

// The same for elements that are pairs of bf16, whose products are added up in f32.
// REQUIRES: host_multiplies_bf16() (onednn.h) besides.
void multiply_pair_panel(const PanelProduct& product, int64_t rows);

}  // namespace systole::cpu
