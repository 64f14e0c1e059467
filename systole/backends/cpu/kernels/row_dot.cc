#include "systole/backends/cpu/kernels/row_dot.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/kernels/panel_packing.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;

constexpr int64_t kMaxMatrixBytes = 512 * 1024;  // of the right operand, which every block reads
constexpr int64_t kMinMatrixRows = 8;
constexpr int64_t kMinSide = 8;  // of columns and depth

// A matrix of a batch in memory, in elements. One of the steps is 1.
struct MatrixLayout {
  int64_t row_step = 0;
  int64_t column_step = 0;

  bool transposed() const { return column_step != 1; }
};

// nullopt when the axes do not merge into rows and columns, one of which is dense.
std::optional<MatrixLayout> matrix_layout(const Shape& shape, const Dims& rows,
                                          const Dims& columns) {
  const auto row_step = merged_stride(shape, rows);
  const auto column_step = merged_stride(shape, columns);
  if (!row_step || !column_step) return std::nullopt;
  // (An axis of one element has no step.)
  if (*column_step == 1) return MatrixLayout{std::max(*row_step, product(shape, columns)), 1};
  if (*row_step == 1) return MatrixLayout{1, std::max(*column_step, product(shape, rows))};
  return std::nullopt;
}

bool is_supported(DType operand, DType result) {
  return (operand == DType::f32 && result == DType::f32) ||
         (operand == DType::bf16 && (result == DType::f32 || result == DType::bf16));
}

float from_bf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// A matrix as dnnl_sgemm takes it.
struct GemmOperand {
  char transposed;  // 'T' or 'N'
  const float* elements;
  int64_t stride;  // of lines
};

// Memory for converted elements: each thread's own, kept for its next product.
float* conversion_memory(size_t which, int64_t elements) {
  thread_local std::vector<float> memory[3];
  if (std::ssize(memory[which]) < elements) memory[which].resize(static_cast<size_t>(elements));
  return memory[which].data();
}

class RowDotKernel : public Kernel {
 public:
  RowDotKernel(const Instruction& dot, bool lhs_begins)
      : dot_(*row_dot(dot)),
        operand_(dot.operand(0).dtype()),
        result_(dot.dtype()),
        lhs_begins_(lhs_begins) {
    const DotAxes axes(dot);
    const Shape& lhs = dot.operand(0).shape();
    const Shape& rhs = dot.operand(1).shape();
    lhs_ = *matrix_layout(lhs, axes.lhs_free, axes.lhs_contracting);
    rhs_ = *matrix_layout(rhs, axes.rhs_contracting, axes.rhs_free);
    lhs_batch_ = offsets_along(lhs, axes.lhs_batch);
    rhs_batch_ = offsets_along(rhs, axes.rhs_batch);
    by_panels_ = host_has_avx512() && !lhs_.transposed() && (operand_ == DType::f32 || has_pairs());
  }

  void run(std::span<void* const> buffers, RunContext&) const override {
    const OnOneThread alone;
    const auto begin = reinterpret_cast<intptr_t>(buffers[3]);
    const auto end = reinterpret_cast<intptr_t>(buffers[4]);
    for (int64_t row = begin; row < end;) {
      const int64_t matrix = row / dot_.matrix_rows;
      const int64_t at = row % dot_.matrix_rows;
      const int64_t count = std::min(dot_.matrix_rows - at, end - row);
      const int64_t lhs_offset =
          lhs_begins_ ? (row - begin) * dot_.depth : lhs_batch_[u(matrix)] + at * lhs_.row_step;
      if (by_panels_) {
        multiply_panels(element(buffers[0], lhs_offset), element(buffers[1], rhs_batch_[u(matrix)]),
                        count, buffers[2], (row - begin) * dot_.columns);
        row += count;
        continue;
      }
      multiply(operand(0, buffers[0], lhs_offset, lhs_, count, dot_.depth),
               operand(1, buffers[1], rhs_batch_[u(matrix)], rhs_, dot_.depth, dot_.columns), count,
               buffers[2], (row - begin) * dot_.columns);
      row += count;
    }
  }

 private:
  GemmOperand operand(size_t which, const void* array, int64_t offset, const MatrixLayout& layout,
                      int64_t rows, int64_t columns) const {
    const char transposed = layout.transposed() ? 'T' : 'N';
    const int64_t stride = layout.transposed() ? layout.column_step : layout.row_step;
    if (operand_ == DType::f32)
      return {transposed, static_cast<const float*>(array) + offset, stride};
    const auto* const from = static_cast<const uint16_t*>(array) + offset;
    const int64_t lines = layout.transposed() ? columns : rows;
    const int64_t length = layout.transposed() ? rows : columns;
    float* const to = conversion_memory(which, lines * length);
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t i = 0; i < length; ++i)
        to[line * length + i] = from_bf16(from[line * stride + i]);
    }
    return {transposed, to, length};
  }

  // Whether elements that are multiplied together are pairs side by side, or those of two rows.
  bool has_pairs() const {
    const auto is_even = [](int64_t offset) { return offset % 2 == 0; };
    return host_multiplies_bf16() && is_even(dot_.depth) && is_even(lhs_.row_step) &&
           (!rhs_.transposed() || is_even(rhs_.column_step)) &&
           std::ranges::all_of(lhs_batch_, is_even) && std::ranges::all_of(rhs_batch_, is_even);
  }

  const void* element(const void* array, int64_t offset) const {
    return static_cast<const std::byte*>(array) + offset * size_of(operand_);
  }

  // Results in f32: the caller's memory, or that of the thread.
  float* wide_results(int64_t elements, void* result, int64_t offset) const {
    return result_ == DType::f32 ? static_cast<float*>(result) + offset
                                 : conversion_memory(2, elements);
  }
  void narrow_results(const float* from, int64_t elements, void* result, int64_t offset) const {
    if (result_ == DType::f32) return;
    auto* const narrow = static_cast<uint16_t*>(result) + offset;
    if (host_has_avx512()) return narrow_to_bf16(from, elements, narrow);
    for (int64_t i = 0; i < elements; ++i) narrow[i] = to_bf16(from[i]);
  }

  // By panels of the right operand: packed once for these rows, but for rows of f32, which are read
  // where they are.
  void multiply_panels(const void* lhs, const void* rhs, int64_t rows, void* result,
                       int64_t offset) const {
    const bool pairs = operand_ == DType::bf16;
    const int64_t depth = pairs ? dot_.depth / 2 : dot_.depth;
    const int64_t panels = (dot_.columns + kPanelColumns - 1) / kPanelColumns;
    const auto* const matrix = static_cast<const float*>(rhs);
    float* const to = wide_results(rows * dot_.columns, result, offset);
    float* const packed = conversion_memory(1, panels * depth * kPanelColumns);
    float* const last = conversion_memory(0, rows * kPanelColumns);
    const bool in_place = !pairs && !rhs_.transposed();
    const int64_t whole = in_place ? dot_.columns / kPanelColumns : 0;  // panels
    if (rhs_.transposed()) {
      pack_columns(matrix, pairs ? rhs_.column_step / 2 : rhs_.column_step, depth, dot_.columns,
                   packed);
    } else if (pairs) {
      pack_row_pairs(static_cast<const uint16_t*>(rhs), rhs_.row_step, dot_.depth, dot_.columns,
                     packed);
    } else if (whole < panels) {
      copy_last_columns(matrix + whole * kPanelColumns, dot_.columns - whole * kPanelColumns,
                        packed + whole * depth * kPanelColumns);
    }
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t first = panel * kPanelColumns;
      const int64_t columns = std::min(dot_.columns - first, kPanelColumns);
      const bool full = columns == kPanelColumns;
      const PanelProduct product{
          .rows = static_cast<const float*>(lhs),
          .row_step = pairs ? lhs_step() / 2 : lhs_step(),
          .depth = depth,
          .panel = panel < whole ? matrix + first : packed + panel * depth * kPanelColumns,
          .panel_step = panel < whole ? rhs_.row_step : kPanelColumns,
          .result = full ? to + first : last,
          .result_step = full ? dot_.columns : kPanelColumns};
      pairs ? multiply_pair_panel(product, rows) : multiply_panel(product, rows);
      for (int64_t i = 0; !full && i < rows; ++i)
        std::copy_n(last + i * kPanelColumns, columns, to + i * dot_.columns + first);
    }
    narrow_results(to, rows * dot_.columns, result, offset);
  }

  int64_t lhs_step() const { return lhs_begins_ ? dot_.depth : lhs_.row_step; }

  void copy_last_columns(const float* matrix, int64_t columns, float* panel) const {
    for (int64_t k = 0; k < dot_.depth; ++k, panel += kPanelColumns) {
      std::copy_n(matrix + k * rhs_.row_step, columns, panel);
      std::fill(panel + columns, panel + kPanelColumns, 0.0F);
    }
  }

  void multiply(const GemmOperand& lhs, const GemmOperand& rhs, int64_t rows, void* result,
                int64_t offset) const {
    const int64_t elements = rows * dot_.columns;
    float* const to = wide_results(elements, result, offset);
    const dnnl_status_t status =
        dnnl_sgemm(lhs.transposed, rhs.transposed, rows, dot_.columns, dot_.depth, 1, lhs.elements,
                   lhs.stride, rhs.elements, rhs.stride, 0, to, dot_.columns);
    if (status != dnnl_success)
      throw error_of_onednn(dnnl::error(status, "could not multiply matrices"));
    narrow_results(to, elements, result, offset);
  }

  RowDot dot_;
  DType operand_, result_;
  bool lhs_begins_;
  bool by_panels_ = false;
  MatrixLayout lhs_, rhs_;
  std::vector<int64_t> lhs_batch_, rhs_batch_;
};

}  // namespace

std::optional<RowDot> row_dot(const Instruction& x) {
  if (!x.is(hlo::Opcode::dot_general) || x.operand(0).dtype() != x.operand(1).dtype() ||
      !is_supported(x.operand(0).dtype(), x.dtype()))
    return std::nullopt;
  const DotAxes axes(x);
  const Shape& lhs = x.operand(0).shape();
  const Shape& rhs = x.operand(1).shape();
  if (axes.lhs_batch.empty()) return std::nullopt;
  RowDot dot{.matrix_rows = product(lhs, axes.lhs_free),
             .columns = product(rhs, axes.rhs_free),
             .depth = product(lhs, axes.lhs_contracting)};
  dot.rows = product(lhs, axes.lhs_batch) * dot.matrix_rows;
  if (dot.rows == 0 || dot.matrix_rows < kMinMatrixRows ||
      std::min(dot.columns, dot.depth) < kMinSide ||
      dot.columns * dot.depth * static_cast<int64_t>(sizeof(float)) > kMaxMatrixBytes)
    return std::nullopt;
  if (!matrix_layout(lhs, axes.lhs_free, axes.lhs_contracting) ||
      !matrix_layout(rhs, axes.rhs_contracting, axes.rhs_free))
    return std::nullopt;
  Dims order = axes.lhs_batch;
  order.insert(order.end(), axes.lhs_free.begin(), axes.lhs_free.end());
  order.insert(order.end(), axes.lhs_contracting.begin(), axes.lhs_contracting.end());
  dot.lhs_in_rows = std::ranges::is_sorted(order);
  return dot;
}

std::unique_ptr<Kernel> make_row_dot_kernel(const Instruction& dot, bool lhs_begins) {
  return std::make_unique<RowDotKernel>(dot, lhs_begins);
}

}  // namespace systole::cpu
