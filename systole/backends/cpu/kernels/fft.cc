#include "systole/backends/cpu/kernels/fft.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>

#include "systole/backends/cpu/kernels/fft_plan.h"
#include "systole/backends/cpu/kernels/parallel.h"

namespace systole::cpu {
namespace {

using hlo::FftType;

constexpr int64_t kGroupBytes = 256 * 1024;    // of the lines that are transformed together
constexpr int64_t kMaxLines = 32;              // of a group
constexpr int64_t kGrainElements = 16 * 1024;  // that are worth a thread

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

template <class T>
struct ComplexParts {
  T re;
  T im;
};

// The memory of one group of lines.
template <class T>
class LineGroup {
 public:
  LineGroup(const FftPlan<T>& plan, int64_t lines)
      : plan_(plan),
        memory_(static_cast<size_t>(lines * (2 * plan.length() + plan.work_per_line()))),
        size_(lines * plan.length()) {}

  T* re() { return memory_.data(); }
  T* im() { return memory_.data() + size_; }
  // The inverse without its division.
  void run(int64_t lines, bool inverse) {
    T* const work = memory_.data() + 2 * size_;
    plan_.run(inverse ? im() : re(), inverse ? re() : im(), work, lines);
  }

 private:
  const FftPlan<T>& plan_;
  std::vector<T> memory_;
  int64_t size_;
};

template <class T>
int64_t group_size(const FftPlan<T>& plan) {
  constexpr int64_t kVector = 32 / sizeof(T);
  const int64_t bytes =
      (2 * plan.length() + plan.work_per_line()) * static_cast<int64_t>(sizeof(T));
  return std::clamp(kGroupBytes / std::max<int64_t>(bytes, 1) / kVector * kVector, kVector,
                    std::min(4 * kVector, kMaxLines));
}

// Calls body(begin, end, group) for ranges of `count` lines that fit a group, on several threads.
template <class T, class Body>
void for_groups(const RunContext& context, const FftPlan<T>& plan, int64_t count, Body body) {
  const int64_t size = std::min(group_size(plan), count);
  const int64_t groups = (count + size - 1) / size;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (size * plan.length()));
  run_in_parallel(context, groups, grain, [&](int64_t begin, int64_t end) {
    LineGroup<T> group(plan, size);
    for (int64_t g = begin; g < end; ++g) body(g * size, std::min(count, (g + 1) * size), group);
  });
}

// Calls body(line, begin, end) for parts of lines that lie in one cache line each, all lines of a
// part one after the other: both the lines and the group are read and written in order.
template <class Body>
void for_parts(int64_t lines, int64_t length, Body body) {
  constexpr int64_t kPart = 8;
  for (int64_t begin = 0; begin < length; begin += kPart) {
    const int64_t end = std::min(length, begin + kPart);
    for (int64_t line = 0; line < lines; ++line) body(line, begin, end);
  }
}

// Transforms complex lines. `from` and `to` may be the same.
template <class T>
void transform_lines(const RunContext& context, const FftPlan<T>& plan, const Lines& lines,
                     const ComplexParts<T>* from, ComplexParts<T>* to, bool inverse) {
  const T scale = inverse ? T(1) / static_cast<T>(lines.length) : T(1);
  for_groups(context, plan, lines.count(), [&](int64_t begin, int64_t end, LineGroup<T>& group) {
    const int64_t n = end - begin;
    T* const re = group.re();
    T* const im = group.im();
    std::array<int64_t, kMaxLines> first;
    for (int64_t l = 0; l < n; ++l) first[static_cast<size_t>(l)] = lines.first(begin + l);
    for_parts(n, lines.length, [&](int64_t l, int64_t j, int64_t last) {
      const ComplexParts<T>* const line = from + first[static_cast<size_t>(l)];
      for (; j < last; ++j) {
        re[j * n + l] = line[j * lines.inner].re;
        im[j * n + l] = line[j * lines.inner].im;
      }
    });
    group.run(n, inverse);
    for_parts(n, lines.length, [&](int64_t l, int64_t j, int64_t last) {
      ComplexParts<T>* const line = to + first[static_cast<size_t>(l)];
      for (; j < last; ++j) line[j * lines.inner] = {re[j * n + l] * scale, im[j * n + l] * scale};
    });
  });
}

// Transforms rows of n real numbers to the first half of their spectra, which is all that they have
// of their own. The rows 2 l and 2 l + 1 are the real and the imaginary part of a complex line z:
// their spectra are (Z[k] + conj Z[n - k]) / 2 and (Z[k] - conj Z[n - k]) / 2i.
template <class T>
void transform_real_rows(const RunContext& context, const FftPlan<T>& plan, int64_t rows,
                         const T* from, ComplexParts<T>* to) {
  const int64_t n = plan.length();
  const int64_t half = n / 2 + 1;
  for_groups(context, plan, (rows + 1) / 2, [&](int64_t begin, int64_t end, LineGroup<T>& group) {
    const int64_t lines = end - begin;
    T* const re = group.re();
    T* const im = group.im();
    for_parts(lines, n, [&](int64_t l, int64_t j, int64_t last) {
      const T* const first = from + 2 * (begin + l) * n;
      const bool has_second = 2 * (begin + l) + 1 < rows;
      for (; j < last; ++j) {
        re[j * lines + l] = first[j];
        im[j * lines + l] = has_second ? first[n + j] : T(0);
      }
    });
    group.run(lines, false);
    for_parts(lines, half, [&](int64_t l, int64_t k, int64_t last) {
      ComplexParts<T>* const first = to + 2 * (begin + l) * half;
      const bool has_second = 2 * (begin + l) + 1 < rows;
      for (; k < last; ++k) {
        const int64_t at = k * lines + l;
        const int64_t mirrored = (k == 0 ? 0 : n - k) * lines + l;
        first[k] = {(re[at] + re[mirrored]) / 2, (im[at] - im[mirrored]) / 2};
        if (has_second)
          first[half + k] = {(im[at] + im[mirrored]) / 2, (re[mirrored] - re[at]) / 2};
      }
    });
  });
}

// The inverse of transform_real_rows. The imaginary parts of numbers that are real in the spectrum
// of a real signal, the first and for even n the last, do not count.
template <class T>
void transform_spectra(const RunContext& context, const FftPlan<T>& plan, int64_t rows,
                       const ComplexParts<T>* from, T* to) {
  const int64_t n = plan.length();
  const int64_t half = n / 2 + 1;
  const T scale = T(1) / static_cast<T>(n);
  for_groups(context, plan, (rows + 1) / 2, [&](int64_t begin, int64_t end, LineGroup<T>& group) {
    const int64_t lines = end - begin;
    T* const re = group.re();
    T* const im = group.im();
    for_parts(lines, half, [&](int64_t l, int64_t k, int64_t last) {
      const ComplexParts<T>* const first = from + 2 * (begin + l) * half;
      const bool has_second = 2 * (begin + l) + 1 < rows;
      for (; k < last; ++k) {
        ComplexParts<T> a = first[k];
        ComplexParts<T> b = has_second ? first[half + k] : ComplexParts<T>{};
        const int64_t mirrored = k == 0 ? 0 : n - k;
        if (mirrored == k) a.im = b.im = T(0);
        re[k * lines + l] = a.re - b.im;
        im[k * lines + l] = a.im + b.re;
        if (mirrored == k) continue;
        re[mirrored * lines + l] = a.re + b.im;
        im[mirrored * lines + l] = b.re - a.im;
      }
    });
    group.run(lines, true);
    for_parts(lines, n, [&](int64_t l, int64_t j, int64_t last) {
      T* const first = to + 2 * (begin + l) * n;
      const bool has_second = 2 * (begin + l) + 1 < rows;
      for (; j < last; ++j) {
        first[j] = re[j * lines + l] * scale;
        if (has_second) first[n + j] = im[j * lines + l] * scale;
      }
    });
  });
}

template <class T>
class FftKernel : public Kernel {
 public:
  explicit FftKernel(const hlo::Instruction& x)
      : type_(x.attrs<hlo::FftAttrs>().fft_type),
        complex_(type_ == FftType::rfft ? x.shape() : x.operand(0).shape()),
        first_(complex_.rank() - static_cast<int>(x.attrs<hlo::FftAttrs>().fft_length.size())),
        last_length_(x.attrs<hlo::FftAttrs>().fft_length.back()) {
    for (int axis = first_; axis < complex_.rank(); ++axis) {
      const int64_t length = axis + 1 == complex_.rank() ? last_length_ : complex_[axis];
      plans_.try_emplace(length, length);
    }
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    if (complex_.num_elements() == 0 || last_length_ == 0) return;
    const int last = complex_.rank() - 1;
    const int64_t rows = complex_.num_elements() / complex_[last];
    if (type_ == FftType::rfft) {
      auto* const to = static_cast<ComplexParts<T>*>(buffers[1]);
      transform_real_rows(context, plans_.at(last_length_), rows, static_cast<const T*>(buffers[0]),
                          to);
      run_axes(context, last, to, to, false);
    } else if (type_ == FftType::irfft) {
      const auto* from = static_cast<const ComplexParts<T>*>(buffers[0]);
      std::vector<ComplexParts<T>> copy;
      if (first_ < last) {
        copy.resize(static_cast<size_t>(complex_.num_elements()));
        run_axes(context, last, from, copy.data(), true);
        from = copy.data();
      }
      transform_spectra(context, plans_.at(last_length_), rows, from, static_cast<T*>(buffers[1]));
    } else {
      run_axes(context, last + 1, static_cast<const ComplexParts<T>*>(buffers[0]),
               static_cast<ComplexParts<T>*>(buffers[1]), type_ == FftType::ifft);
    }
  }

 private:
  // Transforms the axes from first_ to before `end`, the last of them first.
  void run_axes(const RunContext& context, int end, const ComplexParts<T>* from,
                ComplexParts<T>* to, bool inverse) const {
    for (int axis = end; axis-- > first_;) {
      transform_lines(context, plans_.at(complex_[axis]), lines_along(complex_, axis), from, to,
                      inverse);
      from = to;
    }
  }

  FftType type_;
  Shape complex_;  // of the complex one of operand and result
  int first_;      // the first axis that is transformed
  int64_t last_length_;
  std::map<int64_t, FftPlan<T>> plans_;  // by length
};

}  // namespace

std::unique_ptr<Kernel> make_fft_kernel(const hlo::Instruction& instruction) {
  const DType part = real_dtype(instruction.operand(0).dtype());
  if (part == DType::f32) return std::make_unique<FftKernel<float>>(instruction);
  return std::make_unique<FftKernel<double>>(instruction);
}

}  // namespace systole::cpu
