// The tensors of a checkpoint, without a graph. (tensorflow/python/training/checkpoint_utils.py)
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::checkpoint_utils {

// `ckpt_dir_or_file`, here and below: a checkpoint's prefix, or a folder, whose latest it is.
// Errors: NOT_FOUND when there is no checkpoint; those of the files.

// Names and shapes, sorted by name:
//   for (const auto& [name, shape] : st::checkpoint_utils::list_variables(model_dir)) ...
// (tf.train.list_variables)
std::vector<std::pair<std::string, Shape>> list_variables(const std::string& ckpt_dir_or_file);

// The value of one; "w:0" names "w" too. Errors: NOT_FOUND for another name, with near misses.
// (tf.train.load_variable)
Tensor load_variable(const std::string& ckpt_dir_or_file, std::string_view name);

}  // namespace systole::checkpoint_utils
