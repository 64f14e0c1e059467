// Looking into a graph while it runs, and conditions that fail a run.
// (tensorflow/python/ops/logging_ops.py, control_flow_ops.py, check_ops.py, numerics.py)
//
// Conditions are tested on the device, in loops and branches too: a run in which one does not hold
// fails with INVALID_ARGUMENT, and no variable has changed (but where the host, in py_func,
// computes what is tested from variables that the same run changes). An assertion is an operation:
// what is built under ControlDependencies({assert_positive(x)}) has it tested, as does fetching it.
// In a body or a branch it is tested in any case. One that is known not to hold while the graph is
// built is an error there, at the user's line, but in a body or a branch, which may never be run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

struct PrintOptions {
  std::string message = {};
  int64_t first_n = -1;   // how often at most in a session; -1: always
  int64_t summarize = 3;  // elements of each tensor; -1: all
  std::string name = {};
};
// `input`; runs that need it write `message` and the values of `data`, "[1 2 3...][0.5]", into the
// log when they are over. The device waits for nothing: its program stays one, and what is written
// is what it computed. Constant strings among the data, as in {"loss:", loss}, are free; a computed
// one, passed or printed, takes `input` to the host, and a training step apart. A StepLoop has no
// place to write: TPUEstimator writes the values of the last step of a loop
// (estimator/print_hook.h). (tf.Print)
// Errors: UNIMPLEMENTED in the body of a loop, in a branch and in the gradient of a
// custom_gradient.
Output print_op(const Input& input, const InputList& data, const PrintOptions& options = {});

struct AssertOptions {
  std::string message = {};
  std::string name = {};
};
// Fails the run when `condition`, a pred scalar, is false. (tf.Assert)
Operation assert_op(const Input& condition, const AssertOptions& options = {});

// That it holds for all elements of x and y, broadcast. (tf.assert_equal and so on,
// tf.debugging.assert_equal)
Operation assert_equal(const Input& x, const Input& y, const AssertOptions& options = {});
Operation assert_none_equal(const Input& x, const Input& y, const AssertOptions& options = {});
Operation assert_less(const Input& x, const Input& y, const AssertOptions& options = {});
Operation assert_less_equal(const Input& x, const Input& y, const AssertOptions& options = {});
Operation assert_greater(const Input& x, const Input& y, const AssertOptions& options = {});
Operation assert_greater_equal(const Input& x, const Input& y, const AssertOptions& options = {});
Operation assert_positive(const Input& x, const AssertOptions& options = {});
Operation assert_negative(const Input& x, const AssertOptions& options = {});
Operation assert_non_positive(const Input& x, const AssertOptions& options = {});
Operation assert_non_negative(const Input& x, const AssertOptions& options = {});

struct AssertNearOptions {
  // Absent: ten times the distance from 1 to the next number of x's dtype.
  std::optional<double> rtol = std::nullopt;
  std::optional<double> atol = std::nullopt;
  std::string message = {};
  std::string name = {};
};
// |x - y| <= atol + rtol * |y|. Floating. (tf.assert_near)
Operation assert_near(const Input& x, const Input& y, const AssertNearOptions& options = {});

// What is known while the graph is built; the operation does nothing. (tf.assert_rank and so on)
Operation assert_rank(const Input& x, int rank, const AssertOptions& options = {});
Operation assert_rank_at_least(const Input& x, int rank, const AssertOptions& options = {});
Operation assert_scalar(const Input& x, const AssertOptions& options = {});
Operation assert_type(const Input& x, DType dtype, const AssertOptions& options = {});
Operation assert_integer(const Input& x, const AssertOptions& options = {});

// `tensor`; the run fails with "<message>: Tensor had NaN values" or "... Inf values" where it has
// such elements. Floating. The gradient is checked too. (tf.check_numerics)
Output check_numerics(const Input& tensor, const std::string& message,
                      const NameOptions& options = {});
// The same under the name and in the order of arguments of tf.verify_tensor_all_finite.
Output verify_tensor_all_finite(const Input& t, const std::string& msg,
                                const NameOptions& options = {});
// An operation that checks all floating tensors of the current graph as it is now, but for those in
// loops and branches and those that come after a change of a variable, which it leaves alone: the
// first in the order of building that is not finite is the one the error names.
// (tf.add_check_numerics_ops)
Operation add_check_numerics_ops();

}  // namespace systole
