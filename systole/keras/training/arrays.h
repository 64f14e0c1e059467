// The arrays that users give to fit(), evaluate() and predict(), and their checks.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::keras {

class ModelDefinition;
struct CompileOptions;

// One array, or one for each input or output: x, {a, b}.
class ArrayList {
 public:
  ArrayList() = default;
  ArrayList(Tensor one) : arrays_{std::move(one)} {}                     // NOLINT
  ArrayList(std::vector<Tensor> arrays) : arrays_(std::move(arrays)) {}  // NOLINT
  // Not a constructor from an initializer_list: g++ ignores designators there and would read the
  // options {.epochs = 3} as the array 3.
  template <std::convertible_to<Tensor>... Others>
  ArrayList(Tensor first, Tensor second, Others... others)
      : arrays_{std::move(first), std::move(second), Tensor(std::move(others))...} {}
  bool empty() const { return arrays_.empty(); }
  const std::vector<Tensor>& all() const { return arrays_; }

 private:
  std::vector<Tensor> arrays_;
};

// The arrays of some examples: inputs, targets and sample weights of each output, in the model's
// order. Weights may be empty.
struct Arrays {
  std::vector<Tensor> x;
  std::vector<Tensor> y;
  std::vector<Tensor> sample_weights;

  int64_t examples() const { return x.empty() ? 0 : x[0].dim(0); }
};

// The arrays as a compiled model takes them: vectors get an axis, dtypes become the model's. Builds
// a Sequential model whose input was not known. `compiled`: null to take the inputs alone. Errors:
// INVALID_ARGUMENT with Keras's texts: `Error when checking input: expected dense_input to have
// shape (4,) but got array with shape (5,)`; for other numbers of arrays or examples; for targets
// and sample weights that do not fit the output, its loss and its sample_weight_mode; for class
// numbers outside of the output. Outputs without a loss need no targets: zeros stand for them.
Arrays prepare_arrays(ModelDefinition& model, const Arrays& arrays, const CompileOptions* compiled);

// The batch size that fit(), evaluate() and predict() use. A model with stateful layers takes
// batches of the size that its input has, unless `given` is not the default of 32: states of
// another batch size are states apart.
int64_t batch_size_for(const ModelDefinition& model, int64_t given);

// Errors: INVALID_ARGUMENT for a size below 1, and for a stateful model `In a stateful network, you
// should only pass inputs with a number of samples that can be divided by the batch size. ...`
void check_batch_size(const ModelDefinition& model, int64_t batch_size, int64_t examples);

// Multiplies the weight of each example by that of its class: its largest target, or the only one.
// Errors: INVALID_ARGUMENT for targets of three or more axes and for classes without a weight.
void apply_class_weight(Arrays& arrays, const std::map<int64_t, double>& class_weight,
                        const std::vector<std::string>& outputs);

// The first int(n * (1 - split)) examples and the others. Errors: INVALID_ARGUMENT unless 0 < split
// < 1, and when a part is empty.
std::pair<Arrays, Arrays> split_arrays(const Arrays& arrays, double split);

// Warns of classes that the validation has and the training lacks: arrays that are sorted by class
// lose classes in validation_split. Does nothing for targets that are no classes.
void warn_of_missing_classes(const Arrays& train, const Arrays& validation,
                             const CompileOptions& compiled,
                             const std::vector<std::string>& outputs);

}  // namespace systole::keras
