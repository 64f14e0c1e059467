#include "systole/backends/cpu/codegen/wide_rows.h"

#include <algorithm>

namespace systole::cpu {
namespace {

constexpr int64_t kWideRow = 64;    // elements; longer rows are vectorized as they are
constexpr int64_t kVector = 16;     // a multiple of any vector's elements of 4 bytes
constexpr int64_t kMaxLanes = 512;  // whose accumulators stay in the first-level cache
constexpr int64_t kMinWideRows = 8;

int64_t rows_together(int64_t size) {
  for (int64_t vector = kVector; vector > 1; vector /= 2) {
    int64_t rows = 1;
    while (rows * size < kWideRow || rows * size % vector != 0) ++rows;
    if (rows * size <= kMaxLanes) return rows;
  }
  return 1;
}

bool continues(const Affine& x, const Loop& row, const Loop& reduced) {
  return x.factor(reduced.variables.back()) == x.factor(row.variables.back()) * row.size;
}

// Whether the read walks through memory along the row and no computed variable moves it.
bool repeats(const Affine& x, const Loop& row, const Loop& reduced, int num_variables) {
  if (x.factor(row.variables.back()) != 1) return false;
  if (std::ranges::any_of(reduced.variables, [&](Var var) { return x.factor(var) != 0; }))
    return false;
  return std::ranges::all_of(x.terms, [&](const auto& term) { return term.first < num_variables; });
}

}  // namespace

std::optional<WideRows> plan_wide_rows(const Loop& row, const Loop& reduced,
                                       std::span<const Affine> forms,
                                       std::span<const ElementAccess::Read> reads,
                                       int num_variables) {
  if (!row.evenly || !reduced.evenly || row.size >= kWideRow) return std::nullopt;
  WideRows wide{.rows = rows_together(row.size)};
  if (wide.rows == 1 || reduced.size < kMinWideRows * wide.rows) return std::nullopt;
  for (const ElementAccess::Read& read : reads) {
    if (continues(read.offset, row, reduced)) continue;
    if (!repeats(read.offset, row, reduced, num_variables)) return std::nullopt;
    const auto known = std::ranges::find(wide.repeated, read.leaf, &ElementAccess::Read::leaf);
    if (known == wide.repeated.end()) {
      wide.repeated.push_back(read);
    } else if (known->offset != read.offset) {
      return std::nullopt;
    }
  }
  // The same form may also be needed as a number, of which there is no copy to read.
  const bool only_read = std::ranges::all_of(forms, [&](const Affine& x) {
    return continues(x, row, reduced) ||
           std::ranges::count(forms, x) ==
               std::ranges::count(reads, x, &ElementAccess::Read::offset);
  });
  if (!only_read) return std::nullopt;
  // An array that is read in both ways would need two places.
  const bool one_way = std::ranges::all_of(reads, [&](const ElementAccess::Read& read) {
    const auto known = std::ranges::find(wide.repeated, read.leaf, &ElementAccess::Read::leaf);
    return known == wide.repeated.end() || known->offset == read.offset;
  });
  if (!one_way) return std::nullopt;
  return wide;
}

}  // namespace systole::cpu
