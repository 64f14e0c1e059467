// Products of rows by a matrix that is packed into panels (panel_product.h), which may be kept. On
// hosts with AVX-512.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "systole/backends/cpu/kernels/epilogue.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// [rows, depth] by [depth, columns], all f32. Steps in elements. The columns of the left operand
// and of the result lie side by side.
struct PanelDot {
  int64_t rows, depth, columns;
  int64_t row_step;
  int64_t rhs_row, rhs_column;
  int64_t result_row;
  // Writes row number `row` of the left operand to `to`, such as the pixels of a window; null for
  // rows that lie in memory, row_step apart.
  std::function<void(const float* lhs, int64_t row, float* to)> copy_row = nullptr;
};

// Buffers: lhs, rhs, those of the epilogue, result; the result is dense if there is an epilogue.
// Every element is summed in the order of the depth, whatever the number of threads. `keeps_rhs`:
// the packed matrix may be kept (kept_copies.h). Returns null on hosts without AVX-512.
std::unique_ptr<Kernel> make_panel_dot_kernel(const PanelDot& dot, bool keeps_rhs, int num_threads,
                                              Epilogue epilogue = {});

}  // namespace systole::cpu
