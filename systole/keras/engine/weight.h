// Weights of layers. A weight belongs to its layer, not to a model: all models that use the layer
// share it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/graph/initializers/initializers.h"
#include "systole/keras/functions/constraint.h"
#include "systole/keras/functions/regularizer.h"

namespace systole::keras {

struct WeightOptions {
  Initializer initializer;  // required
  RegularizerFn regularizer = nullptr;
  ConstraintFn constraint = nullptr;
  bool trainable = true;
  DType dtype = DType::f32;
};

// Owns newer values of weights than the host has: a model that has trained on a device.
class WeightHolder {
 public:
  virtual ~WeightHolder() = default;
  // Copies the values of all weights that this holder holds to the host and gives them up.
  virtual void release_weights() = 0;
};

// A named array. Not thread-safe. Its value is in host memory or with one holder.
class Weight {
 public:
  // `name` without the layer's: "kernel".
  Weight(std::string name, Shape shape, WeightOptions options);
  Weight(const Weight&) = delete;
  Weight& operator=(const Weight&) = delete;

  const std::string& name() const { return name_; }
  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  const WeightOptions& options() const { return options_; }
  // Whether the layer declared it trainable. A layer that is frozen freezes its weights besides.
  bool trainable() const { return options_.trainable; }

  bool has_value() const { return holder_ != nullptr || host_.has_value(); }
  // Returns the current value. Runs the initializer at the first call.
  const Tensor& value();
  // Errors: INVALID_ARGUMENT for another type.
  void set_value(Tensor value);
  // Grows with each change.
  uint64_t version() const { return version_; }

  // The value now lies with `holder`, newer than the host's.
  void hold(WeightHolder* holder);
  WeightHolder* holder() const { return holder_; }
  // Takes the value back from its holder.
  void take(Tensor value);

 private:
  std::string name_;
  TensorType type_;
  WeightOptions options_;
  std::optional<Tensor> host_;
  WeightHolder* holder_ = nullptr;
  uint64_t version_ = 0;
};

using WeightPtr = std::shared_ptr<Weight>;

// Gives each weight without a value its initial value, all by one program.
void initialize(std::span<const WeightPtr> weights);
void initialize(std::span<Weight* const> weights);

}  // namespace systole::keras
