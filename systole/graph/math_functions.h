// Mathematics made of the ops of math_ops.h. (tensorflow/python/ops/math_ops.py, linalg_ops.py)
#pragma once

#include <optional>
#include <string>

#include "systole/graph/math_ops.h"

namespace systole {

struct NormOptions {
  double ord = 2;  // 1, 2, or any p > 0; infinity takes the largest; over several axes only 2
  Axes axis = {};
  bool keepdims = false;
  std::string name = {};
};
// sum(|x|^p)^(1/p) over `axis`, of vectors; floating. The gradient of the Euclidean norm at 0 is 0,
// where TensorFlow's is NaN. Over two axes it is the Frobenius norm of the matrices; UNIMPLEMENTED:
// other norms of matrices. (tf.norm)
Output norm(const Input& tensor, const NormOptions& options = {});

struct CountNonzeroOptions {
  Axes axis = {};
  bool keepdims = false;
  DType dtype = DType::s64;
  std::string name = {};
};
// (tf.count_nonzero)
Output count_nonzero(const Input& input_tensor, const CountNonzeroOptions& options = {});

struct EyeOptions {
  std::optional<int64_t> num_columns = std::nullopt;  // num_rows when absent
  DType dtype = DType::f32;
  std::string name = {};
};
// Ones on the diagonal, else zeros: [num_rows, num_columns]. (tf.eye)
Output eye(int64_t num_rows, const EyeOptions& options = {},
           Input::Where where = Input::Where::current());

// `num` floating values from `start` to `stop`, both included. Errors: num below 1. (tf.linspace)
Output linspace(const Input& start, const Input& stop, int64_t num,
                const NameOptions& options = {});

struct SequenceMaskOptions {
  DType dtype = DType::pred;
  std::string name = {};
};
// lengths: integers of any shape; result: [lengths' shape, maxlen], true before each length.
// Errors: INVALID_ARGUMENT for another dtype, and maxlen below 0. (tf.sequence_mask)
Output sequence_mask(const Input& lengths, int64_t maxlen, const SequenceMaskOptions& options = {});

}  // namespace systole
