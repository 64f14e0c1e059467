#include "systole/backends/cpu/kernels/fft_split.h"

#include <algorithm>

namespace systole::cpu {
namespace {

template <class T>
FftParts<T> swapped_if(bool swap, const FftParts<T>& parts) {
  return swap ? FftParts<T>{parts.im, parts.re} : parts;
}

}  // namespace

template <class T>
FftGroup<T>::FftGroup(const FftPlan<T>& plan, int64_t more) {
  const int64_t size = fft_size(plan.length() * kFftLanes<T>);
  const int64_t work = plan.work_size(kFftLanes<T>);
  memory_ = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(2 * size + work + more));
  data_ = {memory_.get(), memory_.get() + size};
  work_ = data_.im + size;
  more_ = work_ + work;
}

template <class T>
std::optional<int64_t> SplitFft<T>::rows_of(int64_t length) {
  constexpr int64_t kLanes = kFftLanes<T>;
  if (length % (kLanes * kLanes) != 0 || !FftPlan<T>::has_small_factors(length))
    return std::nullopt;
  const int64_t squares = length / (kLanes * kLanes);
  // A row is at least as long as a column.
  int64_t best = 1;
  for (int64_t d = 1; d * d <= squares; ++d) {
    if (squares % d == 0) best = d;
  }
  // A matrix that is far from square has long rows, which gain nothing.
  if (squares > best * best * kLanes) return std::nullopt;
  return best * kLanes;
}

template <class T>
SplitFft<T>::SplitFft(int64_t length)
    : length_(length), columns_(*rows_of(length)), rows_(length / *rows_of(length)) {
  constexpr int64_t kLanes = kFftLanes<T>;
  for (int64_t group = 0; group < column_groups(); ++group) {
    for (int64_t k = 0; k < columns_.length(); ++k)
      of_groups_.push_back(fft_root<T>(group * kLanes * k, length));
  }
  for (int64_t k = 0; k < columns_.length(); ++k) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const FftComplex<T> w = fft_root<T>(lane * k, length);
      of_lanes_re_.push_back(w.re);
      of_lanes_im_.push_back(w.im);
    }
  }
}

// For the inverse real and imaginary parts are exchanged on the way in, and back on the way out.
template <class T>
void SplitFft<T>::run_columns(int64_t begin, int64_t end, const FftComplex<T>* from,
                              FftComplex<T>* middle, bool inverse) const {
  const FftMoves<T>& moves = fft_moves<T>();
  const FftGroup<T> group(columns_);
  const int64_t size = columns_.length();
  for (int64_t g = begin; g < end; ++g) {
    const int64_t first = g * kFftLanes<T>;
    moves.load_columns(from + first, rows_.length(), size, swapped_if(inverse, group.data()));
    const FftParts<T> result = columns_.run(group.data(), group.work(), kFftLanes<T>);
    moves.turn(result, size, of_groups_.data() + g * size,
               {of_lanes_re_.data(), of_lanes_im_.data()});
    moves.store_columns(result, size, T(1), middle + first, rows_.length());
  }
}

template <class T>
void SplitFft<T>::run_rows(int64_t begin, int64_t end, const FftComplex<T>* middle, T scale,
                           FftComplex<T>* to, bool inverse) const {
  const FftMoves<T>& moves = fft_moves<T>();
  const FftGroup<T> group(rows_);
  const int64_t size = rows_.length();
  for (int64_t g = begin; g < end; ++g) {
    const int64_t first = g * kFftLanes<T>;
    moves.load_rows(middle + first * size, size, size, group.data());
    const FftParts<T> result = rows_.run(group.data(), group.work(), kFftLanes<T>);
    moves.store_columns(swapped_if(inverse, result), size, scale, to + first, columns_.length());
  }
}

template class FftGroup<float>;
template class FftGroup<double>;
template class SplitFft<float>;
template class SplitFft<double>;

}  // namespace systole::cpu
