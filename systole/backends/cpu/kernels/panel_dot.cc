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

constexpr int64_t kCacheElements = 96 * 1024;        // of the left operand, in a second-level cache
constexpr int64_t kCachedPanelElements = 80 * 1024;  // that leave room for rows
constexpr int64_t kTasksPerThread = 4;  // a late or slow thread then delays a call little
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
        copies_rows_(dot.copy_rows != nullptr || row_step() % kConflictingStep == 0) {
    share_out(num_threads);
  }

  bool asks_for_versions() const override { return keeps_rhs_; }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const Arrays arrays{static_cast<const float*>(buffers[0]), static_cast<float*>(buffers.back()),
                        BoundEpilogue(epilogue_, buffers)};
    const void* const rhs = buffers[1];
    const uint64_t version = keeps_rhs_ ? context.version_of(rhs) : 0;
    PreparedOperand::Memory packed = rhs_.take(rhs, version, panels_ * depth() * kPanelColumns,
                                               [&](float* to) { pack(rhs, to, context); });
    run_in_parallel(context, row_chunks_ * panel_chunks_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const Section units = chunk_of(dot_.rows / dot_.row_unit, row_chunks_, task % row_chunks_);
        const Section rows{units.begin * dot_.row_unit, units.end * dot_.row_unit};
        const Section panels = chunk_of(panels_, panel_chunks_, task / row_chunks_);
        run_task(arrays, packed.elements(), rows, panels);
      }
    });
    rhs_.give_back(std::move(packed));
  }

 private:
  struct Arrays {
    const float* lhs;
    float* result;
    BoundEpilogue epilogue;
  };

  // As many tasks for each thread, each with rows that stay in a cache.
  void share_out(int num_threads) {
    const double operations = 2.0 * static_cast<double>(dot_.rows) *
                              static_cast<double>(dot_.depth) * static_cast<double>(dot_.columns);
    const int64_t wanted = std::clamp<int64_t>(
        static_cast<int64_t>(operations / kMinTaskOperations), 1, num_threads * kTasksPerThread);
    const int64_t most = std::max(kCacheElements / depth() / kPanelRows, int64_t{2}) * kPanelRows;
    const int64_t least_chunks = (dot_.rows + most - 1) / most;
    const int64_t most_chunks = std::max(dot_.rows / kPanelRows, least_chunks);
    panel_chunks_ = divisor_at_most(wanted, std::min(panels_, wanted / least_chunks));
    row_chunks_ = (least_chunks * panel_chunks_ + wanted - 1) / wanted * wanted / panel_chunks_;
    row_chunks_ = std::min({row_chunks_, most_chunks, dot_.rows / dot_.row_unit});
  }

  static int64_t divisor_at_most(int64_t number, int64_t most) {
    int64_t divisor = std::max<int64_t>(most, 1);
    while (number % divisor != 0) --divisor;
    return divisor;
  }

  // In 32-bit elements of multiply_panel or multiply_pair_panel.
  int64_t depth() const { return dot_.is_bf16 ? dot_.depth / 2 : dot_.depth; }
  int64_t row_step() const { return dot_.is_bf16 ? dot_.row_step / 2 : dot_.row_step; }

  // Copies the matrix to [panels, depth, columns of a panel], with zeros after its last column.
  void pack(const void* rhs, float* packed, RunContext& context) const {
    run_in_parallel(context, panels_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t first = panel * kPanelColumns;
        const int64_t from = first * dot_.rhs_column;
        const int64_t columns = std::min(dot_.columns - first, kPanelColumns);
        float* const to = packed + panel * depth() * kPanelColumns;
        if (dot_.is_bf16) {
          pack_row_pairs(static_cast<const uint16_t*>(rhs) + from, dot_.rhs_row, dot_.depth,
                         columns, to);
        } else {
          pack_panels(static_cast<const float*>(rhs) + from, dot_.rhs_row, dot_.rhs_column,
                      dot_.depth, columns, to);
        }
      }
    });
  }

  // What one task multiplies, `together` rows at a time.
  struct Task {
    const Arrays& arrays;
    const float* packed;
    Section rows, panels;
    PanelProduct product;  // of the first rows
    float* memory;         // for a panel of `together` rows
    int64_t together;
  };

  void run_task(const Arrays& arrays, const float* packed, Section rows, Section panels) const {
    const int64_t calls = (rows.size() + kPanelRows - 1) / kPanelRows;
    const int64_t copied_step = depth() + kRowPadding;
    float* const memory =
        thread_memory(kPanelRows * kPanelColumns + (copies_rows_ ? rows.size() * copied_step : 0));
    Task task{.arrays = arrays,
              .packed = packed,
              .rows = rows,
              .panels = panels,
              .product = {.rows = arrays.lhs + rows.begin * row_step(),
                          .row_step = row_step(),
                          .depth = depth(),
                          .panel = nullptr,
                          .panel_step = kPanelColumns,
                          .result = nullptr,
                          .result_step = dot_.result_row},
              .memory = memory,
              .together = (rows.size() + calls - 1) / calls};
    if (copies_rows_) {
      float* const copies = memory + kPanelRows * kPanelColumns;
      copy_rows(arrays.lhs, rows, copies, copied_step);
      task.product.rows = copies;
      task.product.row_step = copied_step;
    }
    // Where a cache holds all panels, some rows at a time go through them: results lie side by
    // side.
    if (panels.size() * depth() * kPanelColumns <= kCachedPanelElements) {
      for (int64_t row = 0; row < rows.size(); row += task.together) {
        for (int64_t panel = panels.begin; panel < panels.end; ++panel) run_part(task, panel, row);
      }
    } else {
      for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
        for (int64_t row = 0; row < rows.size(); row += task.together) run_part(task, panel, row);
      }
    }
  }

  // (What follows a product finds the results in the first-level cache.)
  void run_part(const Task& task, int64_t panel, int64_t row) const {
    PanelProduct part = task.product;
    part.panel = task.packed + panel * depth() * kPanelColumns;
    part.rows += row * part.row_step;
    // The first panel brings the rows into the caches.
    if (panel == task.panels.begin && part.row_step == part.depth &&
        row + task.together < task.rows.size())
      part.ahead = part.rows + task.together * part.row_step;
    const int64_t first = panel * kPanelColumns;
    complete(task.arrays, part,
             {.elements = task.memory,
              .rows = std::min(task.together, task.rows.size() - row),
              .columns = std::min(dot_.columns - first, kPanelColumns),
              .row_step = kPanelColumns,
              .column = first,
              .offset = (task.rows.begin + row) * dot_.result_row + first});
  }

  // Multiplies some rows by a panel. `block` tells where they are in the result, and has memory for
  // a panel that is not written as it is.
  void complete(const Arrays& arrays, PanelProduct product, BoundEpilogue::Block block) const {
    const bool has_steps = !arrays.epilogue.empty();
    const bool direct = block.columns == kPanelColumns && !dot_.rounds && !has_steps;
    BoundEpilogue::Block result = block;
    result.elements = arrays.result + block.offset;
    result.row_step = dot_.result_row;
    result.sums = block.elements;
    result.sums_step = kPanelColumns;
    if (has_steps) arrays.epilogue.prefetch(result);
    product.result = direct ? result.elements : block.elements;
    product.result_step = direct ? dot_.result_row : kPanelColumns;
    dot_.is_bf16 ? multiply_pair_panel(product, block.rows) : multiply_panel(product, block.rows);
    if (has_steps) {
      arrays.epilogue.apply(result);
    } else if (!direct) {
      write_block(arrays, block);
    }
  }

  void write_block(const Arrays& arrays, const BoundEpilogue::Block& block) const {
    for (int64_t i = 0; i < block.rows; ++i) {
      const float* const row = block.elements + i * kPanelColumns;
      const int64_t place = block.offset + i * dot_.result_row;
      if (dot_.rounds) {
        narrow_to_bf16(row, block.columns, reinterpret_cast<uint16_t*>(arrays.result) + place);
      } else {
        std::copy_n(row, block.columns, arrays.result + place);
      }
    }
  }

  void copy_rows(const float* lhs, Section rows, float* to, int64_t to_step) const {
    if (dot_.copy_rows != nullptr) return dot_.copy_rows(lhs, rows.begin, rows.size(), to, to_step);
    for (int64_t i = rows.begin; i < rows.end; ++i, to += to_step)
      std::copy_n(lhs + i * row_step(), depth(), to);
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
