// A quantized network, layer by layer: what compiler.h turns into programs. The layers hold
// integers only; hlo/ has made them of scales and zero points.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "systole/tpu_v1/builder/layers.h"
#include "systole/tpu_v1/isa/program.h"

namespace systole::tpu_v1 {

// An array of images with channels; a vector is an image of 1x1. The number of images is the batch,
// which all arrays of a network share.
struct NetworkArray {
  std::string name;  // of a port; messages
  int64_t height = 1;
  int64_t width = 1;
  int64_t channels = 1;
  Element element = Element::s8;
  int32_t zero_point = 0;  // what padded positions hold

  int64_t positions() const { return height * width; }
};

enum class Function : uint8_t { none, relu, sigmoid, tanh };

// The last steps of a layer (machine.h): the function, the zero point, the bounds.
struct Finish {
  Function function = Function::none;
  int32_t zero_point = 0;
  int32_t least = INT16_MIN;  // the element type narrows the bounds
  int32_t most = UINT16_MAX;
};

// A factor, multiplier * 2^(shift - 31).
struct Factor {
  int32_t multiplier = 1 << 30;
  int8_t shift = 1;
};

struct ProductInput {
  int array = 0;
  std::vector<int8_t> weights;  // [kernel_y, kernel_x, channels, filters]
};

// Fully connected layers and convolutions. sum + bias, times the filter's factor, finished. A
// fully connected layer over whole images has a kernel of their size.
struct ProductLayer {
  std::vector<ProductInput> inputs;  // of one size; their products are added
  int64_t kernel_y = 1, kernel_x = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t dilation_y = 1, dilation_x = 1;
  int64_t pad_top = 0, pad_left = 0;
  std::vector<int32_t> bias;    // by filter
  std::vector<Factor> factors;  // by filter
  Finish finish;
};

struct PoolLayer {
  int input = 0;
  Pooling pooling;
};

// Element-wise: add, multiply, or the first operand alone, as vector computes it (machine.h).
struct VectorLayer {
  enum class Kind : uint8_t { copy, add, multiply };
  Kind kind = Kind::copy;
  int a = 0;
  int b = -1;  // an array of the same size; unused by copy
  int32_t a_zero = 0, b_zero = 0;
  Factor a_factor, b_factor;  // of add
  int left_shift = 0;         // of add
  Factor out_factor;
  Finish finish;
};

struct NetworkLayer {
  std::variant<ProductLayer, PoolLayer, VectorLayer> kind;
  int output = 0;     // array
  std::string where;  // "dot_general (dense_1) at model.mlir:12", for messages
};

// The contents of an array for the whole batch, as the bytes of a port (isa/program.h).
struct NetworkConstant {
  int array = 0;
  std::string bytes;
};

struct Network {
  std::vector<NetworkArray> arrays;
  std::vector<NetworkConstant> constants;
  std::vector<NetworkLayer> layers;  // in an order in which they can run
  std::vector<int> inputs;           // arrays that the host writes
  std::vector<int> outputs;          // arrays that the host reads
  Rounding rounding = Rounding::tflite;
};

// Returns the arrays that a layer reads.
std::vector<int> arrays_read_by(const NetworkLayer& layer);

// Errors: INVALID_ARGUMENT, with the layer's place, for sizes that do not agree, arrays that are
// read before they are written or are written twice, unknown arrays, and outputs that are inputs or
// listed twice.
void check_network(const Network& network);

}  // namespace systole::tpu_v1
