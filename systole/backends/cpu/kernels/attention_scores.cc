#include "systole/backends/cpu/kernels/attention_scores.h"

#include <algorithm>
#include <utility>

#include "systole/backends/cpu/kernels/panel_packing.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/score_rows.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {

namespace {

constexpr int64_t kScorePadding = 16;  // elements: rows then lie in different sets of a cache
// exp(x) is 0 in f32 from here on.
constexpr float kNoWeight = -104.0F;

}  // namespace

int64_t padded_columns(int64_t columns) {
  return (columns + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
}

void pack_panels(const float* matrix, const MatrixArray& array, int64_t rows, int64_t columns,
                 float* to) {
  pack_panels(matrix, array.row_step, array.column_step, rows, columns, to);
}

void copy_matrix_rows(const float* matrix, const MatrixArray& array, Section rows, int64_t columns,
                      float factor, float* to) {
  for (int64_t i = rows.begin; i < rows.end; ++i, to += columns) {
    const float* const from = matrix + i * array.row_step;
    if (array.column_step == 1) {
      scale_row(from, columns, factor, to);
    } else {
      for (int64_t j = 0; j < columns; ++j) to[j] = from[j * array.column_step] * factor;
    }
  }
}

void pack_transposed_panels(const float* matrix, const MatrixArray& array, int64_t rows,
                            int64_t columns, float* to) {
  const MatrixArray transposed{.row_step = array.column_step, .column_step = array.row_step};
  pack_panels(matrix, transposed, columns, rows, to);
}

// A query's scores, or gradients of them.
struct AttentionScores::Row {
  int64_t query;  // of the matrix
  Section keys;
  float* numbers;  // of all keys
};

AttentionScores::AttentionScores(Attention attention)
    : a_(std::move(attention)), score_step_(padded_columns(a_.keys) + kScorePadding) {
  // A factor is applied to the fewer elements of q.
  if (a_.steps.empty() || a_.steps[0].code != ScoreStep::Code::multiply) return;
  factor_ = a_.steps[0].number;
  a_.steps.erase(a_.steps.begin());
}

Section AttentionScores::compute(const ScoreBlock& block) const {
  copy_queries(block);
  const Section keys = seen_keys(block);
  multiply(block, keys);
  for (int64_t i = 0; i < block.queries.size(); ++i) {
    const Row row{block.queries.begin + i, keys, block.scores + i * score_step_};
    for (const ScoreStep& step : a_.steps) apply(step, block, row);
    block.greatest[i] = greatest_score(row.numbers + keys.begin, keys.size());
  }
  const Section all{0, a_.keys};
  if (keys == all || skipped_weigh_nothing(block)) return keys;
  add_skipped(block, keys);
  return all;
}

void AttentionScores::apply_backwards(const ScoreBlock& block, Section keys,
                                      float* gradients) const {
  for (int64_t i = 0; i < block.queries.size(); ++i) {
    const Row row{block.queries.begin + i, keys, gradients + i * score_step_};
    for (auto step = a_.steps.rbegin(); step != a_.steps.rend(); ++step) {
      if (step->code == ScoreStep::Code::multiply) apply(*step, block, row);
      if (step->code == ScoreStep::Code::select || step->code == ScoreStep::Code::causal)
        mask(*step, block, row, 0);
    }
  }
}

void AttentionScores::copy_queries(const ScoreBlock& block) const {
  const float* const q =
      static_cast<const float*>(block.buffers[0]) + a_.q.offsets[u(block.matrix)];
  copy_matrix_rows(q, a_.q, block.queries, a_.size, factor_, block.q);
}

// Returns the keys that the mask shows to any of these queries, beginning with a whole panel.
Section AttentionScores::seen_keys(const ScoreBlock& block) const {
  if (a_.steps.empty()) return {0, a_.keys};
  const ScoreStep& last = a_.steps.back();
  const Section queries = block.queries;
  Section seen{0, a_.keys};
  if (last.code == ScoreStep::Code::causal) {
    seen.end = std::clamp<int64_t>(queries.end + last.shift, 0, a_.keys);
  } else if (last.code == ScoreStep::Code::select && last.array.column_step == 1) {
    seen = {a_.keys, 0};
    const int64_t different = last.array.row_step == 0 ? 1 : queries.size();
    for (int64_t i = queries.begin; i < queries.begin + different; ++i) {
      const auto* const flags = static_cast<const uint8_t*>(block.buffers[u(last.buffer)]) +
                                last.array.offsets[u(block.matrix)] + i * last.array.row_step;
      const SeenRange of_row = seen_range(flags, a_.keys);
      if (of_row.end == 0) continue;
      seen = {std::min(seen.begin, of_row.begin), std::max(seen.end, of_row.end)};
    }
  }
  if (seen.size() <= 0) return {0, 0};
  return {seen.begin / kPanelColumns * kPanelColumns, seen.end};
}

void AttentionScores::multiply(const ScoreBlock& block, Section keys) const {
  PanelProduct product{.rows = block.q,
                       .row_step = a_.size,
                       .depth = a_.size,
                       .panel = nullptr,
                       .result = nullptr,
                       .result_step = score_step_};
  for (int64_t key = keys.begin; key < keys.end; key += kPanelColumns) {
    product.panel = block.k + key * a_.size;
    product.result = block.scores + key;
    product.half = keys.end - key <= kHalfPanel;
    multiply_panel(product, block.queries.size());
  }
}

void AttentionScores::apply(const ScoreStep& step, const ScoreBlock& block, const Row& row) const {
  float* const from = row.numbers + row.keys.begin;
  const int64_t count = row.keys.size();
  if (step.code == ScoreStep::Code::multiply) return multiply_scores(from, count, step.number);
  if (step.code != ScoreStep::Code::add) return mask(step, block, row, step.number);
  if (step.buffer < 0) return add_number(from, count, step.number);
  const float* const numbers = static_cast<const float*>(block.buffers[u(step.buffer)]) +
                               step.array.offsets[u(block.matrix)] +
                               row.query * step.array.row_step +
                               row.keys.begin * step.array.column_step;
  step.array.column_step == 1 ? add_numbers(from, count, numbers)
                              : add_number(from, count, *numbers);
}

void AttentionScores::mask(const ScoreStep& step, const ScoreBlock& block, const Row& row,
                           float otherwise) const {
  if (step.code == ScoreStep::Code::causal) {
    const int64_t first = std::clamp(row.query + step.shift + 1, row.keys.begin, row.keys.end);
    std::fill(row.numbers + first, row.numbers + row.keys.end, otherwise);
    return;
  }
  const uint8_t* const seen = static_cast<const uint8_t*>(block.buffers[u(step.buffer)]) +
                              step.array.offsets[u(block.matrix)] +
                              row.query * step.array.row_step +
                              row.keys.begin * step.array.column_step;
  float* const from = row.numbers + row.keys.begin;
  if (step.array.column_step == 1) return select_scores(from, row.keys.size(), seen, otherwise);
  if (*seen == 0) std::fill_n(from, row.keys.size(), otherwise);
}

bool AttentionScores::skipped_weigh_nothing(const ScoreBlock& block) const {
  const float number = a_.steps.back().number;
  return std::all_of(block.greatest, block.greatest + block.queries.size(),
                     [&](float greatest) { return number - greatest <= kNoWeight; });
}

// Writes the scores of the keys outside `keys`. They are masked for all queries of the block, so
// that each is the number which the last step, the mask, puts in place of a hidden score.
void AttentionScores::add_skipped(const ScoreBlock& block, Section keys) const {
  const float number = a_.steps.back().number;
  for (int64_t i = 0; i < block.queries.size(); ++i) {
    float* const scores = block.scores + i * score_step_;
    std::fill(scores, scores + keys.begin, number);
    std::fill(scores + keys.end, scores + a_.keys, number);
    block.greatest[i] = std::max(block.greatest[i], number);
  }
}

}  // namespace systole::cpu
