// Copies of matrices as the panels that panel_product.h reads.
#pragma once

#include <cstdint>

namespace systole::cpu {

// Both write [panels, depth, kPanelColumns], with zeros after the last column, and need
// host_has_avx512() (panel_product.h). Steps in elements.

// From a matrix [depth, columns] whose columns are dense: element (k, j) lies at
// matrix[j * column_step + k].
void pack_columns(const float* matrix, int64_t column_step, int64_t depth, int64_t columns,
                  float* panels);

// From a matrix [depth, columns] of bf16 whose rows are dense: a panel's element is the pair of
// those of rows 2 k and 2 k + 1, and its depth half as large. REQUIRES: an even depth.
void pack_row_pairs(const uint16_t* matrix, int64_t row_step, int64_t depth, int64_t columns,
                    float* panels);

// Rounds to the nearest, ties to even. Needs host_has_avx512(), too.
void narrow_to_bf16(const float* from, int64_t count, uint16_t* to);

}  // namespace systole::cpu
