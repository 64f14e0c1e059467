#include "systole/backends/cpu/kernels/panel_dot.h"

#include <algorithm>
#include <utility>

#include "systole/backends/cpu/kernels/kept_copies.h"
#include "systole/backends/cpu/kernels/panel_packing.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/thread_memory.h"

namespace systole::cpu {
namespace {

constexpr int64_t kCacheElements = 96 * 1024;  // of the left operand, in a second-level cache
constexpr int64_t kTasksPerThread = 4;         // a late or slow thread then delays a call little
constexpr double kMinTaskOperations = 1e6;
// Rows at multiples of this lie in the same sets of the first-level cache, which holds less than
// kPanelRows of a set.
constexpr int64_t kConflictingStep = 1024;
constexpr int64_t kRowPadding = 16;

// Each task multiplies some rows by some panels.
class PanelDotKernel : public Kernel {
 public:
  PanelDotKernel(const PanelDot& dot, bool keeps_rhs, int num_threads, Epilogue epilogue)
      : dot_(dot),
        epilogue_(std::move(epilogue)),
        keeps_rhs_(keeps_rhs),
        panels_((dot.columns + kPanelColumns - 1) / kPanelColumns),
        copies_rows_(dot.copy_row != nullptr || dot.row_step % kConflictingStep == 0) {
    const double operations = 2.0 * static_cast<double>(dot.rows) * static_cast<double>(dot.depth) *
                              static_cast<double>(dot.columns);
    const auto wanted = std::clamp<int64_t>(static_cast<int64_t>(operations / kMinTaskOperations),
                                            1, num_threads * kTasksPerThread);
    const int64_t most = std::max(kCacheElements / dot.depth / kPanelRows, int64_t{2}) * kPanelRows;
    row_chunks_ = (dot.rows + most - 1) / most;
    panel_chunks_ = std::clamp<int64_t>((wanted + row_chunks_ - 1) / row_chunks_, 1, panels_);
    // Few panels: rows are shared instead.
    const int64_t missing = wanted / (row_chunks_ * panel_chunks_);
    if (missing > 1)
      row_chunks_ = std::clamp<int64_t>(dot.rows / kPanelRows, row_chunks_, row_chunks_ * missing);
  }

  bool asks_for_versions() const override { return keeps_rhs_; }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const Arrays arrays{static_cast<const float*>(buffers[0]), static_cast<float*>(buffers.back()),
                        BoundEpilogue(epilogue_, buffers)};
    const auto* const rhs = static_cast<const float*>(buffers[1]);
    const uint64_t version = keeps_rhs_ ? context.version_of(rhs) : 0;
    PreparedOperand::Memory packed = rhs_.take(rhs, version, panels_ * dot_.depth * kPanelColumns,
                                               [&](float* to) { pack(rhs, to, context); });
    run_in_parallel(context, row_chunks_ * panel_chunks_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const Range rows = chunk(dot_.rows, row_chunks_, task % row_chunks_);
        const Range panels = chunk(panels_, panel_chunks_, task / row_chunks_);
        run_task(arrays, packed.elements(), rows, panels);
      }
    });
    rhs_.give_back(std::move(packed));
  }

 private:
  struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };

  struct Arrays {
    const float* lhs;
    float* result;
    BoundEpilogue epilogue;
  };

  static Range chunk(int64_t size, int64_t chunks, int64_t number) {
    return {size * number / chunks, size * (number + 1) / chunks};
  }

  // Copies the matrix to [panels, depth, columns of a panel], with zeros after its last column.
  void pack(const float* rhs, float* packed, RunContext& context) const {
    run_in_parallel(context, panels_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t first = panel * kPanelColumns;
        const int64_t columns = std::min(dot_.columns - first, kPanelColumns);
        const float* const from = rhs + first * dot_.rhs_column;
        float* const to = packed + panel * dot_.depth * kPanelColumns;
        if (dot_.rhs_row == 1) {
          pack_columns(from, dot_.rhs_column, dot_.depth, columns, to);
        } else {
          pack_rows(from, columns, to);
        }
      }
    });
  }

  void pack_rows(const float* from, int64_t columns, float* to) const {
    for (int64_t k = 0; k < dot_.depth; ++k, from += dot_.rhs_row, to += kPanelColumns) {
      if (dot_.rhs_column == 1) {
        std::copy_n(from, columns, to);
      } else {
        for (int64_t j = 0; j < columns; ++j) to[j] = from[j * dot_.rhs_column];
      }
      std::fill(to + columns, to + kPanelColumns, 0.0F);
    }
  }

  void run_task(const Arrays& arrays, const float* packed, Range rows, Range panels) const {
    PanelProduct product{.rows = arrays.lhs + rows.begin * dot_.row_step,
                         .row_step = dot_.row_step,
                         .depth = dot_.depth,
                         .panel = nullptr,
                         .panel_step = kPanelColumns,
                         .result = nullptr,
                         .result_step = dot_.result_row};
    const int64_t copied_step = dot_.depth + kRowPadding;
    float* const memory =
        thread_memory(rows.size() * (kPanelColumns + (copies_rows_ ? copied_step : 0)));
    if (copies_rows_) {
      product.rows = memory + rows.size() * kPanelColumns;
      product.row_step = copied_step;
      copy_rows(arrays.lhs, rows, memory + rows.size() * kPanelColumns);
    }
    const int64_t calls = (rows.size() + kPanelRows - 1) / kPanelRows;
    const int64_t together = (rows.size() + calls - 1) / calls;
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const int64_t first = panel * kPanelColumns;
      product.panel = packed + panel * dot_.depth * kPanelColumns;
      // (What follows a product finds the results in the first-level cache.)
      for (int64_t row = 0; row < rows.size(); row += together) {
        PanelProduct part = product;
        part.rows += row * product.row_step;
        complete(arrays, part,
                 {.elements = memory,
                  .rows = std::min(together, rows.size() - row),
                  .columns = std::min(dot_.columns - first, kPanelColumns),
                  .row_step = kPanelColumns,
                  .column = first,
                  .offset = (rows.begin + row) * dot_.result_row + first});
      }
    }
  }

  // Multiplies some rows by a panel. `block` tells where they are in the result, and has memory for
  // a panel that is not full.
  void complete(const Arrays& arrays, PanelProduct product, BoundEpilogue::Block block) const {
    const bool full = block.columns == kPanelColumns;
    float* const result = arrays.result + block.offset;
    product.result = full ? result : block.elements;
    product.result_step = full ? dot_.result_row : kPanelColumns;
    multiply_panel(product, block.rows);
    for (int64_t i = 0; !full && i < block.rows; ++i)
      std::copy_n(block.elements + i * kPanelColumns, block.columns, result + i * dot_.result_row);
    block.elements = result;
    block.row_step = dot_.result_row;
    if (!arrays.epilogue.empty()) arrays.epilogue.apply(block);
  }

  void copy_rows(const float* lhs, Range rows, float* to) const {
    for (int64_t i = rows.begin; i < rows.end; ++i, to += dot_.depth + kRowPadding) {
      if (dot_.copy_row != nullptr) {
        dot_.copy_row(lhs, i, to);
      } else {
        std::copy_n(lhs + i * dot_.row_step, dot_.depth, to);
      }
    }
  }

  PanelDot dot_;
  Epilogue epilogue_;
  bool keeps_rhs_;
  int64_t panels_;
  bool copies_rows_;
  int64_t row_chunks_ = 1;
  int64_t panel_chunks_ = 1;
  PreparedOperand rhs_;
};

}  // namespace

std::unique_ptr<Kernel> make_panel_dot_kernel(const PanelDot& dot, bool keeps_rhs, int num_threads,
                                              Epilogue epilogue) {
  if (!host_has_avx512()) return nullptr;
  return std::make_unique<PanelDotKernel>(dot, keeps_rhs, num_threads, std::move(epilogue));
}

}  // namespace systole::cpu
