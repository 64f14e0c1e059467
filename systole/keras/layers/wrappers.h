// Layers around layers. (tf.keras.layers: wrappers)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct BidirectionalOptions {
  std::optional<Layer> layer = std::nullopt;         // required
  std::optional<std::string> merge_mode = "concat";  // or "sum", "mul", "ave", or none
  std::vector<Tensor> weights = {};                  // the first ones, forward then backward
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// A recurrent layer and a copy that reads the sequence backwards. Takes over `layer`, and renames
// it forward_<name>. Outputs: both layers' outputs merged, or one after the other without
// merge_mode; with return_state they are followed by the forward and then the backward states.
// Outputs of all steps are in the order of the sequence. An initial_state has the forward states,
// then the backward ones.
class Bidirectional : public Layer {
 public:
  explicit Bidirectional(const Layer& layer, BidirectionalOptions options = {},
                         Where where = Where::current());
};

struct TimeDistributedOptions {
  std::optional<Layer> layer = std::nullopt;  // required
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// Applies a layer or model to each step: [batch, time, ...] -> [batch, time, ...]. The layer is
// called once, on [batch * time, ...]. The mask of the steps passes.
class TimeDistributed : public Layer {
 public:
  explicit TimeDistributed(const Layer& layer, TimeDistributedOptions options = {},
                           Where where = Where::current());
};

}  // namespace systole::keras::layers
