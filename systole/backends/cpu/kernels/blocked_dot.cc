#include "systole/backends/cpu/kernels/blocked_dot.h"

#include <algorithm>
#include <cstring>

#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/kernels/parallel.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;

// Rows and columns of a task, whose packed operands stay in the second-level cache. The columns are
// whole panels of every type and width.
constexpr int64_t kTileRows = 256;
constexpr int64_t kTileColumns = 240;
constexpr int64_t kTileDepth = 128;
constexpr int64_t kMaxSums = 8 * 48;  // of a panel of any type and width
constexpr int64_t kMinRows = 8;
constexpr int64_t kMinColumns = 16;

// Where the elements of the operands lie; the result is dense: batch, row, column.
struct DotLayout {
  explicit DotLayout(const Instruction& dot) {
    const DotAxes axes(dot);
    const Shape& lhs = dot.operand(0).shape();
    const Shape& rhs = dot.operand(1).shape();
    lhs_batch = offsets_along(lhs, axes.lhs_batch);
    rhs_batch = offsets_along(rhs, axes.rhs_batch);
    rows = offsets_along(lhs, axes.lhs_free);
    columns = offsets_along(rhs, axes.rhs_free);
    lhs_depth = offsets_along(lhs, axes.lhs_contracting);
    rhs_depth = offsets_along(rhs, axes.rhs_contracting);
    dense_columns = true;
    for (size_t i = 1; i < columns.size(); ++i)
      dense_columns = dense_columns && columns[i] == columns[i - 1] + 1;
  }

  std::vector<int64_t> lhs_batch, rhs_batch;
  std::vector<int64_t> rows, columns;
  std::vector<int64_t> lhs_depth, rhs_depth;
  bool dense_columns = false;
};

// Where the sums of one panel go.
template <class T>
struct Target {
  T* first;
  int64_t stride;  // from row to row
  bool add;        // to what is there
};

// The sums of one panel stay in registers: kRows rows of kVectors vectors of Bytes bytes.
template <class T, int Bytes>
struct Panel {
  // NOLINTNEXTLINE(modernize-use-using): an alias does not take the attribute from every compiler
  typedef T Vector __attribute__((vector_size(Bytes)));
  static constexpr int kLanes = Bytes / static_cast<int>(sizeof(T));
  static constexpr int kVectors = 3;
  static constexpr int kRows = Bytes == 64 ? 8 : 4;
  static constexpr int kColumns = kLanes * kVectors;
  static_assert(kTileColumns % kColumns == 0 && kTileRows % kRows == 0 &&
                kRows * kColumns <= kMaxSums);

  // Both operands step by step along the depth: kRows elements of the one, kColumns of the other.
  [[gnu::always_inline]] static inline void multiply(const T* rows, const T* columns, int64_t depth,
                                                     const Target<T>& target) {
    Vector sum[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sum[r][v] = Vector{};
    }
    for (int64_t k = 0; k < depth; ++k, rows += kRows, columns += kColumns) {
      Vector column[kVectors];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) std::memcpy(&column[v], columns + v * kLanes, Bytes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) sum[r][v] += rows[r] * column[v];
      }
    }
    // One by one: an array that is copied as a whole is kept in memory.
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) {
        T* const to = target.first + r * target.stride + v * kLanes;
        if (target.add) {
          Vector old;
          std::memcpy(&old, to, Bytes);
          sum[r][v] += old;
        }
        std::memcpy(to, &sum[r][v], Bytes);
      }
    }
  }
};

// The panel of this host, and how large it is.
template <class T>
struct PanelCode {
  int64_t rows;
  int64_t columns;
  void (*multiply)(const T* rows, const T* columns, int64_t depth, const Target<T>& target);
};

template <class T>
void multiply_narrow(const T* rows, const T* columns, int64_t depth, const Target<T>& target) {
  Panel<T, 16>::multiply(rows, columns, depth, target);
}

#if defined(__x86_64__)

template <class T>
__attribute__((target("avx2,fma"))) void multiply_avx2(const T* rows, const T* columns,
                                                       int64_t depth, const Target<T>& target) {
  Panel<T, 32>::multiply(rows, columns, depth, target);
}

template <class T>
__attribute__((target("avx512f,avx512dq"))) void multiply_avx512(const T* rows, const T* columns,
                                                                 int64_t depth,
                                                                 const Target<T>& target) {
  Panel<T, 64>::multiply(rows, columns, depth, target);
}

#endif

template <class T, int Bytes>
PanelCode<T> panel_code(void (*multiply)(const T*, const T*, int64_t, const Target<T>&)) {
  return {Panel<T, Bytes>::kRows, Panel<T, Bytes>::kColumns, multiply};
}

template <class T>
PanelCode<T> host_panel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return panel_code<T, 64>(multiply_avx512<T>);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return panel_code<T, 32>(multiply_avx2<T>);
#endif
  return panel_code<T, 16>(multiply_narrow<T>);
}

// A part of a list of offsets.
using DotPart = std::span<const int64_t>;

DotPart part_of(const std::vector<int64_t>& all, int64_t begin, int64_t length) {
  const auto size = static_cast<int64_t>(all.size());
  return DotPart(all).subspan(static_cast<size_t>(begin),
                              static_cast<size_t>(std::min(length, size - begin)));
}

// Panels of `width` lines, step by step along the depth; lines that a panel lacks are zeros.
template <class T>
void pack(const T* from, DotPart lines, DotPart depth, int64_t width, bool dense, T* to) {
  const auto size = static_cast<int64_t>(lines.size());
  for (int64_t first = 0; first < size; first += width) {
    const DotPart panel = lines.subspan(static_cast<size_t>(first),
                                        static_cast<size_t>(std::min(width, size - first)));
    for (const int64_t step : depth) {
      const T* line = from + step;
      if (dense) {
        std::copy_n(line + panel[0], panel.size(), to);
      } else {
        for (size_t i = 0; i < panel.size(); ++i) to[i] = line[panel[i]];
      }
      std::fill(to + panel.size(), to + width, T{});
      to += width;
    }
  }
}

// Memory for packed operands: each thread's own, kept for its next product.
template <class T>
std::span<T> packing_memory() {
  thread_local std::vector<T> memory(static_cast<size_t>((kTileRows + kTileColumns) * kTileDepth));
  return memory;
}

// Integers are unsigned here: their sums wrap around.
template <class T>
class BlockedDot : public Kernel {
 public:
  explicit BlockedDot(DotLayout layout) : l_(std::move(layout)), panel_(host_panel<T>()) {}

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const auto work = [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile)
        run_tile(static_cast<const T*>(buffers[0]), static_cast<const T*>(buffers[1]),
                 static_cast<T*>(buffers[2]), tile);
    };
    const int64_t tiles =
        static_cast<int64_t>(l_.lhs_batch.size()) * tiles_of_rows() * tiles_of_columns();
    run_in_parallel(context, tiles, 1, work);
  }

 private:
  // A rectangle of the result.
  struct Tile {
    DotPart rows, columns;
    T* result;  // its first element
  };

  int64_t num_rows() const { return static_cast<int64_t>(l_.rows.size()); }
  int64_t num_columns() const { return static_cast<int64_t>(l_.columns.size()); }
  int64_t tiles_of_rows() const { return (num_rows() + kTileRows - 1) / kTileRows; }
  int64_t tiles_of_columns() const { return (num_columns() + kTileColumns - 1) / kTileColumns; }

  void run_tile(const T* lhs, const T* rhs, T* result, int64_t number) const {
    const int64_t column = number % tiles_of_columns() * kTileColumns;
    const int64_t row = number / tiles_of_columns() % tiles_of_rows() * kTileRows;
    const int64_t batch = number / tiles_of_columns() / tiles_of_rows();
    const Tile tile{part_of(l_.rows, row, kTileRows), part_of(l_.columns, column, kTileColumns),
                    result + (batch * num_rows() + row) * num_columns() + column};
    lhs += l_.lhs_batch[batch];
    rhs += l_.rhs_batch[batch];
    T* const packed_rows = packing_memory<T>().data();
    T* const packed_columns = packed_rows + kTileRows * kTileDepth;
    const auto depth = static_cast<int64_t>(l_.lhs_depth.size());
    for (int64_t k = 0; k < depth; k += kTileDepth) {
      const DotPart steps = part_of(l_.lhs_depth, k, kTileDepth);
      pack(lhs, tile.rows, steps, panel_.rows, false, packed_rows);
      pack(rhs, tile.columns, part_of(l_.rhs_depth, k, kTileDepth), panel_.columns,
           l_.dense_columns, packed_columns);
      multiply(tile, packed_rows, packed_columns, static_cast<int64_t>(steps.size()), k == 0);
    }
  }

  void multiply(const Tile& tile, const T* packed_rows, const T* packed_columns, int64_t depth,
                bool first) const {
    const auto rows = static_cast<int64_t>(tile.rows.size());
    const auto columns = static_cast<int64_t>(tile.columns.size());
    for (int64_t column = 0; column < columns; column += panel_.columns) {
      for (int64_t row = 0; row < rows; row += panel_.rows) {
        const T* const a = packed_rows + row * depth;
        const T* const b = packed_columns + column * depth;
        T* const to = tile.result + row * num_columns() + column;
        if (row + panel_.rows <= rows && column + panel_.columns <= columns) {
          panel_.multiply(a, b, depth, {to, num_columns(), !first});
        } else {
          multiply_cut(a, b, depth, {to, num_columns(), !first}, std::min(panel_.rows, rows - row),
                       std::min(panel_.columns, columns - column));
        }
      }
    }
  }

  // A panel of which only so many rows and columns are part of the result.
  void multiply_cut(const T* rows, const T* columns, int64_t depth, const Target<T>& target,
                    int64_t num_rows, int64_t num_columns) const {
    alignas(64) T sums[kMaxSums];
    panel_.multiply(rows, columns, depth, {sums, panel_.columns, false});
    for (int64_t r = 0; r < num_rows; ++r) {
      T* const to = target.first + r * target.stride;
      const T* const from = sums + r * panel_.columns;
      for (int64_t c = 0; c < num_columns; ++c) to[c] = target.add ? to[c] + from[c] : from[c];
    }
  }

  DotLayout l_;
  PanelCode<T> panel_;
};

}  // namespace

std::unique_ptr<Kernel> make_blocked_dot_kernel(const Instruction& dot) {
  const DType dtype = dot.dtype();
  if (dot.operand(0).dtype() != dtype || dot.operand(1).dtype() != dtype) return nullptr;
  const bool is_double = dtype == DType::f64;
  if (!is_double && !(is_integer(dtype) && size_of(dtype) >= 4)) return nullptr;
  DotLayout layout(dot);
  if (static_cast<int64_t>(layout.rows.size()) < kMinRows ||
      static_cast<int64_t>(layout.columns.size()) < kMinColumns)
    return nullptr;
  if (is_double) return std::make_unique<BlockedDot<double>>(std::move(layout));
  if (size_of(dtype) == 4) return std::make_unique<BlockedDot<uint32_t>>(std::move(layout));
  return std::make_unique<BlockedDot<uint64_t>>(std::move(layout));
}

}  // namespace systole::cpu
