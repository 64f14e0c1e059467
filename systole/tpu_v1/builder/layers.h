// Layers as instructions: how matrices and images of any size are cut into tiles.
//
// An array of F features for B vectors is stored in blocks of `array` features: block k has B rows
// from row base + k * B * planes on, where planes is 2 for 16-bit elements, else 1. The vectors of
// images are their positions, image by image, line by line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "systole/tpu_v1/builder/program_builder.h"

namespace systole::tpu_v1 {

// A part of a matrix product's input and its weights.
struct DenseInput {
  int64_t ub = 0;  // first row
  int64_t features = 0;
  std::span<const int8_t> weights =
      {};                    // [features, outputs]; empty for programs that are only timed
  int64_t matrix_flags = 0;  // beside those of the layer: kHighBytes
};

struct DenseLayer {
  std::vector<DenseInput> inputs;  // their products are added
  int64_t output = 0;              // first row
  int64_t outputs = 0;             // features
  int64_t batch = 0;
  int64_t table = 0;         // first row of the channel tables, nine rows for each block of outputs
  int64_t matrix_flags = 0;  // kInput16, signs
  int64_t activation_flags = 0;
};

// Emits a fully connected layer. Blocks of outputs use the halves of the accumulators in turn, so
// that a block is activated while the next one is multiplied. Errors: RESOURCE_EXHAUSTED for a
// batch over half of the accumulators.
void emit_dense(ProgramBuilder& builder, const DenseLayer& layer);

// A part of a convolution's input and its weights. All parts have the same images and kernel.
struct ConvolutionInput {
  int64_t ub = 0;  // first row
  int64_t channels = 1;
  std::span<const int8_t> weights =
      {};  // [kernel_y, kernel_x, channels, filters]; empty: only timed
  int64_t matrix_flags = 0;
  int64_t fill = 0;  // value of padded positions: the zero point
};

// Pooling of a layer's results on their way to the Unified Buffer.
struct Pooling {
  bool max = true;  // else the average
  int64_t window_y = 1, window_x = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t out_height = 1, out_width = 1;
};

struct ConvolutionLayer {
  std::vector<ConvolutionInput> inputs;  // their products are added
  int64_t output = 0;                    // first row
  int64_t images = 1;
  int64_t height = 1, width = 1;  // of the input
  int64_t out_height = 1, out_width = 1;
  int64_t filters = 1;
  int64_t kernel_y = 1, kernel_x = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t dilation_y = 1, dilation_x = 1;  // of the kernel
  int64_t pad_top = 0, pad_left = 0;       // may be negative: the image is cropped
  int64_t table = 0;
  int64_t activation_flags = 0;
  std::optional<Pooling> pooling = {};
};

// A pass of a convolution: one kernel position of one block of channels.
struct ConvolutionPass {
  uint32_t tile = 0;
  int64_t position = 0;  // kernel_x * y + x
  size_t input = 0;
  int64_t block = 0;  // of the input's channels
  int64_t useful_rows = 0;
};
using ConvolutionPasses = std::vector<std::vector<ConvolutionPass>>;  // by block of filters

// Cuts the weights of a convolution into tiles and adds them to the program. Tiles that hold only
// zeros are left out: a depthwise convolution needs one pass for each kernel position.
ConvolutionPasses add_convolution_tiles(ProgramBuilder& builder, const ConvolutionLayer& layer);

// Emits a convolution: one pass for each kernel position and block of channels, which reads the
// image shifted ("RS passes", section 8 of the paper). No input is copied. A pass over more
// positions than half of the accumulators is cut into parts that share its weight tile; one over
// more than all of them reads the tile again. Errors: those of ProgramBuilder; RESOURCE_EXHAUSTED
// for a line, or with pooling an image, that is larger than half of the accumulators.
void emit_convolution(ProgramBuilder& builder, const ConvolutionLayer& layer,
                      const ConvolutionPasses& passes);
void emit_convolution(ProgramBuilder& builder, const ConvolutionLayer& layer);

// Sets the registers of pooling for images of a size.
void set_pooling(ProgramBuilder& builder, const Pooling& pooling, int64_t height, int64_t width,
                 int64_t images);

// Returns the rows of an array in the Unified Buffer.
int64_t rows_of_array(const MachineConfig& config, int64_t features, int64_t vectors,
                      bool wide = false);

}  // namespace systole::tpu_v1
