#include "systole/backends/cpu/kernels/pad.h"

#include <algorithm>
#include <cstring>

#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/stream.h"

namespace systole::cpu {
namespace {

constexpr int64_t kPadGrainBytes = 64 * 1024;   // that are worth a thread
constexpr int64_t kPadBufferBytes = 16 * 1024;  // half of the first-level cache
constexpr int64_t kBorderBytes = 256;           // that are written at a time

// The value of the border, repeated.
struct Border {
  Border(const void* value, int64_t element_bytes) {
    for (int64_t i = 0; i < kBorderBytes; i += element_bytes)
      std::memcpy(bytes + i, value, u(element_bytes));
  }
  alignas(kLineBytes) std::byte bytes[kBorderBytes];
};

// Some rows of the result at a time, which are made on the stack if they bypass the caches. The
// innermost axis is counted in bytes.
class PadKernel : public Kernel {
 public:
  PadKernel(std::vector<PaddedAxis> axes, int64_t element_bytes, bool streamed)
      : element_bytes_(element_bytes), streamed_(streamed) {
    columns_ = axes.back();
    axes.pop_back();
    rows_ = axes.back();
    axes.pop_back();
    outer_ = std::move(axes);
    lot_ = std::max<int64_t>((streamed ? kPadBufferBytes : kPadGrainBytes) / columns_.size, 1);
    lot_ = std::min(lot_, rows_.size);
    lots_ = (rows_.size + lot_ - 1) / lot_;
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    int64_t parts = lots_;
    for (const PaddedAxis& axis : outer_) parts *= axis.size;
    const Border border(buffers[2], element_bytes_);
    const int64_t grain = kPadGrainBytes / (lot_ * columns_.size);
    run_in_parallel(context, parts, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        std::byte* const to = static_cast<std::byte*>(buffers[0]) +
                              (part / lots_ * rows_.size + part % lots_ * lot_) * columns_.size;
        make_part(part, static_cast<const std::byte*>(buffers[1]), border, to);
      }
      if (streamed_) end_streams();
    });
  }

 private:
  void make_part(int64_t part, const std::byte* from, const Border& border, std::byte* to) const {
    const int64_t row = part % lots_ * lot_;
    const int64_t rows = std::min(lot_, rows_.size - row);
    if (!streamed_) return make_rows(part / lots_, row, rows, from, border, to);
    alignas(kLineBytes) std::byte lines[kPadBufferBytes];
    make_rows(part / lots_, row, rows, from, border, lines);
    stream(to, lines, rows * columns_.size);
  }

  // Rows of matrix number `matrix` of the result.
  void make_rows(int64_t matrix, int64_t row, int64_t rows, const std::byte* from,
                 const Border& border, std::byte* to) const {
    const int64_t end = row + rows;
    int64_t from_row = 0;  // of the matrix in the operand
    int64_t step = rows_.operand_size;
    bool inside = true;
    for (auto axis = outer_.rbegin(); axis != outer_.rend(); ++axis) {
      const int64_t at = matrix % axis->size - axis->low;
      matrix /= axis->size;
      inside = inside && at >= 0 && at < axis->count;
      from_row += (axis->first + at) * step;
      step *= axis->operand_size;
    }
    const int64_t first = inside ? std::clamp(rows_.low, row, end) : end;
    const int64_t last = inside ? std::clamp(rows_.low + rows_.count, row, end) : end;
    fill(to, columns_.size, columns_.size * (first - row), 1, border);
    if (first < last) {
      from_row += rows_.first + first - rows_.low;
      join_rows(from + from_row * columns_.operand_size + columns_.first, last - first, border,
                to + (first - row) * columns_.size);
    }
    fill(to + (last - row) * columns_.size, 0, columns_.size * (end - last), 1, border);
  }

  void join_rows(const std::byte* from, int64_t rows, const Border& border, std::byte* to) const {
    fill(to, columns_.size, columns_.low, rows, border);
    copy_runs({.from = from,
               .from_step = columns_.operand_size,
               .to = to + columns_.low,
               .to_step = columns_.size,
               .bytes = columns_.count,
               .count = rows},
              false);
    const int64_t end = columns_.low + columns_.count;
    fill(to + end, columns_.size, columns_.size - end, rows, border);
  }

  // `count` runs of `bytes` bytes.
  static void fill(std::byte* to, int64_t step, int64_t bytes, int64_t count,
                   const Border& border) {
    for (int64_t done = 0; done < bytes; done += kBorderBytes) {
      copy_runs({.from = border.bytes,
                 .from_step = 0,
                 .to = to + done,
                 .to_step = step,
                 .bytes = std::min(bytes - done, kBorderBytes),
                 .count = count},
                false);
    }
  }

  std::vector<PaddedAxis> outer_;
  PaddedAxis rows_{};
  PaddedAxis columns_{};  // in bytes
  int64_t element_bytes_;
  bool streamed_;
  int64_t lot_ = 1;   // rows
  int64_t lots_ = 1;  // of a matrix
};

}  // namespace

std::unique_ptr<Kernel> make_pad_kernel(std::vector<PaddedAxis> axes, int64_t element_bytes,
                                        bool streamed) {
  // Axes without a border are part of the one before.
  std::vector<PaddedAxis> merged;
  int64_t scale = element_bytes;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const bool whole = axis->size == axis->count && axis->size == axis->operand_size;
    if (whole && axis + 1 != axes.rend()) {
      scale *= axis->size;
      continue;
    }
    merged.insert(merged.begin(), {axis->size * scale, axis->low * scale, axis->count * scale,
                                   axis->first * scale, axis->operand_size * scale});
    scale = 1;
  }
  if (merged.size() == 1) merged.insert(merged.begin(), {1, 0, 1, 0, 1});
  if (merged.empty() || merged.back().size > kPadBufferBytes) return nullptr;
  return std::make_unique<PadKernel>(std::move(merged), element_bytes, streamed);
}

}  // namespace systole::cpu
