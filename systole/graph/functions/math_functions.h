// Mathematics made of the ops of math_ops.h. (tensorflow/python/ops/math_ops.py, linalg_ops.py)
#pragma once

#include <string>

#include "systole/graph/api/math_ops.h"

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

// `num` floating values from `start` to `stop`, both included. Errors: num below 1. (tf.linspace)
Output linspace(const Input& start, const Input& stop, int64_t num,
                const NameOptions& options = {});

// x / y as Python 2 writes it: floordiv of integers, realdiv of floating operands. (tf.div)
Output div(const Input& x, const Input& y, const NameOptions& options = {});
// x / y, 0 where y is 0, with no gradient there. Floating. (tf.div_no_nan)
Output div_no_nan(const Input& x, const Input& y, const NameOptions& options = {});

struct ConfusionMatrixOptions {
  Input labels;             // integers in [0, num_classes)
  Input predictions;        // integers in [0, num_classes)
  int64_t num_classes = 0;  // required
  DType dtype = DType::s32;
  Input weights = 1.0F;  // of the labels' shape, or one number
  std::string name = {};
};
// [num_classes, num_classes]: how often label i was predicted as j. Counted in f32, exact up to
// 2^24; in f64 where dtype or the weights are. What is out of range is not counted, where
// TensorFlow's CPU has an error. (tf.confusion_matrix; over many batches metrics::confusion_matrix)
Output confusion_matrix(const ConfusionMatrixOptions& options);

}  // namespace systole
