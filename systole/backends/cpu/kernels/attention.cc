#include "systole/backends/cpu/kernels/attention.h"

#include <algorithm>
#include <utility>

#include "systole/backends/cpu/kernels/attention_scores.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/score_rows.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/thread_memory.h"

namespace systole::cpu {
namespace {

constexpr int64_t kMinQueries = 8;
constexpr int64_t kMinKeys = 8;
constexpr int64_t kMaxHeadSize = 512;
constexpr int64_t kScoreElements = 48 * 1024;  // of a block of queries, in a second-level cache
constexpr int64_t kMaxScoreElements = 2 * kScoreElements;
constexpr int64_t kMaxBlockCalls = 4;                // of the panel product
constexpr int64_t kMinTaskQueries = 4 * kPanelRows;  // each task packs k and v
constexpr int64_t kAttentionTasks = 4;  // of a thread: a late or slow one then delays a call little

// Returns the rows of a block of at most so many scores, in whole calls of the panel product.
int64_t rows_of_block(const AttentionScores& scores, int64_t elements) {
  const int64_t calls =
      std::clamp<int64_t>(elements / scores.score_step() / kPanelRows, 1, kMaxBlockCalls);
  return std::min(calls * kPanelRows, scores.attention().queries);
}

Section queries_of_block(const Attention& a, int64_t block, int64_t rows) {
  return {block * rows, std::min((block + 1) * rows, a.queries)};
}

// A part of a task's memory. set_parts() places parts one after the other.
struct MemoryPart {
  float** begin;
  int64_t elements;
};
void set_parts(std::initializer_list<MemoryPart> parts) {
  int64_t elements = 0;
  for (const MemoryPart& part : parts) elements += part.elements;
  float* next = thread_memory(elements);
  for (const MemoryPart& part : parts) {
    *part.begin = next;
    next += part.elements;
  }
}

// Each task computes the results of some blocks of queries of one matrix.
class AttentionKernel : public Kernel {
 public:
  AttentionKernel(Attention attention, int num_threads)
      : scores_(std::move(attention)), a_(scores_.attention()) {
    block_rows_ = rows_of_block(scores_, kScoreElements);
    blocks_ = (a_.queries + block_rows_ - 1) / block_rows_;
    const int64_t matrices = std::ssize(a_.q.offsets);
    const int64_t wanted = (num_threads * kAttentionTasks + matrices - 1) / matrices;
    const int64_t most = std::max<int64_t>(a_.queries / kMinTaskQueries, 1);
    chunks_ = num_threads == 1 ? 1 : std::clamp<int64_t>(wanted, 1, std::min(most, blocks_));
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const int64_t tasks = std::ssize(a_.q.offsets) * chunks_;
    run_in_parallel(context, tasks, 1, [&](int64_t begin, int64_t end) {
      Memory memory = task_memory();
      ScoreBlock block{.buffers = buffers, .k = memory.k, .q = memory.q, .scores = memory.scores};
      block.greatest = memory.greatest;
      for (int64_t task = begin; task < end; ++task) {
        block.matrix = task / chunks_;
        if (task == begin || task % chunks_ == 0) pack(block, memory);
        const Section blocks = chunk_of(blocks_, chunks_, task % chunks_);
        for (int64_t i = blocks.begin; i < blocks.end; ++i) {
          block.queries = queries_of_block(a_, i, block_rows_);
          mix_values(block, scores_.compute(block), memory);
        }
      }
    });
  }

 private:
  struct Memory {
    float* k;         // [key panels, size, kPanelColumns]
    float* v;         // [value panels, keys, kPanelColumns]
    float* q;         // [rows, size]
    float* scores;    // [rows, score_step]
    float* mixed;     // [rows, value panels * kPanelColumns]
    float* greatest;  // [rows]
  };

  Memory task_memory() const {
    Memory m;
    set_parts({{&m.k, padded_columns(a_.keys) * a_.size},
               {&m.v, padded_columns(a_.value_size) * a_.keys},
               {&m.mixed, block_rows_ * padded_columns(a_.value_size)},
               {&m.scores, block_rows_ * scores_.score_step()},
               {&m.q, block_rows_ * a_.size},
               {&m.greatest, block_rows_}});
    return m;
  }

  void pack(const ScoreBlock& block, const Memory& memory) const {
    const size_t matrix = u(block.matrix);
    const auto* const k = static_cast<const float*>(block.buffers[1]) + a_.k.offsets[matrix];
    pack_transposed_panels(k, a_.k, a_.keys, a_.size, memory.k);
    const auto* const v = static_cast<const float*>(block.buffers[2]) + a_.v.offsets[matrix];
    pack_panels(v, a_.v, a_.keys, a_.value_size, memory.v);
  }

  void mix_values(const ScoreBlock& block, Section keys, const Memory& memory) const {
    const int64_t rows = block.queries.size();
    const int64_t step = padded_columns(a_.value_size);
    float* const sums = block.greatest;  // takes its place
    for (int64_t i = 0; i < rows; ++i) {
      sums[i] = exponentials(block.scores + i * scores_.score_step() + keys.begin, keys.size(),
                             block.greatest[i]);
    }
    for (int64_t column = 0; column < step; column += kPanelColumns) {
      multiply_panel({.rows = block.scores + keys.begin,
                      .row_step = scores_.score_step(),
                      .depth = keys.size(),
                      .panel = memory.v + column * a_.keys + keys.begin * kPanelColumns,
                      .result = memory.mixed + column,
                      .result_step = step,
                      .half = a_.value_size - column <= kHalfPanel},
                     rows);
    }
    float* const result =
        static_cast<float*>(block.buffers.back()) + a_.result.offsets[u(block.matrix)];
    for (int64_t i = 0; i < rows; ++i) {
      scale_row(memory.mixed + i * step, a_.value_size, 1 / sums[i],
                result + (block.queries.begin + i) * a_.result.row_step);
    }
  }

  AttentionScores scores_;
  const Attention& a_;
  int64_t block_rows_ = 1;
  int64_t blocks_ = 1;
  int64_t chunks_ = 1;  // tasks that share the blocks of a matrix
};

// Each task computes the gradients of one matrix. Blocks of queries add their share to the
// gradients of k and v.
class AttentionGradientKernel : public Kernel {
 public:
  explicit AttentionGradientKernel(AttentionGradient gradient)
      : scores_(std::move(gradient.forward)),
        a_(scores_.attention()),
        gradient_(std::move(gradient)),
        block_rows_(rows_of_block(scores_, kScoreElements / 2)),
        value_step_(padded_columns(a_.value_size)),
        size_step_(padded_columns(a_.size)) {}

  void run(std::span<void* const> buffers, RunContext& context) const override {
    run_in_parallel(context, std::ssize(a_.q.offsets), 1, [&](int64_t begin, int64_t end) {
      const Memory memory = task_memory();
      for (int64_t matrix = begin; matrix < end; ++matrix) run_matrix(buffers, matrix, memory);
    });
  }

 private:
  struct Memory {
    float* k;          // [key panels, size, kPanelColumns]
    float* key_rows;   // [size panels, keys, kPanelColumns]
    float* v;          // [key panels, value_size, kPanelColumns]
    float* of_k;       // [keys, size_step]
    float* of_v;       // [keys, value_step]
    float* weights;    // [rows, score_step]
    float* of_scores;  // [rows, score_step]
    float* of_q;       // [rows, size_step]
    float* q;          // [rows, size]
    float* q_panels;   // [size panels, rows, kPanelColumns]
    float* of_result;  // [rows, value_size]
    float* of_panels;  // [value panels, rows, kPanelColumns]
    float* greatest;   // [rows]
  };

  Memory task_memory() const {
    Memory m;
    const int64_t keys = padded_columns(a_.keys);
    set_parts({{&m.k, keys * a_.size},
               {&m.key_rows, size_step_ * a_.keys},
               {&m.v, keys * a_.value_size},
               {&m.of_k, a_.keys * size_step_},
               {&m.of_v, a_.keys * value_step_},
               {&m.weights, block_rows_ * scores_.score_step()},
               {&m.of_scores, block_rows_ * scores_.score_step()},
               {&m.of_q, block_rows_ * size_step_},
               {&m.q, block_rows_ * a_.size},
               {&m.q_panels, block_rows_ * size_step_},
               {&m.of_result, block_rows_ * a_.value_size},
               {&m.of_panels, block_rows_ * value_step_},
               {&m.greatest, block_rows_}});
    return m;
  }

  void run_matrix(std::span<void* const> buffers, int64_t matrix, const Memory& memory) const {
    const auto* const k = static_cast<const float*>(buffers[1]) + a_.k.offsets[u(matrix)];
    pack_transposed_panels(k, a_.k, a_.keys, a_.size, memory.k);
    pack_panels(k, a_.k, a_.keys, a_.size, memory.key_rows);
    const auto* const v = static_cast<const float*>(buffers[2]) + a_.v.offsets[u(matrix)];
    pack_transposed_panels(v, a_.v, a_.keys, a_.value_size, memory.v);
    std::fill_n(memory.of_k, a_.keys * size_step_, 0.0F);
    std::fill_n(memory.of_v, a_.keys * value_step_, 0.0F);
    ScoreBlock block{.buffers = buffers,
                     .matrix = matrix,
                     .k = memory.k,
                     .q = memory.q,
                     .scores = memory.weights,
                     .greatest = memory.greatest};
    for (int64_t first = 0; first < a_.queries; first += block_rows_) {
      block.queries = {first, std::min(first + block_rows_, a_.queries)};
      run_block(block, memory);
    }
    const size_t results = buffers.size() - 3;
    store(memory.of_k, size_step_, {0, a_.keys}, a_.size, 1, gradient_.of_k, matrix,
          buffers[results + 1]);
    store(memory.of_v, value_step_, {0, a_.keys}, a_.value_size, 1, gradient_.of_v, matrix,
          buffers[results + 2]);
  }

  void run_block(const ScoreBlock& block, const Memory& memory) const {
    const size_t results = block.buffers.size() - 3;
    const int64_t rows = block.queries.size();
    const Section keys = scores_.compute(block);
    copy_result_gradients(block, static_cast<const float*>(block.buffers[results - 1]), memory);
    multiply_by_values(rows, keys, memory);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t at = i * scores_.score_step() + keys.begin;
      const float sum = exponentials(memory.weights + at, keys.size(), block.greatest[i]);
      softmax_gradient(memory.weights + at, memory.of_scores + at, keys.size(), sum);
    }
    scores_.apply_backwards(block, keys, memory.of_scores);
    for (int64_t column = 0; column < size_step_; column += kPanelColumns) {
      multiply_panel({.rows = memory.of_scores + keys.begin,
                      .row_step = scores_.score_step(),
                      .depth = keys.size(),
                      .panel = memory.key_rows + column * a_.keys + keys.begin * kPanelColumns,
                      .result = memory.of_q + column,
                      .result_step = size_step_,
                      .half = a_.size - column <= kHalfPanel},
                     rows);
    }
    store(memory.of_q, size_step_, block.queries, a_.size, scores_.factor(), gradient_.of_q,
          block.matrix, block.buffers[results]);
    pack_panels(memory.q, {.row_step = a_.size, .column_step = 1}, rows, a_.size, memory.q_panels);
    add_over_queries(memory.of_scores, memory.q_panels, rows, keys, a_.size, memory.of_k);
    add_over_queries(memory.weights, memory.of_panels, rows, keys, a_.value_size, memory.of_v);
  }

  // Copies the gradients of the block's results to rows and to panels.
  void copy_result_gradients(const ScoreBlock& block, const float* from,
                             const Memory& memory) const {
    const int64_t rows = block.queries.size();
    copy_matrix_rows(from + gradient_.of_result.offsets[u(block.matrix)], gradient_.of_result,
                     block.queries, a_.value_size, 1, memory.of_result);
    pack_panels(memory.of_result, {.row_step = a_.value_size, .column_step = 1}, rows,
                a_.value_size, memory.of_panels);
  }

  // Writes the gradients of the weights to of_scores; softmax_gradient() turns them into those of
  // the scores.
  void multiply_by_values(int64_t rows, Section keys, const Memory& memory) const {
    for (int64_t key = keys.begin; key < keys.end; key += kPanelColumns) {
      multiply_panel({.rows = memory.of_result,
                      .row_step = a_.value_size,
                      .depth = a_.value_size,
                      .panel = memory.v + key * a_.value_size,
                      .result = memory.of_scores + key,
                      .result_step = scores_.score_step(),
                      .half = keys.end - key <= kHalfPanel},
                     rows);
    }
  }

  // sums[key] += sum over the block's queries of numbers[query][key] * their rows
  void add_over_queries(const float* numbers, const float* panels, int64_t rows, Section keys,
                        int64_t columns, float* sums) const {
    const int64_t step = padded_columns(columns);
    for (int64_t column = 0; column < step; column += kPanelColumns) {
      multiply_panel({.rows = numbers + keys.begin,
                      .row_step = 1,
                      .depth = rows,
                      .panel = panels + column * rows,
                      .result = sums + keys.begin * step + column,
                      .result_step = step,
                      .depth_step = scores_.score_step(),
                      .adds = true,
                      .half = columns - column <= kHalfPanel},
                     keys.size());
    }
  }

  static void store(const float* from, int64_t step, Section rows, int64_t columns, float factor,
                    const MatrixArray& array, int64_t matrix, void* buffer) {
    float* const to = static_cast<float*>(buffer) + array.offsets[u(matrix)];
    for (int64_t i = 0; i < rows.size(); ++i)
      scale_row(from + i * step, columns, factor, to + (rows.begin + i) * array.row_step);
  }

  AttentionScores scores_;
  const Attention& a_;
  AttentionGradient gradient_;  // `forward` is in scores_
  int64_t block_rows_;
  int64_t value_step_, size_step_;
};

}  // namespace

bool takes_attention(const Attention& a) {
  return host_has_avx512() && a.queries >= kMinQueries && a.keys >= kMinKeys && a.size > 0 &&
         a.value_size > 0 && a.size <= kMaxHeadSize && a.value_size <= kMaxHeadSize &&
         !a.q.offsets.empty() && padded_columns(a.keys) * kPanelRows <= kMaxScoreElements;
}

std::unique_ptr<Kernel> make_attention_kernel(Attention attention, int num_threads) {
  return std::make_unique<AttentionKernel>(std::move(attention), num_threads);
}

bool takes_attention_gradient(const AttentionGradient& gradient) {
  const Attention& a = gradient.forward;
  return takes_attention(a) && std::ranges::adjacent_find(a.k.offsets) == a.k.offsets.end();
}

std::unique_ptr<Kernel> make_attention_gradient_kernel(AttentionGradient gradient) {
  return std::make_unique<AttentionGradientKernel>(std::move(gradient));
}

}  // namespace systole::cpu
