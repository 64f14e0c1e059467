// Layers that combine several tensors into one, as layers and as functions. (tf.keras.layers)
//
//   auto sum = layers::Add()({a, b});
//   auto both = layers::concatenate({a, b});
//
// Elementwise merges broadcast: shapes without the batch are aligned at their last axes, tensors of
// lower rank get axes of size 1 after the batch. Their result's mask holds where all masks of the
// inputs hold. Errors: INVALID_ARGUMENT for fewer than two inputs and for shapes that do not fit.
#pragma once

#include "systole/keras/layers/axis_list.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct MergeOptions {
  std::string name = {};
  bool trainable = true;
};

class Add : public Layer {
 public:
  explicit Add(MergeOptions options = {}, Where where = Where::current());
};
// a - b, of exactly two inputs.
class Subtract : public Layer {
 public:
  explicit Subtract(MergeOptions options = {}, Where where = Where::current());
};
class Multiply : public Layer {
 public:
  explicit Multiply(MergeOptions options = {}, Where where = Where::current());
};
class Average : public Layer {
 public:
  explicit Average(MergeOptions options = {}, Where where = Where::current());
};
class Maximum : public Layer {
 public:
  explicit Maximum(MergeOptions options = {}, Where where = Where::current());
};
class Minimum : public Layer {
 public:
  explicit Minimum(MergeOptions options = {}, Where where = Where::current());
};

struct ConcatenateOptions {
  int64_t axis = -1;
  std::string name = {};
  bool trainable = true;
};
// Joins along an axis; the other sizes are equal. Masks are joined along the time axis, and
// combined with AND along an axis that they do not have; an input without a mask counts as not
// masked.
class Concatenate : public Layer {
 public:
  explicit Concatenate(int64_t axis = -1, ConcatenateOptions options = {},
                       Where where = Where::current());
};

struct DotOptions {
  AxisList axes = -1;      // required: one axis of both, or one of each
  bool normalize = false;  // whether vectors along the axes are scaled to length 1: cosines
  std::string name = {};
  bool trainable = true;
};
// For each example the sum of products over one axis of each of two inputs: the other axes of the
// first, then those of the second; [batch, 1] where none are left. The result has no mask.
class Dot : public Layer {
 public:
  explicit Dot(AxisList axes, DotOptions options = {}, Where where = Where::current());
};

KerasTensors add(const KerasTensors& inputs, MergeOptions options = {},
                 Where where = Where::current());
KerasTensors subtract(const KerasTensors& inputs, MergeOptions options = {},
                      Where where = Where::current());
KerasTensors multiply(const KerasTensors& inputs, MergeOptions options = {},
                      Where where = Where::current());
KerasTensors average(const KerasTensors& inputs, MergeOptions options = {},
                     Where where = Where::current());
KerasTensors maximum(const KerasTensors& inputs, MergeOptions options = {},
                     Where where = Where::current());
KerasTensors minimum(const KerasTensors& inputs, MergeOptions options = {},
                     Where where = Where::current());
KerasTensors concatenate(const KerasTensors& inputs, int64_t axis = -1,
                         ConcatenateOptions options = {}, Where where = Where::current());
KerasTensors dot(const KerasTensors& inputs, AxisList axes, DotOptions options = {},
                 Where where = Where::current());

}  // namespace systole::keras::layers
