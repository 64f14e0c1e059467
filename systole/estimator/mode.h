// The purpose for which a model_fn builds a model. (tf.estimator.ModeKeys)
#pragma once

#include <cstdint>
#include <string_view>

namespace systole {

enum class Mode : uint8_t { train, eval, predict };

// TensorFlow's spelling: mode == ModeKeys::TRAIN.
// NOLINTBEGIN(readability-identifier-naming)
namespace ModeKeys {
inline constexpr Mode TRAIN = Mode::train;
inline constexpr Mode EVAL = Mode::eval;
inline constexpr Mode PREDICT = Mode::predict;
}  // namespace ModeKeys
// NOLINTEND(readability-identifier-naming)

// "train", "eval", "infer".
constexpr std::string_view to_string(Mode mode) {
  return mode == Mode::train ? "train" : mode == Mode::eval ? "eval" : "infer";
}

}  // namespace systole
