// Fourier transforms of one long line at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/fft_moves.h"
#include "systole/backends/cpu/kernels/fft_plan.h"

namespace systole::cpu {

// The memory in which a group of kFftLanes lines is transformed.
template <class T>
class FftGroup {
 public:
  explicit FftGroup(const FftPlan<T>& plan, int64_t more = 0);
  FftParts<T> data() const { return data_; }
  T* work() const { return work_; }
  // Elements besides those that the plan needs.
  T* more() const { return more_; }

 private:
  std::unique_ptr<T[]> memory_;
  FftParts<T> data_;
  T* work_;
  T* more_;
};

// A line as a matrix, element j at (j / columns, j % columns): its columns are transformed, which
// stay in a cache, then turned, then its rows. Immutable.
template <class T>
class SplitFft {
 public:
  // Returns the number of rows if a line of this length is such a matrix, of whole groups of rows
  // and columns, and has small factors.
  static std::optional<int64_t> rows_of(int64_t length);
  // REQUIRES: rows_of(length) has a value.
  explicit SplitFft(int64_t length);

  int64_t length() const { return length_; }
  // Groups of columns, and of rows.
  int64_t column_groups() const { return rows_.length() / kFftLanes<T>; }
  int64_t row_groups() const { return columns_.length() / kFftLanes<T>; }
  // All column groups, then all row groups, which may run at the same time as each other. `middle`
  // has as many elements as the line. The inverse is multiplied by `scale` instead of divided by
  // the length.
  void run_columns(int64_t begin, int64_t end, const FftComplex<T>* from, FftComplex<T>* middle,
                   bool inverse) const;
  void run_rows(int64_t begin, int64_t end, const FftComplex<T>* middle, T scale, FftComplex<T>* to,
                bool inverse) const;

 private:
  int64_t length_;
  FftPlan<T> columns_;  // of the length of a column
  FftPlan<T> rows_;
  // Element (k, j) of the columns' transforms is turned by exp(-2 pi i k j / length), the product
  // of that of the first column of its group, and that of its distance from it.
  std::vector<FftComplex<T>> of_groups_;
  std::vector<T> of_lanes_re_;
  std::vector<T> of_lanes_im_;
};

extern template class FftGroup<float>;
extern template class FftGroup<double>;
extern template class SplitFft<float>;
extern template class SplitFft<double>;

}  // namespace systole::cpu
