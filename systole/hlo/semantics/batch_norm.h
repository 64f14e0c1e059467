// Code shared by the three batch_norm opcodes. Values are computed in f64 and rounded once.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "systole/hlo/semantics/checks.h"

namespace systole::hlo {

// Checks that operand 0 is floating-point and has the axis feature_index, and that the operands
// from 1 on, called `names` in errors, hold one number per feature. Returns the type of the latter.
TensorType check_batch_norm(const InferContext& context,
                            std::initializer_list<std::string_view> names);

// Iterates over a tensor's elements with their features. `f` below is f(element, feature, index).
class FeatureWalk {
 public:
  FeatureWalk(const Tensor& operand, int64_t feature_index)
      : x_(operand.cast(DType::f64)),
        num_features_(static_cast<size_t>(operand.dim(static_cast<int>(feature_index)))),
        stride_(static_cast<size_t>(operand.shape().strides()[feature_index])) {}

  std::span<const double> elements() const { return x_.data<double>(); }
  double elements_per_feature() const {
    return static_cast<double>(elements().size()) / static_cast<double>(num_features_);
  }

  // Returns f64 values in the operand's shape.
  template <class F>
  Tensor map(F&& f) const {
    Tensor result(x_.type());
    for (size_t i = 0; i < elements().size(); ++i) {
      result.data<double>()[i] = f(elements()[i], feature(i), i);
    }
    return result;
  }
  // Returns one f64 number per feature.
  template <class F>
  Tensor sum(F&& f) const {
    Tensor result = Tensor::zeros(DType::f64, {static_cast<int64_t>(num_features_)});
    for (size_t i = 0; i < elements().size(); ++i) {
      result.data<double>()[feature(i)] += f(elements()[i], feature(i), i);
    }
    return result;
  }
  template <class F>
  Tensor mean(F&& f) const {
    Tensor result = sum(f);
    for (double& value : result.data<double>()) value /= elements_per_feature();
    return result;
  }

 private:
  size_t feature(size_t index) const { return index / stride_ % num_features_; }

  Tensor x_;
  size_t num_features_;
  size_t stride_;
};

// Returns scale (x - mean) / sqrt(variance + epsilon) + offset in the dtype of `scale`. `mean` and
// `variance` are f64.
Tensor normalized(const FeatureWalk& x, const Tensor& scale, const Tensor& offset,
                  const Tensor& mean, const Tensor& variance, float epsilon);

}  // namespace systole::hlo
