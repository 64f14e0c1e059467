#include "systole/backends/cpu/kernels/transpose.h"

#include <algorithm>

#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/stream.h"
#include "systole/backends/cpu/kernels/transpose_block.h"

namespace systole::cpu {
namespace {

constexpr int64_t kMinBytes = 16 * 1024;
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

// Both arrays are cut into tiles. A tile whose lines the result shares with others is made in
// memory on the stack if it bypasses the caches: then its lines are written as a whole.
class TransposeKernel : public Kernel {
 public:
  TransposeKernel(std::vector<Axis> axes, int64_t element_bytes, bool streams)
      : element_bytes_(element_bytes), streams_(streams), line_(kLineBytes / element_bytes) {
    to_minor_ = axes.back();
    axes.pop_back();
    const auto minor = std::ranges::find(axes, 1, &Axis::from);
    from_minor_ = *minor;
    axes.erase(minor);
    others_ = std::move(axes);
    buffered_ = streams && !fills_lines();
    joined_ = buffered_ && from_minor_.to == to_minor_.size && to_minor_.size <= kBufferRows;
    choose_tiles();
    tiles_ = tiles_along(from_minor_, width_) * tiles_along(to_minor_, height_);
    for (const Axis& axis : others_) tiles_ *= axis.size;
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const int64_t tile_bytes = height_ * width_ * element_bytes_;
    run_in_parallel(context, tiles_, std::max<int64_t>(kGrainBytes / tile_bytes, 1),
                    [&](int64_t begin, int64_t end) { run_tiles(buffers, begin, end); });
  }

 private:
  static constexpr int64_t kTileBytes = 64 * 1024;    // that need not be in memory of their own
  static constexpr int64_t kBufferBytes = 16 * 1024;  // half of the first-level cache
  static constexpr int64_t kBufferRows = kBufferBytes / kLineBytes;  // of which a line each fits

  // Runs of the result begin and end with cache lines.
  bool fills_lines() const {
    const auto whole = [&](int64_t elements) {
      return elements * element_bytes_ % kLineBytes == 0;
    };
    return whole(to_minor_.size) && whole(from_minor_.to) &&
           std::ranges::all_of(others_, [&](const Axis& axis) { return whole(axis.to); });
  }

  // As much of the operand's minor axis as a page holds and the tile has room for, unless the other
  // axis is short; and whole lines of either.
  void choose_tiles() {
    const auto whole_lines = [&](int64_t elements) {
      return std::max<int64_t>(elements / line_, 1) * line_;
    };
    if (buffered_) {
      height_ = std::min(to_minor_.size, kBufferRows);
      width_ = whole_lines(kBufferBytes / (height_ * element_bytes_));
    } else {
      const int64_t lines = std::min(to_minor_.size, line_);
      width_ = whole_lines(kTileBytes / (lines * element_bytes_));
      width_ = std::min(width_, from_minor_.size);
      height_ = whole_lines(kTileBytes / (width_ * element_bytes_));
    }
    width_ = std::min(width_, from_minor_.size);
    height_ = std::min(height_, to_minor_.size);
  }

  static int64_t tiles_along(const Axis& axis, int64_t size) {
    return (axis.size + size - 1) / size;
  }

  void run_tiles(std::span<void* const> buffers, int64_t begin, int64_t end) const {
    const int64_t across = tiles_along(from_minor_, width_);
    const int64_t down = tiles_along(to_minor_, height_);
    for (int64_t tile = begin; tile < end; ++tile) {
      // Down the operand's strip of columns first.
      const int64_t i = tile % down * height_;
      const int64_t j = tile / down % across * width_;
      int64_t rest = tile / down / across;
      int64_t from = i * to_minor_.from + j;
      int64_t to = i + j * from_minor_.to;
      for (auto axis = others_.rbegin(); axis != others_.rend(); ++axis) {
        from += rest % axis->size * axis->from;
        to += rest % axis->size * axis->to;
        rest /= axis->size;
      }
      run_tile({.from = static_cast<const std::byte*>(buffers[0]) + from * element_bytes_,
                .from_step = to_minor_.from,
                .rows = std::min(height_, to_minor_.size - i),
                .columns = std::min(width_, from_minor_.size - j),
                .to = static_cast<std::byte*>(buffers[1]) + to * element_bytes_,
                .to_step = from_minor_.to});
    }
    if (streams_) end_streams();
  }

  void run_tile(TransposedBlock tile) const {
    if (!buffered_) return transpose_block(tile, element_bytes_, streams_);
    alignas(kLineBytes) std::byte lines[kBufferBytes];
    auto* const to = static_cast<std::byte*>(tile.to);
    const int64_t to_bytes = tile.to_step * element_bytes_;
    tile.to = lines;
    tile.to_step = tile.rows;
    transpose_block(tile, element_bytes_, false);
    const int64_t run_bytes = tile.rows * element_bytes_;
    if (joined_) return stream(to, lines, tile.columns * run_bytes);
    for (int64_t j = 0; j < tile.columns; ++j)
      stream(to + j * to_bytes, lines + j * run_bytes, run_bytes);
  }

  Axis to_minor_;    // elements after each other in the result
  Axis from_minor_;  // and in the operand
  std::vector<Axis> others_;
  int64_t element_bytes_;
  bool streams_;
  int64_t line_;   // elements
  bool buffered_;  // a tile of the result is made in memory of its own
  bool joined_;    // and is contiguous in the result
  // A tile's elements along either minor axis.
  int64_t height_ = 0;
  int64_t width_ = 0;
  int64_t tiles_ = 1;
};

// The minor axis stays: runs of bytes are copied to their places in the operand's order. If they
// bypass the caches and are no whole lines, those that are neighbours in the result are collected,
// so that its lines are written as a whole.
class RunsKernel : public Kernel {
 public:
  RunsKernel(std::vector<Axis> axes, int64_t element_bytes, bool streams) : streams_(streams) {
    run_bytes_ = axes.back().size * element_bytes;
    axes.pop_back();
    if (axes.empty()) axes.push_back({1, 0, 0});
    for (Axis& axis : axes) {
      axis.from *= element_bytes;
      axis.to *= element_bytes;
    }
    collects_ =
        streams && run_bytes_ % kLineBytes != 0 && run_bytes_ <= kBufferBytes / kMinCollected;
    if (collects_) {
      inner_ = axes.back();
      axes.pop_back();
      step_ = kBufferBytes / run_bytes_ / kMinCollected * kMinCollected;
    } else {
      const auto first = std::ranges::min_element(axes, {}, &Axis::from);
      inner_ = *first;
      axes.erase(first);
      step_ = std::max<int64_t>(kGrainBytes / run_bytes_, 1);
    }
    std::ranges::sort(axes, {}, &Axis::from);
    others_ = std::move(axes);
    parts_ = (inner_.size + step_ - 1) / step_;
    for (const Axis& axis : others_) parts_ *= axis.size;
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const int64_t part_bytes = std::min(step_, inner_.size) * run_bytes_;
    run_in_parallel(context, parts_, std::max<int64_t>(kGrainBytes / part_bytes, 1),
                    [&](int64_t begin, int64_t end) { copy_parts(buffers, begin, end); });
  }

 private:
  static constexpr int64_t kBufferBytes = 16 * 1024;
  static constexpr int64_t kMinCollected = 64;  // runs: together whole lines

  // A part is step_ runs along the inner axis.
  void copy_parts(std::span<void* const> buffers, int64_t begin, int64_t end) const {
    for (int64_t part = begin; part < end; ++part) {
      int64_t from = 0;
      int64_t to = 0;
      int64_t rest = part;
      for (const Axis& axis : others_) {
        from += rest % axis.size * axis.from;
        to += rest % axis.size * axis.to;
        rest /= axis.size;
      }
      const int64_t first = rest * step_;
      copy_part({.from = static_cast<const std::byte*>(buffers[0]) + from + first * inner_.from,
                 .from_step = inner_.from,
                 .to = static_cast<std::byte*>(buffers[1]) + to + first * inner_.to,
                 .to_step = inner_.to,
                 .bytes = run_bytes_,
                 .count = std::min(step_, inner_.size - first)});
    }
    if (streams_) end_streams();
  }

  void copy_part(CopiedRuns runs) const {
    if (!collects_) return copy_runs(runs, streams_);
    alignas(kLineBytes) std::byte lines[kBufferBytes];
    void* const to = runs.to;
    runs.to = lines;
    runs.to_step = run_bytes_;
    copy_runs(runs, false);
    stream(to, lines, runs.count * run_bytes_);
  }

  Axis inner_;                // steps in bytes
  std::vector<Axis> others_;  // the operand's innermost first
  int64_t run_bytes_;
  bool streams_;
  bool collects_;     // along the result's innermost axis
  int64_t step_ = 1;  // runs of a part
  int64_t parts_ = 1;
};

// Runs as short as an element of a wider type are such elements.
int64_t widen_elements(std::vector<Axis>& axes, int64_t element_bytes) {
  const int64_t run = axes.back().size;
  const int64_t bytes = run * element_bytes;
  const bool wider = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  if (axes.back().from != 1 || !wider || axes.size() < 3) return element_bytes;
  axes.pop_back();
  for (Axis& axis : axes) {
    axis.from /= run;
    axis.to /= run;
  }
  return bytes;
}

}  // namespace

std::unique_ptr<Kernel> make_transpose_kernel(const hlo::Instruction& x, int64_t streamed_bytes) {
  const int64_t bytes = x.type().byte_size();
  if (bytes < kMinBytes) return nullptr;
  std::vector<Axis> axes =
      merged_axes(x.operand(0).shape(), x.attrs<hlo::TransposeAttrs>().permutation);
  const bool streams = bytes >= streamed_bytes;
  const int64_t element_bytes = widen_elements(axes, size_of(x.dtype()));
  if (axes.back().from == 1)
    return std::make_unique<RunsKernel>(std::move(axes), element_bytes, streams);
  return std::make_unique<TransposeKernel>(std::move(axes), element_bytes, streams);
}

}  // namespace systole::cpu
