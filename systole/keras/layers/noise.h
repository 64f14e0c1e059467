// Layers that add noise in training and pass their input otherwise. (tf.keras.layers)
#pragma once

#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct GaussianNoiseOptions {
  double stddev = 0;  // required
  std::optional<int64_t> seed = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// x + N(0, stddev).
class GaussianNoise : public Layer {
 public:
  explicit GaussianNoise(double stddev, GaussianNoiseOptions options = {},
                         Where where = Where::current());
  explicit GaussianNoise(GaussianNoiseOptions options, Where where = Where::current())
      : GaussianNoise(options.stddev, options, where) {}
};

struct GaussianDropoutOptions {
  double rate = 0;  // required; in [0, 1)
  std::optional<int64_t> seed = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// x N(1, sqrt(rate / (1 - rate))). Source: Srivastava et al., JMLR 15, 2014, section 10.
class GaussianDropout : public Layer {
 public:
  explicit GaussianDropout(double rate, GaussianDropoutOptions options = {},
                           Where where = Where::current());
  explicit GaussianDropout(GaussianDropoutOptions options, Where where = Where::current())
      : GaussianDropout(options.rate, options, where) {}
};

struct AlphaDropoutOptions {
  double rate = 0;  // required; in [0, 1): the part that is dropped
  std::optional<std::vector<int64_t>> noise_shape = std::nullopt;  // -1: the input's size
  std::optional<int64_t> seed = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// Sets elements to selu's negative saturation and scales all so that standardised inputs keep mean
// 0 and variance 1. Source: Klambauer et al., arXiv 1706.02515.
class AlphaDropout : public Layer {
 public:
  explicit AlphaDropout(double rate, AlphaDropoutOptions options = {},
                        Where where = Where::current());
  explicit AlphaDropout(AlphaDropoutOptions options, Where where = Where::current())
      : AlphaDropout(options.rate, options, where) {}
};

}  // namespace systole::keras::layers
