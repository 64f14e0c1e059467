// Products of rows by a matrix that is packed into panels (panel_product.h), which may be kept. On
// hosts with AVX-512.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "systole/backends/cpu/kernels/epilogue.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// [rows, depth] by [depth, columns], all f32, or bf16 with f32 sums. Steps in elements. The columns
// of the left operand and of the result lie side by side.
struct PanelDot {
  int64_t rows, depth, columns;
  int64_t row_step;
  int64_t rhs_row, rhs_column;
  int64_t result_row;
  // Writes rows [first, first + count) of the left operand to `to`, `to_step` floats apart: such as
  // the pixels of windows; null for rows that lie in memory, row_step apart. Rows of bf16 are
  // pairs, as in memory.
  using CopyRows = std::function<void(const void* lhs, int64_t first, int64_t count, float* to,
                                      int64_t to_step)>;
  CopyRows copy_rows = nullptr;
  int64_t row_unit = 1;  // divides `rows`, and all numbers that copy_rows is called with
  // REQUIRES of bf16: depth and row_step are even, rhs_column is 1, and host_multiplies_bf16()
  // (onednn.h).
  bool is_bf16 = false;
  bool rounds = false;  // the result is bf16
};

// Buffers: lhs, rhs, those of the epilogue, result; the result is dense and f32 if there is an
// epilogue. Every element is summed in the order of the depth, whatever the number of threads.
// `keeps_rhs`: the packed matrix may be kept (kept_copies.h). Returns null on hosts without
// AVX-512.
std::unique_ptr<Kernel> make_panel_dot_kernel(const PanelDot& dot, bool keeps_rhs, int num_threads,
                                              Epilogue epilogue = {});

}  // namespace systole::cpu
