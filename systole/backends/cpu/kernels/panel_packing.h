// Copies of matrices as the panels that panel_product.h reads.
#pragma once

#include <cstdint>
#include <span>

namespace systole::cpu {

// All write [panels, depth, kPanelColumns], with zeros after the last column, and need
// host_has_avx512() (panel_product.h). Steps in elements.

// From a matrix [depth, columns] whose columns are dense: element (k, j) lies at
// matrix[j * column_step + k].
void pack_columns(const float* matrix, int64_t column_step, int64_t depth, int64_t columns,
                  float* panels);

// The same for dense rows: element (k, j) lies at matrix[k * row_step + j].
void pack_rows(const float* matrix, int64_t row_step, int64_t depth, int64_t columns,
               float* panels);

// The same for any matrix: element (k, j) lies at matrix[k * row_step + j * column_step].
void pack_panels(const float* matrix, int64_t row_step, int64_t column_step, int64_t depth,
                 int64_t columns, float* panels);

// From a matrix [depth, columns] of bf16 whose rows are dense: a panel's element is the pair of
// those of rows 2 k and 2 k + 1, and its depth half as large. REQUIRES: an even depth.
void pack_row_pairs(const uint16_t* matrix, int64_t row_step, int64_t depth, int64_t columns,
                    float* panels);

// Rows of a matrix that begin at places of an array, or are zeros.
template <class Element>
struct ScatteredRows {
  const Element* array;
  std::span<const int64_t> places;  // negative: zeros
  const Element* zeros;             // as long as a row

  const Element* row(int64_t k) const {
    const int64_t place = places[static_cast<size_t>(k)];
    return place < 0 ? zeros : array + place;
  }
  int64_t count() const { return std::ssize(places); }
};

// Writes to[j * to_step + k] = rows.row(k)[j] for all rows and `columns` numbers j, a multiple of
// kTransposedColumns. Needs host_has_avx512(), too.
inline constexpr int64_t kTransposedColumns = 16;
void transpose_rows(const ScatteredRows<float>& rows, int64_t columns, float* to, int64_t to_step);

// The same of bf16, where element k of the result is the pair of those of rows 2 k and 2 k + 1.
// REQUIRES: an even number of rows.
void transpose_row_pairs(const ScatteredRows<uint16_t>& rows, int64_t columns, float* to,
                         int64_t to_step);

// Rounds to the nearest, ties to even. Needs host_has_avx512(), too.
void narrow_to_bf16(const float* from, int64_t count, uint16_t* to);

}  // namespace systole::cpu
