// The work of layers, for models that are written down by their sizes: activations of bfloat16,
// weights of float32.
#pragma once

#include <string>
#include <utility>

#include "systole/base/dtype.h"
#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

// Bytes of an array on a TPU, with padding.
double padded_matrix(int64_t rows, int64_t columns, DType dtype);
double padded_vector(int64_t n, DType dtype);

// The cost of a product [m, k] x [k, n] that reads and writes `bytes` of memory in all.
OpCost product_op(std::string name, int64_t m, int64_t k, int64_t n, double bytes);

// A convolution of square images.
struct ConvolutionSizes {
  int64_t size = 0;    // height of the result
  int64_t kernel = 0;  // height
  int64_t in = 0;      // features
  int64_t out = 0;
  int64_t stride = 1;
  int64_t in_size = 0;        // height of the operand; 0: size * stride
  bool is_normalized = true;  // by the batch; else it has a bias
};

// Adds up the step of a convolutional network that is trained by momentum.
class ConvNetCost {
 public:
  // `images` of one core.
  explicit ConvNetCost(int64_t images) : images_(images) {}

  // A convolution, batch normalization or bias, and ReLU, with their gradients. The images
  // themselves, of at most 3 features, have no gradient.
  void add(const ConvolutionSizes& sizes);
  // An op without products that reads and writes `bytes`.
  void add_pass(std::string name, double bytes) {
    step_.ops.push_back({.name = std::move(name), .memory_bytes = bytes});
  }
  // Bytes of the activations of all images.
  double activations(int64_t size, int64_t features) const;

  StepCost take() { return std::move(step_); }

 private:
  void add_update(const std::string& name, double weights, int64_t count);

  int64_t images_;
  StepCost step_;
};

}  // namespace systole::profile
