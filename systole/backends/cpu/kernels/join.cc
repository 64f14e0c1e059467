#include "systole/backends/cpu/kernels/join.h"

#include <algorithm>
#include <cstring>

#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/stream.h"
#include "systole/backends/cpu/kernels/transpose_block.h"

namespace systole::cpu {
namespace {

constexpr int64_t kJoinGrainBytes = 64 * 1024;   // that are worth a thread
constexpr int64_t kJoinBufferBytes = 16 * 1024;  // half of the first-level cache

using Buffers = std::span<void* const>;

// Pieces as they are, cut where they are long.
class LongPiecesKernel : public Kernel {
 public:
  explicit LongPiecesKernel(JoinedRows joined) : joined_(std::move(joined)) {
    for (const int64_t piece : joined_.pieces) {
      places_.push_back(joined_.offset + bytes_);
      bytes_ += piece;
      cuts_ = std::max(cuts_, (piece + kJoinGrainBytes - 1) / kJoinGrainBytes);
    }
  }

  void run(Buffers buffers, RunContext& context) const override {
    const int64_t count = std::ssize(joined_.pieces);
    const int64_t grain = kJoinGrainBytes * cuts_ * count / std::max<int64_t>(bytes_, 1);
    run_in_parallel(context, joined_.rows * count * cuts_, std::max<int64_t>(grain, 1),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i)
                        copy_cut(buffers, i / cuts_ / count, i / cuts_ % count, i % cuts_);
                      if (joined_.streamed) end_streams();
                    });
  }

 private:
  void copy_cut(Buffers buffers, int64_t row, int64_t k, int64_t cut) const {
    const int64_t piece = joined_.pieces[u(k)];
    const int64_t first = cut * kJoinGrainBytes;
    const int64_t bytes = std::min(piece - first, kJoinGrainBytes);
    if (bytes <= 0) return;
    copy_runs({.from = static_cast<const std::byte*>(buffers[u(k + 1)]) + row * piece + first,
               .from_step = 0,
               .to = static_cast<std::byte*>(buffers[0]) + row * joined_.row_bytes + places_[u(k)] +
                     first,
               .to_step = 0,
               .bytes = bytes,
               .count = 1},
              joined_.streamed);
  }

  JoinedRows joined_;
  std::vector<int64_t> places_;
  int64_t bytes_ = 0;  // of all pieces
  int64_t cuts_ = 1;   // of the longest piece
};

// Whole rows of short pieces, some at a time: one operand after the other. What bypasses the caches
// is joined on the stack, so that its lines are written as a whole.
class ShortPiecesKernel : public Kernel {
 public:
  explicit ShortPiecesKernel(JoinedRows joined) : joined_(std::move(joined)) {
    const int64_t piece = joined_.pieces.front();
    const auto count = std::ssize(joined_.pieces);
    const bool is_element = piece == 1 || piece == 2 || piece == 4 || piece == 8;
    interleaves_ = is_element && count > 1 && count * piece <= kMaxInterleaved &&
                   std::ranges::count(joined_.pieces, piece) == count;
    const int64_t bytes = interleaves_ || joined_.streamed ? kJoinBufferBytes : kJoinGrainBytes;
    lot_ = bytes / joined_.row_bytes;
    if (lot_ >= kLineBytes) lot_ = lot_ / kLineBytes * kLineBytes;  // together whole lines
  }

  static constexpr int64_t kMaxRowBytes = 4096;

  void run(Buffers buffers, RunContext& context) const override {
    const int64_t lots = (joined_.rows + lot_ - 1) / lot_;
    const int64_t grain = kJoinGrainBytes / (lot_ * joined_.row_bytes);
    run_in_parallel(context, lots, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
      for (int64_t lot = begin; lot < end; ++lot) join_lot(buffers, lot * lot_);
      if (joined_.streamed) end_streams();
    });
  }

 private:
  static constexpr int64_t kMaxInterleaved = 64;

  void join_lot(Buffers buffers, int64_t row) const {
    const int64_t rows = std::min(lot_, joined_.rows - row);
    std::byte* const to = static_cast<std::byte*>(buffers[0]) + row * joined_.row_bytes;
    if (!joined_.streamed) return join_rows(buffers, row, rows, to);
    alignas(kLineBytes) std::byte lines[kJoinBufferBytes];
    join_rows(buffers, row, rows, lines);
    stream(to, lines, rows * joined_.row_bytes);
  }

  void join_rows(Buffers buffers, int64_t row, int64_t rows, std::byte* to) const {
    if (interleaves_) return interleave(buffers, row, rows, to);
    for (size_t k = 0; k < joined_.pieces.size(); ++k) {
      const int64_t piece = joined_.pieces[k];
      copy_runs({.from = static_cast<const std::byte*>(buffers[k + 1]) + row * piece,
                 .from_step = piece,
                 .to = to,
                 .to_step = joined_.row_bytes,
                 .bytes = piece,
                 .count = rows},
                false);
      to += piece;
    }
  }

  // A piece is one element: the operands are the rows of a matrix that is transposed.
  void interleave(Buffers buffers, int64_t row, int64_t rows, std::byte* to) const {
    const int64_t piece = joined_.pieces.front();
    alignas(kLineBytes) std::byte matrix[kJoinBufferBytes];
    for (size_t k = 0; k < joined_.pieces.size(); ++k) {
      std::memcpy(matrix + static_cast<int64_t>(k) * rows * piece,
                  static_cast<const std::byte*>(buffers[k + 1]) + row * piece, u(rows * piece));
    }
    transpose_block({.from = matrix,
                     .from_step = rows,
                     .rows = std::ssize(joined_.pieces),
                     .columns = rows,
                     .to = to,
                     .to_step = std::ssize(joined_.pieces)},
                    piece, false);
  }

  JoinedRows joined_;
  bool interleaves_;
  int64_t lot_;  // rows
};

}  // namespace

std::unique_ptr<Kernel> make_join_kernel(JoinedRows joined) {
  int64_t bytes = 0;
  for (const int64_t piece : joined.pieces) bytes += piece;
  const bool whole = bytes == joined.row_bytes && bytes > 0 && !joined.pieces.empty();
  if (whole && joined.rows > 1 && joined.row_bytes <= ShortPiecesKernel::kMaxRowBytes)
    return std::make_unique<ShortPiecesKernel>(std::move(joined));
  return std::make_unique<LongPiecesKernel>(std::move(joined));
}

}  // namespace systole::cpu
