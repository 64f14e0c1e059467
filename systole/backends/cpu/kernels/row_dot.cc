#include "systole/backends/cpu/kernels/row_dot.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
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

  void multiply(const GemmOperand& lhs, const GemmOperand& rhs, int64_t rows, void* result,
                int64_t offset) const {
    const int64_t elements = rows * dot_.columns;
    float* const to = result_ == DType::f32 ? static_cast<float*>(result) + offset
                                            : conversion_memory(2, elements);
    const dnnl_status_t status =
        dnnl_sgemm(lhs.transposed, rhs.transposed, rows, dot_.columns, dot_.depth, 1, lhs.elements,
                   lhs.stride, rhs.elements, rhs.stride, 0, to, dot_.columns);
    if (status != dnnl_success)
      throw error_of_onednn(dnnl::error(status, "could not multiply matrices"));
    if (result_ == DType::f32) return;
    auto* const narrow = static_cast<uint16_t*>(result) + offset;
    for (int64_t i = 0; i < elements; ++i) narrow[i] = to_bf16(to[i]);
  }

  RowDot dot_;
  DType operand_, result_;
  bool lhs_begins_;
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
