// Dropout of whole channels. (tf.keras.layers)
#pragma once

#include "systole/keras/base/fields.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct SpatialDropoutOptions {
  double rate = 0;  // required; in [0, 1): the part of the channels that is dropped
  std::optional<int64_t> seed = std::nullopt;
  std::optional<std::string> data_format = std::nullopt;  // of images and volumes
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// In training, zeroes whole channels of each example at random and divides the others by 1 - rate.
// [batch, steps, channels] (1D), [batch, sizes.., channels] or [batch, channels, sizes..]. Passes
// masks. Source: Tompson et al., arXiv 1411.4280.
template <int kRank>
class SpatialDropout : public Layer {
 public:
  explicit SpatialDropout(double rate, SpatialDropoutOptions options = {},
                          Where where = Where::current());
  explicit SpatialDropout(SpatialDropoutOptions options, Where where = Where::current())
      : SpatialDropout(options.rate, options, where) {}
};
using SpatialDropout1D = SpatialDropout<1>;
using SpatialDropout2D = SpatialDropout<2>;
using SpatialDropout3D = SpatialDropout<3>;

}  // namespace systole::keras::layers
