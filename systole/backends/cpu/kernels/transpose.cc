#include "systole/backends/cpu/kernels/transpose.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/stream.h"

namespace systole::cpu {
namespace {

constexpr int64_t kMinBytes = 16 * 1024;
constexpr int64_t kTileBytes = 256;         // of a run along either axis
constexpr int64_t kMinRun = 64;             // bytes, to be copied as a whole
constexpr int64_t kStripBytes = 4096;       // of tiles along the operand's minor axis: a page
constexpr int64_t kGrainBytes = 64 * 1024;  // that are worth a thread

// One axis of the result, or several that are adjacent in the operand too.
struct Axis {
  int64_t size;
  int64_t from;  // elements between neighbours in the operand
  int64_t to;    // and in the result
};

// Outermost first in the result; axes of size 1 left out.
std::vector<Axis> merged_axes(const Shape& operand, const Dims& permutation) {
  const Dims strides = operand.strides();
  std::vector<Axis> axes;
  for (const int64_t d : permutation) {
    const int64_t size = operand[static_cast<int>(d)];
    const int64_t from = strides[d];
    if (size == 1) continue;
    if (!axes.empty() && axes.back().from == from * size) {
      axes.back().size *= size;
      axes.back().from = from;
    } else {
      axes.push_back({size, from, 0});
    }
  }
  int64_t stride = 1;
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    it->to = stride;
    stride *= it->size;
  }
  return axes;
}

// to[j * to_stride + i] = from[i * stride + j] for i < rows, j < columns.
template <class T>
void transpose_any(const T* from, int64_t stride, int64_t rows, int64_t columns, T* to,
                   int64_t to_stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * stride + j];
  }
}

#if defined(__x86_64__)

__m128i load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
void store(void* p, __m128i x) { _mm_storeu_si128(static_cast<__m128i*>(p), x); }

// Squares of as many elements as fit a register.
void transpose_square(const uint16_t* from, int64_t stride, uint16_t* to, int64_t to_stride) {
  __m128i x[8];
  __m128i y[8];
  for (int i = 0; i < 8; ++i) x[i] = load(from + i * stride);
  for (int i = 0; i < 4; ++i) {
    y[2 * i] = _mm_unpacklo_epi16(x[i], x[i + 4]);
    y[2 * i + 1] = _mm_unpackhi_epi16(x[i], x[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = _mm_unpacklo_epi16(y[i], y[i + 4]);
    x[2 * i + 1] = _mm_unpackhi_epi16(y[i], y[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    store(to + 2 * i * to_stride, _mm_unpacklo_epi16(x[i], x[i + 4]));
    store(to + (2 * i + 1) * to_stride, _mm_unpackhi_epi16(x[i], x[i + 4]));
  }
}

void transpose_square(const uint32_t* from, int64_t stride, uint32_t* to, int64_t to_stride) {
  const __m128i a = load(from);
  const __m128i b = load(from + stride);
  const __m128i c = load(from + 2 * stride);
  const __m128i d = load(from + 3 * stride);
  const __m128i ac_low = _mm_unpacklo_epi32(a, c);
  const __m128i ac_high = _mm_unpackhi_epi32(a, c);
  const __m128i bd_low = _mm_unpacklo_epi32(b, d);
  const __m128i bd_high = _mm_unpackhi_epi32(b, d);
  store(to, _mm_unpacklo_epi32(ac_low, bd_low));
  store(to + to_stride, _mm_unpackhi_epi32(ac_low, bd_low));
  store(to + 2 * to_stride, _mm_unpacklo_epi32(ac_high, bd_high));
  store(to + 3 * to_stride, _mm_unpackhi_epi32(ac_high, bd_high));
}

void transpose_square(const uint64_t* from, int64_t stride, uint64_t* to, int64_t to_stride) {
  const __m128i a = load(from);
  const __m128i b = load(from + stride);
  store(to, _mm_unpacklo_epi64(a, b));
  store(to + to_stride, _mm_unpackhi_epi64(a, b));
}

template <class T>
void transpose_tile(const T* from, int64_t stride, int64_t rows, int64_t columns, T* to,
                    int64_t to_stride) {
  if constexpr (sizeof(T) == 1 || sizeof(T) == 16) {
    transpose_any(from, stride, rows, columns, to, to_stride);
  } else {
    constexpr auto kSide = static_cast<int64_t>(16 / sizeof(T));
    const int64_t whole_rows = rows / kSide * kSide;
    const int64_t whole_columns = columns / kSide * kSide;
    // Rows may all lie at the same places of the cache: few of them at a time, as far as they go.
    for (int64_t i = 0; i < whole_rows; i += kSide) {
      for (int64_t j = 0; j < whole_columns; j += kSide)
        transpose_square(from + i * stride + j, stride, to + j * to_stride + i, to_stride);
    }
    transpose_any(from + whole_columns, stride, whole_rows, columns - whole_columns,
                  to + whole_columns * to_stride, to_stride);
    transpose_any(from + whole_rows * stride, stride, rows - whole_rows, columns, to + whole_rows,
                  to_stride);
  }
}

#else

template <class T>
void transpose_tile(const T* from, int64_t stride, int64_t rows, int64_t columns, T* to,
                    int64_t to_stride) {
  transpose_any(from, stride, rows, columns, to, to_stride);
}

#endif

struct Wide {
  uint64_t parts[2];
};

class TransposeKernel : public Kernel {
 public:
  TransposeKernel(std::vector<Axis> axes, int64_t element_bytes, bool streams)
      : element_bytes_(element_bytes), streams_(streams) {
    to_minor_ = axes.back();
    axes.pop_back();
    const auto minor = std::ranges::find(axes, 1, &Axis::from);
    from_minor_ = *minor;
    axes.erase(minor);
    others_ = std::move(axes);
    by_lines_ = streams && element_bytes > 1 && element_bytes < 16 && fills_lines();
    side_ =
        by_lines_ ? kLineBytes / element_bytes : std::max<int64_t>(kTileBytes / element_bytes, 16);
    strip_ = kStripBytes / (side_ * element_bytes);
    for (const Axis& axis : others_) tiles_ *= axis.size;
    tiles_ *= tiles_along(from_minor_) * tiles_along(to_minor_);
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const auto work = [&](int64_t begin, int64_t end) {
      switch (element_bytes_) {
        case 1:
          return run_tiles<uint8_t>(buffers, begin, end);
        case 2:
          return run_tiles<uint16_t>(buffers, begin, end);
        case 4:
          return run_tiles<uint32_t>(buffers, begin, end);
        case 8:
          return run_tiles<uint64_t>(buffers, begin, end);
        default:
          return run_tiles<Wide>(buffers, begin, end);
      }
    };
    const int64_t tile_bytes = side_ * side_ * element_bytes_;
    run_in_parallel(context, tiles_, std::max<int64_t>(kGrainBytes / tile_bytes, 1), work);
  }

 private:
  // Runs of the result begin and end with cache lines.
  bool fills_lines() const {
    const auto whole = [&](int64_t elements) {
      return elements * element_bytes_ % kLineBytes == 0;
    };
    return whole(to_minor_.size) && whole(from_minor_.to) &&
           std::ranges::all_of(others_, [&](const Axis& axis) { return whole(axis.to); });
  }

  int64_t tiles_along(const Axis& axis) const { return (axis.size + side_ - 1) / side_; }

  template <class T>
  void run_tiles(std::span<void* const> buffers, int64_t begin, int64_t end) const {
    for (int64_t tile = begin; tile < end;) {
      // All of a page along the operand's minor axis, then on along the result's.
      const int64_t per_others = tiles_along(from_minor_) * tiles_along(to_minor_);
      const int64_t strip = tile % per_others / (strip_ * tiles_along(to_minor_)) * strip_;
      const int64_t width = std::min(strip_, tiles_along(from_minor_) - strip);
      const int64_t inside = tile % per_others - strip * tiles_along(to_minor_);
      const int64_t i = inside / width * side_;
      int64_t j = (strip + inside % width) * side_;
      int64_t rest = tile / per_others;
      int64_t from = i * to_minor_.from;
      int64_t to = i;
      for (auto axis = others_.rbegin(); axis != others_.rend(); ++axis) {
        from += rest % axis->size * axis->from;
        to += rest % axis->size * axis->to;
        rest /= axis->size;
      }
      const int64_t in_page = std::min(end - tile, width - inside % width);
      for (const int64_t last = tile + in_page; tile < last; ++tile, j += side_) {
        run_tile(static_cast<const T*>(buffers[0]) + from + j,
                 static_cast<T*>(buffers[1]) + to + j * from_minor_.to,
                 std::min(side_, to_minor_.size - i), std::min(side_, from_minor_.size - j));
      }
    }
    if (streams_) end_streams();
  }

  // Through memory that is dense: neither array's lines then crowd the same places of the cache.
  template <class T>
  void run_tile(const T* from, T* to, int64_t rows, int64_t columns) const {
    constexpr auto kSide = std::max<int64_t>(kTileBytes / static_cast<int64_t>(sizeof(T)), 16);
    alignas(64) T tile[kSide * kSide];
    // A line of the result at a time where it can be: the fewest rows of the operand, which are
    // then read far enough to be foreseen.
    const int64_t side = by_lines_ ? side_ : kSide;
    transpose_tile(from, to_minor_.from, rows, columns, tile, side);
    if (by_lines_) {
      return stream_lines(to, from_minor_.to * static_cast<int64_t>(sizeof(T)), tile, columns);
    }
    const int64_t bytes = rows * static_cast<int64_t>(sizeof(T));
    for (int64_t j = 0; j < columns; ++j) {
      if (streams_) {
        stream(to + j * from_minor_.to, tile + j * side, bytes);
      } else {
        std::memcpy(to + j * from_minor_.to, tile + j * side, static_cast<size_t>(bytes));
      }
    }
  }

  Axis to_minor_;    // elements after each other in the result
  Axis from_minor_;  // and in the operand
  std::vector<Axis> others_;
  int64_t element_bytes_;
  bool streams_;
  bool by_lines_;  // streams, and tiles are as wide as a cache line
  int64_t side_;   // of a tile, in elements
  int64_t strip_;  // tiles
  int64_t tiles_ = 1;
};

// The minor axis stays: runs of bytes are copied in the operand's order, to their places.
class RunsKernel : public Kernel {
 public:
  RunsKernel(std::vector<Axis> axes, int64_t element_bytes, bool streams) : streams_(streams) {
    run_bytes_ = axes.back().size * element_bytes;
    axes.pop_back();
    for (Axis& axis : axes) {
      runs_ *= axis.size;
      axis.to *= element_bytes;
    }
    std::ranges::sort(axes, {}, &Axis::from);
    if (axes.empty()) axes.push_back({1, 0, 0});
    axes_ = std::move(axes);
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const auto* from = static_cast<const std::byte*>(buffers[0]);
    auto* to = static_cast<std::byte*>(buffers[1]);
    const auto work = [&](int64_t begin, int64_t end) { copy_runs(from, to, begin, end); };
    run_in_parallel(context, runs_, std::max<int64_t>(kGrainBytes / run_bytes_, 1), work);
  }

 private:
  void copy_runs(const std::byte* from, std::byte* to, int64_t begin, int64_t end) const {
    for (int64_t run = begin; run < end;) {
      // Along the innermost axis as far as it goes: divisions take as long as a short run.
      const int64_t inside = run % axes_[0].size;
      const int64_t last = std::min(end, run - inside + axes_[0].size);
      std::byte* target = to + place_of(run);
      for (; run < last; ++run, target += axes_[0].to) {
        if (streams_) {
          stream(target, from + run * run_bytes_, run_bytes_);
        } else {
          std::memcpy(target, from + run * run_bytes_, static_cast<size_t>(run_bytes_));
        }
      }
    }
    if (streams_) end_streams();
  }

  // In the result.
  int64_t place_of(int64_t run) const {
    int64_t place = 0;
    for (const Axis& axis : axes_) {
      place += run % axis.size * axis.to;
      run /= axis.size;
    }
    return place;
  }

  std::vector<Axis> axes_;  // but the minor one; the operand's innermost first
  int64_t run_bytes_;
  bool streams_;
  int64_t runs_ = 1;
};

}  // namespace

std::unique_ptr<Kernel> make_transpose_kernel(const hlo::Instruction& x, int64_t streamed_bytes) {
  const int64_t bytes = x.type().byte_size();
  if (bytes < kMinBytes) return nullptr;
  std::vector<Axis> axes =
      merged_axes(x.operand(0).shape(), x.attrs<hlo::TransposeAttrs>().permutation);
  const bool streams = bytes >= streamed_bytes;
  if (axes.back().from == 1) {
    if (axes.back().size * size_of(x.dtype()) < kMinRun) return nullptr;
    return std::make_unique<RunsKernel>(std::move(axes), size_of(x.dtype()), streams);
  }
  return std::make_unique<TransposeKernel>(std::move(axes), size_of(x.dtype()), streams);
}

}  // namespace systole::cpu
