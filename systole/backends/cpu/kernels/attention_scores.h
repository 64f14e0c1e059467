// The scores of an attention, for the kernel and its gradient, a block of queries at a time. All
// functions need host_has_avx512() (panel_product.h).
#pragma once

#include <span>

#include "systole/backends/cpu/kernels/attention.h"
#include "systole/backends/cpu/kernels/parallel.h"

namespace systole::cpu {

// Rounds up to whole panels (panel_product.h).
int64_t padded_columns(int64_t columns);

// Copies a matrix [rows, columns] to panels of its columns, [panels, rows, kPanelColumns].
void pack_panels(const float* matrix, const MatrixArray& array, int64_t rows, int64_t columns,
                 float* to);
// The same for the matrix's transpose, [columns, rows], to [panels, columns, kPanelColumns].
void pack_transposed_panels(const float* matrix, const MatrixArray& array, int64_t rows,
                            int64_t columns, float* to);

// Copies rows of a matrix, times the factor, to [rows, columns].
void copy_matrix_rows(const float* matrix, const MatrixArray& array, Section rows, int64_t columns,
                      float factor, float* to);

// A block of queries of a matrix, and the memory of its task.
struct ScoreBlock {
  std::span<void* const> buffers;  // of the kernel
  int64_t matrix = 0;
  Section queries;
  const float* k = nullptr;   // [key panels, size, kPanelColumns]
  float* q = nullptr;         // [queries, size], times the factor
  float* scores = nullptr;    // [queries, score_step()]
  float* greatest = nullptr;  // [queries]
};

// Computes blocks of scores. Thread-safe: writes only to the memory of the block.
class AttentionScores {
 public:
  explicit AttentionScores(Attention attention);

  const Attention& attention() const { return a_; }
  // The first step's factor, which is applied to q instead of the scores; 1 if there is none.
  float factor() const { return factor_; }
  int64_t score_step() const { return score_step_; }

  // Writes q, the scores after all steps, and the maximum of each query's scores. Returns the keys
  // that have scores, beginning with a whole panel: the softmax weights of all others are 0.
  Section compute(const ScoreBlock& block) const;

  // Turns gradients of the last step's result, laid out as scores, into those of q . k, but for
  // factor().
  void apply_backwards(const ScoreBlock& block, Section keys, float* gradients) const;

 private:
  struct Row;
  void copy_queries(const ScoreBlock& block) const;
  Section seen_keys(const ScoreBlock& block) const;
  void multiply(const ScoreBlock& block, Section keys) const;
  void apply(const ScoreStep& step, const ScoreBlock& block, const Row& row) const;
  void mask(const ScoreStep& step, const ScoreBlock& block, const Row& row, float otherwise) const;
  bool skipped_weigh_nothing(const ScoreBlock& block) const;
  void add_skipped(const ScoreBlock& block, Section keys) const;

  Attention a_;
  float factor_ = 1;
  int64_t score_step_;
};

}  // namespace systole::cpu
