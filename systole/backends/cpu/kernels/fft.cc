#include "systole/backends/cpu/kernels/fft.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/fft_moves.h"
#include "systole/backends/cpu/kernels/fft_plan.h"
#include "systole/backends/cpu/kernels/fft_split.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/scratch_cache.h"

namespace systole::cpu {
namespace {

using hlo::FftType;

constexpr int64_t kGrainElements = 16 * 1024;  // that are worth a thread
constexpr int64_t kSplitAlone = 256;           // a line that has no company
constexpr int64_t kSplitLong = 64 * 1024;      // of which a group of lines leaves the caches
constexpr int64_t kSharedLine = 32 * 1024;     // that several threads share

// The lines along an axis: element j of line (o, i) is at (o * length + j) * inner + i.
struct Lines {
  int64_t outer;
  int64_t length;
  int64_t inner;

  int64_t count() const { return outer * inner; }
  int64_t first(int64_t line) const { return line / inner * length * inner + line % inner; }
};

Lines lines_along(const Shape& shape, int axis) {
  Lines lines{1, shape[axis], 1};
  for (int d = 0; d < axis; ++d) lines.outer *= shape[d];
  for (int d = axis + 1; d < shape.rank(); ++d) lines.inner *= shape[d];
  return lines;
}

int64_t grain_of(int64_t elements) { return std::max<int64_t>(1, kGrainElements / elements); }

// For FftComplex<T>, in elements of f32.
template <class T>
int64_t elements_of_scratch(int64_t count) {
  return count * static_cast<int64_t>(sizeof(FftComplex<T>) / sizeof(float));
}

// The inverse without its division.
template <class T>
FftParts<T> run_plan(const FftPlan<T>& plan, FftParts<T> data, T* work, int64_t lines,
                     bool inverse) {
  if (!inverse) return plan.run(data, work, lines);
  const FftParts<T> result = plan.run({data.im, data.re}, work, lines);
  return {result.im, result.re};
}

// The transform of a long line, whose groups threads share. `middle` has as many elements.
template <class T>
void run_shared(const RunContext& context, const SplitFft<T>& split, const FftComplex<T>* from,
                FftComplex<T>* middle, T scale, FftComplex<T>* to, bool inverse) {
  run_in_parallel(
      context, split.column_groups(), grain_of(split.length() / split.column_groups()),
      [&](int64_t begin, int64_t end) { split.run_columns(begin, end, from, middle, inverse); });
  run_in_parallel(
      context, split.row_groups(), grain_of(split.length() / split.row_groups()),
      [&](int64_t begin, int64_t end) { split.run_rows(begin, end, middle, scale, to, inverse); });
}

// What a transform of lines needs: a plan for groups of them, or for one at a time.
template <class T>
struct LinePlans {
  explicit LinePlans(const Lines& all) : lines(all) {
    const bool alone = lines.count() < kFftLanes<T> || lines.length >= kSplitLong;
    if (lines.inner == 1 && alone && lines.length >= kSplitAlone &&
        SplitFft<T>::rows_of(lines.length)) {
      split.emplace(lines.length);
    } else {
      plan.emplace(lines.length);
    }
  }
  Lines lines;
  std::optional<FftPlan<T>> plan;
  std::optional<SplitFft<T>> split;
};

// Transforms one axis of complex numbers, a group of lines at a time. `from` and `to` may be the
// same.
template <class T>
class LineTransform {
 public:
  LineTransform(const RunContext& context, const LinePlans<T>& plans, ScratchCache& scratch,
                const FftComplex<T>* from, FftComplex<T>* to, bool inverse)
      : context_(context),
        plans_(plans),
        scratch_(scratch),
        lines_(plans.lines),
        from_(from),
        to_(to),
        inverse_(inverse),
        scale_(inverse ? T(1) / static_cast<T>(lines_.length) : T(1)) {}

  void run() {
    if (plans_.split) return lines_.length >= kSharedLine ? share_lines() : split_lines();
    const bool columns = lines_.inner >= kLanes;
    // Groups of columns end with a row.
    const int64_t whole = columns ? lines_.inner : lines_.count();
    const int64_t groups = (whole + kLanes - 1) / kLanes;
    const int64_t number = groups * (columns ? lines_.outer : 1);
    run_in_parallel(
        context_, number, grain_of(kLanes * lines_.length), [&](int64_t begin, int64_t end) {
          const FftGroup<T> group(*plans_.plan);
          for (int64_t g = begin; g < end; ++g) {
            const int64_t first = g % groups * kLanes;
            run_group(group, g / groups * lines_.inner + first, std::min(kLanes, whole - first));
          }
        });
  }

 private:
  static constexpr int64_t kLanes = kFftLanes<T>;

  void run_group(const FftGroup<T>& group, int64_t line, int64_t count) const {
    const FftMoves<T>& moves = fft_moves<T>();
    const int64_t length = lines_.length;
    const int64_t first = lines_.first(line);
    const bool rows = lines_.inner == 1;
    if (count < kLanes || (!rows && lines_.inner < kLanes)) return run_any(group, line, count);
    if (rows) {
      moves.load_rows(from_ + first, length, length, group.data());
    } else {
      moves.load_columns(from_ + first, lines_.inner, length, group.data());
    }
    const FftParts<T> result = run_plan(*plans_.plan, group.data(), group.work(), kLanes, inverse_);
    if (rows) {
      moves.store_rows(result, length, scale_, to_ + first, length);
    } else {
      moves.store_columns(result, length, scale_, to_ + first, lines_.inner);
    }
  }

  // Lines that lie anyhow.
  void run_any(const FftGroup<T>& group, int64_t line, int64_t count) const {
    const FftParts<T> data = group.data();
    for (int64_t l = 0; l < count; ++l) {
      const FftComplex<T>* const x = from_ + lines_.first(line + l);
      for (int64_t j = 0; j < lines_.length; ++j) {
        data.re[j * count + l] = x[j * lines_.inner].re;
        data.im[j * count + l] = x[j * lines_.inner].im;
      }
    }
    const FftParts<T> result = run_plan(*plans_.plan, data, group.work(), count, inverse_);
    for (int64_t l = 0; l < count; ++l) {
      FftComplex<T>* const y = to_ + lines_.first(line + l);
      for (int64_t j = 0; j < lines_.length; ++j)
        y[j * lines_.inner] = {result.re[j * count + l] * scale_,
                               result.im[j * count + l] * scale_};
    }
  }

  // Long lines, one after the other.
  void share_lines() {
    const int64_t length = lines_.length;
    auto scratch = scratch_.take(elements_of_scratch<T>(length));
    auto* const middle = static_cast<FftComplex<T>*>(scratch->raw());
    for (int64_t first = 0; first < lines_.count() * length; first += length)
      run_shared(context_, *plans_.split, from_ + first, middle, scale_, to_ + first, inverse_);
    scratch_.give_back(std::move(scratch));
  }

  // Each line by one thread.
  void split_lines() {
    const SplitFft<T>& split = *plans_.split;
    const int64_t length = lines_.length;
    run_in_parallel(context_, lines_.count(), grain_of(length), [&](int64_t begin, int64_t end) {
      const auto middle =
          std::make_unique_for_overwrite<FftComplex<T>[]>(static_cast<size_t>(length));
      for (int64_t first = begin * length; first < end * length; first += length) {
        split.run_columns(0, split.column_groups(), from_ + first, middle.get(), inverse_);
        split.run_rows(0, split.row_groups(), middle.get(), scale_, to_ + first, inverse_);
      }
    });
  }

  const RunContext& context_;
  const LinePlans<T>& plans_;
  ScratchCache& scratch_;
  Lines lines_;
  const FftComplex<T>* from_;
  FftComplex<T>* to_;
  bool inverse_;
  T scale_;
};

// What a transform of real rows needs: a plan for groups of them, or for one at a time.
template <class T>
struct RealPlans {
  RealPlans(int64_t all_rows, int64_t length) : rows(all_rows), n(length) {
    const bool alone = rows < 2 * kFftLanes<T> || n >= 2 * kSplitLong;
    if (alone && n % 2 == 0 && n / 2 >= kSplitAlone && SplitFft<T>::rows_of(n / 2)) {
      split.emplace(n / 2);
      for (int64_t k = 0; k <= n / 4; ++k) roots.push_back(fft_root<T>(k, n));
    } else {
      plan.emplace(n);
    }
  }
  int64_t rows;
  int64_t n;
  std::optional<FftPlan<T>> plan;
  std::optional<SplitFft<T>> split;
  std::vector<FftComplex<T>> roots;  // exp(-2 pi i k / n)
};

// A real row of n numbers by the complex line of m = n / 2 numbers that are its pairs. For its
// spectrum Z, E = (Z[k] + conj Z[m - k]) / 2 and O = (Z[k] - conj Z[m - k]) / 2i are those of the
// elements with even and with odd numbers, and the row's is X[k] = E + w O, X[m - k] = conj(E - w
// O), where w = exp(-2 pi i k / n).
template <class T>
class PairsTransform {
 public:
  PairsTransform(const RunContext& context, const RealPlans<T>& plans, ScratchCache& scratch)
      : context_(context), plans_(plans), m_(plans.n / 2), scratch_(scratch) {
    memory_ = scratch_.take(2 * elements_of_scratch<T>(m_));
    middle_ = static_cast<FftComplex<T>*>(memory_->raw());
    pairs_ = middle_ + m_;
  }
  ~PairsTransform() { scratch_.give_back(std::move(memory_)); }
  PairsTransform(const PairsTransform&) = delete;

  void forward(const T* from, FftComplex<T>* to) const {
    for (int64_t row = 0; row < plans_.rows; ++row, from += 2 * m_, to += m_ + 1) {
      run_shared(context_, *plans_.split, reinterpret_cast<const FftComplex<T>*>(from), middle_,
                 T(1), pairs_, false);
      for_mirrored([&](int64_t k, const FftComplex<T>& w) {
        const FftComplex<T> a = pairs_[k];
        const FftComplex<T> b = pairs_[k == 0 ? 0 : m_ - k];
        const FftComplex<T> even{(a.re + b.re) / 2, (a.im - b.im) / 2};
        const FftComplex<T> odd{(a.im + b.im) / 2, (b.re - a.re) / 2};
        const FftComplex<T> turned{odd.re * w.re - odd.im * w.im, odd.re * w.im + odd.im * w.re};
        to[k] = {even.re + turned.re, even.im + turned.im};
        to[m_ - k] = {even.re - turned.re, turned.im - even.im};
      });
    }
  }

  // The imaginary parts of the first and the last number do not count.
  void inverse(const FftComplex<T>* from, T* to) const {
    for (int64_t row = 0; row < plans_.rows; ++row, from += m_ + 1, to += 2 * m_) {
      for_mirrored([&](int64_t k, const FftComplex<T>& w) {
        FftComplex<T> a = from[k];
        FftComplex<T> b = from[m_ - k];
        if (k == 0) a.im = b.im = T(0);
        const FftComplex<T> even{(a.re + b.re) / 2, (a.im - b.im) / 2};
        const FftComplex<T> turned{(a.re - b.re) / 2, (a.im + b.im) / 2};
        const FftComplex<T> odd{turned.re * w.re + turned.im * w.im,
                                turned.im * w.re - turned.re * w.im};
        pairs_[k] = {even.re - odd.im, even.im + odd.re};
        if (k > 0) pairs_[m_ - k] = {even.re + odd.im, odd.re - even.im};
      });
      run_shared(context_, *plans_.split, pairs_, middle_, T(1) / static_cast<T>(m_),
                 reinterpret_cast<FftComplex<T>*>(to), true);
    }
  }

 private:
  template <class Body>
  void for_mirrored(Body body) const {
    run_in_parallel(context_, m_ / 2 + 1, kGrainElements, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) body(k, plans_.roots[static_cast<size_t>(k)]);
    });
  }

  const RunContext& context_;
  const RealPlans<T>& plans_;
  int64_t m_;
  ScratchCache& scratch_;
  std::unique_ptr<Tensor> memory_;
  FftComplex<T>* middle_;
  FftComplex<T>* pairs_;
};

// Transforms rows of n real numbers to the first n / 2 + 1 numbers of their spectra, or back: the
// rest of such a spectrum is the conjugate of these. Two rows are transformed as the real and the
// imaginary part of one complex line; an odd row at the end is a line of its own.
template <class T>
class RealTransform {
 public:
  RealTransform(const RunContext& context, const RealPlans<T>& plans)
      : context_(context), plan_(*plans.plan), rows_(plans.rows), n_(plans.n), half_(n_ / 2 + 1) {}

  void forward(const T* from, FftComplex<T>* to) const {
    for_groups([&](const FftGroup<T>& group, int64_t row, int64_t count) {
      if (count == 2 * kLanes) {
        forward_group(group, from + row * n_, to + row * half_);
      } else {
        forward_any(group, count, from + row * n_, to + row * half_);
      }
    });
  }

  void inverse(const FftComplex<T>* from, T* to) const {
    for_groups([&](const FftGroup<T>& group, int64_t row, int64_t count) {
      if (count == 2 * kLanes) {
        inverse_group(group, from + row * half_, to + row * n_);
      } else {
        inverse_any(group, count, from + row * half_, to + row * n_);
      }
    });
  }

 private:
  static constexpr int64_t kLanes = kFftLanes<T>;

  template <class Body>
  void for_groups(Body body) const {
    const int64_t groups = (rows_ + 2 * kLanes - 1) / (2 * kLanes);
    run_in_parallel(context_, groups, grain_of(kLanes * n_), [&](int64_t begin, int64_t end) {
      const FftGroup<T> group(plan_, 4 * fft_size(half_ * kLanes));
      for (int64_t g = begin; g < end; ++g) {
        const int64_t row = g * 2 * kLanes;
        body(group, row, std::min(2 * kLanes, rows_ - row));
      }
    });
  }

  // The spectra of the rows with even numbers, and with odd ones.
  std::array<FftParts<T>, 2> spectra(const FftGroup<T>& group) const {
    const int64_t size = fft_size(half_ * kLanes);
    T* const memory = group.more();
    return {FftParts<T>{memory, memory + size}, {memory + 2 * size, memory + 3 * size}};
  }

  void forward_group(const FftGroup<T>& group, const T* from, FftComplex<T>* to) const {
    const FftMoves<T>& moves = fft_moves<T>();
    const auto [even, odd] = spectra(group);
    moves.load_real_rows(from, 2 * n_, n_, group.data().re);
    moves.load_real_rows(from + n_, 2 * n_, n_, group.data().im);
    moves.separate(plan_.run(group.data(), group.work(), kLanes), n_, even, odd);
    moves.store_rows(even, half_, T(1), to, 2 * half_);
    moves.store_rows(odd, half_, T(1), to + half_, 2 * half_);
  }

  void inverse_group(const FftGroup<T>& group, const FftComplex<T>* from, T* to) const {
    const FftMoves<T>& moves = fft_moves<T>();
    const auto [even, odd] = spectra(group);
    moves.load_rows(from, 2 * half_, half_, even);
    moves.load_rows(from + half_, 2 * half_, half_, odd);
    moves.join(even, odd, n_, group.data());
    const FftParts<T> result = run_plan(plan_, group.data(), group.work(), kLanes, true);
    moves.store_real_rows(result.re, n_, T(1) / static_cast<T>(n_), to, 2 * n_);
    moves.store_real_rows(result.im, n_, T(1) / static_cast<T>(n_), to + n_, 2 * n_);
  }

  void forward_any(const FftGroup<T>& group, int64_t count, const T* from,
                   FftComplex<T>* to) const {
    const FftParts<T> data = group.data();
    const int64_t lines = (count + 1) / 2;
    for (int64_t l = 0; l < lines; ++l) {
      const T* const first = from + 2 * l * n_;
      const bool has_second = 2 * l + 1 < count;
      for (int64_t j = 0; j < n_; ++j) {
        data.re[j * lines + l] = first[j];
        data.im[j * lines + l] = has_second ? first[n_ + j] : T(0);
      }
    }
    const FftParts<T> z = plan_.run(data, group.work(), lines);
    for (int64_t l = 0; l < lines; ++l) {
      FftComplex<T>* const first = to + 2 * l * half_;
      const bool has_second = 2 * l + 1 < count;
      for (int64_t k = 0; k < half_; ++k) {
        const int64_t at = k * lines + l;
        const int64_t mirrored = (k == 0 ? 0 : n_ - k) * lines + l;
        first[k] = {(z.re[at] + z.re[mirrored]) / 2, (z.im[at] - z.im[mirrored]) / 2};
        if (has_second)
          first[half_ + k] = {(z.im[at] + z.im[mirrored]) / 2, (z.re[mirrored] - z.re[at]) / 2};
      }
    }
  }

  void inverse_any(const FftGroup<T>& group, int64_t count, const FftComplex<T>* from,
                   T* to) const {
    const FftParts<T> data = group.data();
    const int64_t lines = (count + 1) / 2;
    for (int64_t l = 0; l < lines; ++l) {
      const FftComplex<T>* const first = from + 2 * l * half_;
      const bool has_second = 2 * l + 1 < count;
      for (int64_t k = 0; k < half_; ++k) {
        FftComplex<T> a = first[k];
        FftComplex<T> b = has_second ? first[half_ + k] : FftComplex<T>{};
        const int64_t mirrored = k == 0 ? 0 : n_ - k;
        if (mirrored == k) a.im = b.im = T(0);
        data.re[k * lines + l] = a.re - b.im;
        data.im[k * lines + l] = a.im + b.re;
        if (mirrored == k) continue;
        data.re[mirrored * lines + l] = a.re + b.im;
        data.im[mirrored * lines + l] = b.re - a.im;
      }
    }
    const FftParts<T> z = run_plan(plan_, data, group.work(), lines, true);
    const T scale = T(1) / static_cast<T>(n_);
    for (int64_t l = 0; l < lines; ++l) {
      T* const first = to + 2 * l * n_;
      const bool has_second = 2 * l + 1 < count;
      for (int64_t j = 0; j < n_; ++j) {
        first[j] = z.re[j * lines + l] * scale;
        if (has_second) first[n_ + j] = z.im[j * lines + l] * scale;
      }
    }
  }

  const RunContext& context_;
  const FftPlan<T>& plan_;
  int64_t rows_;
  int64_t n_;
  int64_t half_;
};

template <class T>
class FftKernel : public Kernel {
 public:
  explicit FftKernel(const hlo::Instruction& x)
      : type_(x.attrs<hlo::FftAttrs>().fft_type),
        complex_(type_ == FftType::rfft ? x.shape() : x.operand(0).shape()),
        first_(complex_.rank() - static_cast<int>(x.attrs<hlo::FftAttrs>().fft_length.size())) {
    const int64_t last_length = x.attrs<hlo::FftAttrs>().fft_length.back();
    empty_ = complex_.num_elements() == 0 || last_length == 0;
    if (empty_) return;
    const int last = complex_.rank() - 1;
    const bool is_real = type_ == FftType::rfft || type_ == FftType::irfft;
    if (is_real) real_.emplace(complex_.num_elements() / complex_[last], last_length);
    for (int axis = first_; axis < complex_.rank() - (is_real ? 1 : 0); ++axis)
      axes_.emplace_back(lines_along(complex_, axis));
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    if (empty_) return;
    if (type_ == FftType::rfft) {
      auto* const to = static_cast<FftComplex<T>*>(buffers[1]);
      run_forward(context, static_cast<const T*>(buffers[0]), to);
      run_axes(context, to, to, false);
    } else if (type_ == FftType::irfft) {
      const auto* from = static_cast<const FftComplex<T>*>(buffers[0]);
      std::unique_ptr<Tensor> copy;
      if (!axes_.empty()) {
        copy = copies_.take(elements_of_scratch<T>(complex_.num_elements()));
        auto* const to = static_cast<FftComplex<T>*>(copy->raw());
        run_axes(context, from, to, true);
        from = to;
      }
      run_inverse(context, from, static_cast<T*>(buffers[1]));
      if (copy != nullptr) copies_.give_back(std::move(copy));
    } else {
      run_axes(context, static_cast<const FftComplex<T>*>(buffers[0]),
               static_cast<FftComplex<T>*>(buffers[1]), type_ == FftType::ifft);
    }
  }

 private:
  void run_forward(const RunContext& context, const T* from, FftComplex<T>* to) const {
    if (real_->split) {
      PairsTransform<T>(context, *real_, scratch_).forward(from, to);
    } else {
      RealTransform<T>(context, *real_).forward(from, to);
    }
  }

  void run_inverse(const RunContext& context, const FftComplex<T>* from, T* to) const {
    if (real_->split) {
      PairsTransform<T>(context, *real_, scratch_).inverse(from, to);
    } else {
      RealTransform<T>(context, *real_).inverse(from, to);
    }
  }

  // Transforms the axes that are complex, the last of them first.
  void run_axes(const RunContext& context, const FftComplex<T>* from, FftComplex<T>* to,
                bool inverse) const {
    for (size_t axis = axes_.size(); axis-- > 0;) {
      LineTransform<T>(context, axes_[axis], scratch_, from, to, inverse).run();
      from = to;
    }
  }

  FftType type_;
  Shape complex_;  // of the complex one of operand and result
  int first_;      // the first axis that is transformed
  bool empty_;
  std::vector<LinePlans<T>> axes_;
  std::optional<RealPlans<T>> real_;  // of the last axis
  mutable ScratchCache scratch_;
  mutable ScratchCache copies_;
};

}  // namespace

std::unique_ptr<Kernel> make_fft_kernel(const hlo::Instruction& instruction) {
  const DType part = real_dtype(instruction.operand(0).dtype());
  if (part == DType::f32) return std::make_unique<FftKernel<float>>(instruction);
  return std::make_unique<FftKernel<double>>(instruction);
}

}  // namespace systole::cpu
