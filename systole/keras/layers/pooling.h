// Pooling. (tf.keras.layers)
//
//   st::keras::layers::MaxPooling2D()
//   st::keras::layers::AveragePooling1D(3, {.strides = 2, .padding = "same"})
//
// data_format is "channels_last" (the default) or "channels_first". Errors: INVALID_ARGUMENT for
// another number of sizes, sizes below 1, a window that is larger than its input (valid). A mask is
// refused, but for GlobalMaxPooling1D and GlobalAveragePooling1D.
#pragma once

#include <concepts>
#include <initializer_list>

#include "systole/keras/base/fields.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

enum class PoolingKind : uint8_t { max, average };

struct PoolingOptions {
  ByName by_name = ByName();
  Sizes pool_size = 2;
  Sizes strides = {};             // pool_size when empty
  std::string padding = "valid";  // or "same"; padding is not counted
  std::optional<std::string> data_format = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// The largest element or the mean of each window: [batch, sizes.., channels] -> [batch, sizes'..,
// channels]. An axis of size n becomes ceil((n - pool_size + 1) / stride) (valid) or ceil(n /
// stride) (same).
template <PoolingKind kKind, int kRank>
class Pooling : public Layer {
 public:
  explicit Pooling(Sizes pool_size = 2, PoolingOptions options = {},
                   Where where = Where::current());
  // MaxPooling2D({.strides = 2})
  explicit Pooling(PoolingOptions options, Where where = Where::current())
      : Pooling(Sizes(options.pool_size), options, where) {}
  // MaxPooling2D({3, 3}, {2, 2}), MaxPooling1D(3, {2}): with strides. (Two numbers could also mean
  // the sizes of MaxPooling2D({3, 2}).)
  template <std::integral Stride>
  Pooling(Sizes pool_size, std::initializer_list<Stride> strides, PoolingOptions options = {},
          Where where = Where::current())
      : Pooling(std::move(pool_size), with_strides(std::move(options), strides), where) {}
};
using MaxPooling1D = Pooling<PoolingKind::max, 1>;
using MaxPooling2D = Pooling<PoolingKind::max, 2>;
using MaxPooling3D = Pooling<PoolingKind::max, 3>;
using AveragePooling1D = Pooling<PoolingKind::average, 1>;
using AveragePooling2D = Pooling<PoolingKind::average, 2>;
using AveragePooling3D = Pooling<PoolingKind::average, 3>;

struct GlobalPoolingOptions {
  std::optional<std::string> data_format = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// The largest element or the mean of each channel: [batch, sizes.., channels] -> [batch, channels].
// Those of sequences take a mask [batch, steps]: masked steps do not count, and an example whose
// steps are all masked gives 0.
template <PoolingKind kKind, int kRank>
class GlobalPooling : public Layer {
 public:
  explicit GlobalPooling(GlobalPoolingOptions options = {}, Where where = Where::current());
};
using GlobalMaxPooling1D = GlobalPooling<PoolingKind::max, 1>;
using GlobalMaxPooling2D = GlobalPooling<PoolingKind::max, 2>;
using GlobalMaxPooling3D = GlobalPooling<PoolingKind::max, 3>;
using GlobalAveragePooling1D = GlobalPooling<PoolingKind::average, 1>;
using GlobalAveragePooling2D = GlobalPooling<PoolingKind::average, 2>;
using GlobalAveragePooling3D = GlobalPooling<PoolingKind::average, 3>;

// Keras's other names.
using MaxPool1D = MaxPooling1D;
using MaxPool2D = MaxPooling2D;
using MaxPool3D = MaxPooling3D;
using AvgPool1D = AveragePooling1D;
using AvgPool2D = AveragePooling2D;
using AvgPool3D = AveragePooling3D;
using GlobalMaxPool1D = GlobalMaxPooling1D;
using GlobalMaxPool2D = GlobalMaxPooling2D;
using GlobalMaxPool3D = GlobalMaxPooling3D;
using GlobalAvgPool1D = GlobalAveragePooling1D;
using GlobalAvgPool2D = GlobalAveragePooling2D;
using GlobalAvgPool3D = GlobalAveragePooling3D;

}  // namespace systole::keras::layers
