// Kernels of attention, softmax(q . k) . v, and of its gradient. They keep the scores of a block of
// queries at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Matrices of one size within an array. Offsets and steps in elements.
struct MatrixArray {
  std::vector<int64_t> offsets;  // of each matrix, from the start of the array
  int64_t row_step = 0;
  int64_t column_step = 0;
  friend bool operator==(const MatrixArray&, const MatrixArray&) = default;
};

// An elementwise operation on the scores, between q . k and the softmax. Rows of its array are
// queries, columns are keys. A step of 0 broadcasts the array along that axis; `column_step` is 0
// or 1.
struct ScoreStep {
  enum class Code : char {
    multiply,  // by `number`
    add,       // an array of f32, or `number`
    select,    // `number` where an array of pred is false
    causal,    // `number` where key > query + shift
  };
  Code code;
  float number = 0;
  int64_t shift = 0;
  int buffer = -1;    // number of the array among the kernel's buffers; -1: none
  MatrixArray array;  // unused without a buffer
};

// f32. For each matrix: result[queries, value_size] = softmax(steps(q . k)) . v with q [queries,
// size], k [keys, size], v [keys, value_size].
struct Attention {
  int64_t queries, keys, size, value_size;
  MatrixArray q, k, v, result;
  std::vector<ScoreStep> steps;
};

// Returns whether the kernel takes it: on hosts with AVX-512, unless the matrices are too small to
// gain from it or the scores of a block of queries do not fit in the second-level cache.
bool takes_attention(const Attention& attention);

// Buffers: q, k, v, the arrays of the steps, the result, whose rows are dense. Results do not
// depend on the number of threads, bit by bit. Keys that a mask hides from all queries of a block
// are skipped if their weights are 0, so that NaN or infinity in their rows of v does not reach the
// result.
// REQUIRES: takes_attention(attention).
std::unique_ptr<Kernel> make_attention_kernel(Attention attention, int num_threads);

// Computes the gradients of q, k and v from q, k, v and the gradient of the result.
struct AttentionGradient {
  Attention forward;  // without `result`
  MatrixArray of_result;
  MatrixArray of_q, of_k, of_v;  // rows are dense
};

// As takes_attention(). Besides, no two matrices may share their k.
bool takes_attention_gradient(const AttentionGradient& gradient);

// Buffers: q, k, v, the arrays of the steps, the result's gradient; the gradients of q, k and v.
// Otherwise as make_attention_kernel. REQUIRES: takes_attention_gradient(gradient).
std::unique_ptr<Kernel> make_attention_gradient_kernel(AttentionGradient gradient);

}  // namespace systole::cpu
