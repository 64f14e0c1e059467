// Helpers for arrays. (tf.keras.utils)
#pragma once

#include <concepts>
#include <optional>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/keras/training/sequence.h"

namespace systole::keras::utils {

using keras::Sequence;

// One-hot rows of classes: integers [...] or [..., 1] -> f32 [..., num_classes]. `num_classes` is
// the largest class + 1 if it is not given. Errors: INVALID_ARGUMENT for classes outside [0,
// num_classes), also for negative ones, which Keras counts from the end.
Tensor to_categorical(const Tensor& y, std::optional<int64_t> num_classes = std::nullopt);
template <std::integral T>
Tensor to_categorical(const std::vector<T>& y, std::optional<int64_t> num_classes = std::nullopt) {
  return to_categorical(Tensor::of<T>({static_cast<int64_t>(y.size())}, y), num_classes);
}

// x divided by its norm of this order along `axis`; norms of 0 are taken as 1. Errors:
// INVALID_ARGUMENT for an axis out of range and an order below 1.
Tensor normalize(const Tensor& x, int64_t axis = -1, int64_t order = 2);

}  // namespace systole::keras::utils
