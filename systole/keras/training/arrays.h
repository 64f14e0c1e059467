// Checks and conversions of the arrays that users give to fit(), evaluate() and predict().
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/keras/training/trainer.h"

namespace systole::keras {

// The arrays as a model takes them: vectors get an axis, dtypes become the model's. Builds a
// Sequential model whose input was not known. `y` is null for predict. Errors: INVALID_ARGUMENT
// with Keras's texts `Error when checking input: expected dense_input to have shape (4,) but got
// array with shape (5,)`.
Arrays prepare_arrays(ModelDefinition& model, std::span<const Tensor> x,
                      const std::vector<Tensor>* y, std::span<const Tensor> sample_weights);

// Adds the weight of each example's class: by the largest target, or the only one.
void apply_class_weight(Arrays& arrays, const std::map<int64_t, double>& class_weight,
                        const std::vector<std::string>& outputs);

// The first int(n * (1 - split)) examples and the others. Errors: INVALID_ARGUMENT unless 0 < split
// < 1, and when a part is empty.
std::pair<Arrays, Arrays> split_arrays(const Arrays& arrays, double split);

}  // namespace systole::keras
