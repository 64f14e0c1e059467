#include "systole/tpu_v1/builder/layers.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::tpu_v1 {
namespace {

int64_t blocks_of(int64_t features, int64_t array) { return (features + array - 1) / array; }
int64_t in_block(int64_t features, int64_t array, int64_t block) {
  return std::min(array, features - block * array);
}

// A block of a [rows, columns] matrix of weights as a weight tile.
struct WeightBlock {
  std::span<const int8_t> weights;
  int64_t columns;
  int64_t first_row;
  int64_t first_column;
  int64_t useful_rows;
  int64_t useful_columns;
};

uint32_t tile_of(ProgramBuilder& builder, const WeightBlock& block) {
  if (block.weights.empty()) return builder.reserve_tile();
  const int64_t array = builder.config().array;
  std::string tile(static_cast<size_t>(array * array), '\0');
  for (int64_t r = 0; r < block.useful_rows; ++r) {
    const int8_t* from =
        block.weights.data() + (block.first_row + r) * block.columns + block.first_column;
    std::copy(from, from + block.useful_columns, tile.begin() + r * array);
  }
  return builder.add_tile(std::move(tile));
}

// The positions of a convolution whose sums are in the accumulators at the same time, and the part
// of one instruction.
struct ImagePart {
  int64_t image = 0;
  int64_t images = 1;
  int64_t line = 0;  // of the output
  int64_t lines = 1;
};

int64_t positions_of(const ImagePart& part, const ConvolutionLayer& layer) {
  return part.images * part.lines * layer.out_width;
}

// Cuts the output into parts of at most `most` positions: whole images, or lines of one.
std::vector<ImagePart> parts_of(const ConvolutionLayer& layer, int64_t most) {
  std::vector<ImagePart> parts;
  const int64_t positions = layer.out_height * layer.out_width;
  if (positions <= most) {
    const int64_t count = (layer.images * positions + most - 1) / most;
    const int64_t each = std::min((layer.images + count - 1) / count, most / positions);
    for (int64_t image = 0; image < layer.images; image += each) {
      parts.push_back({image, std::min(each, layer.images - image), 0, layer.out_height});
    }
    return parts;
  }
  const int64_t lines = layer.pooling.has_value() ? 0 : most / layer.out_width;
  if (lines == 0) {
    throw make_error(Code::resource_exhausted,
                     "convolution: output of {}x{}{}, expected at most {} positions",
                     layer.out_height, layer.out_width,
                     layer.pooling.has_value() ? " before pooling" : " with one line", most);
  }
  for (int64_t image = 0; image < layer.images; ++image) {
    for (int64_t line = 0; line < layer.out_height; line += lines) {
      parts.push_back({image, 1, line, std::min(lines, layer.out_height - line)});
    }
  }
  return parts;
}

int64_t plane_rows(int64_t flags, uint16_t wide) { return (flags & wide) != 0 ? 2 : 1; }

bool is_dense(const ConvolutionLayer& layer) {
  return layer.height * layer.width * layer.kernel_y * layer.kernel_x * layer.out_height *
                 layer.out_width ==
             1 &&
         layer.pad_top == 0 && layer.pad_left == 0;
}

// The rows of the input that the output of a part depends on: all channels of its images.
std::vector<Access> rows_of_part(const ProgramBuilder& builder, const ConvolutionLayer& layer,
                                 const ImagePart& part) {
  std::vector<Access> rows;
  for (const ConvolutionInput& input : layer.inputs) {
    const int64_t image_rows =
        layer.height * layer.width * plane_rows(input.matrix_flags, kInput16);
    for (int64_t k = 0; k < blocks_of(input.channels, builder.config().array); ++k) {
      rows.push_back({Memory::buffer, input.ub + (k * layer.images + part.image) * image_rows,
                      part.images * image_rows, false});
    }
  }
  return rows;
}

// Multiplies one part of the images with the tile of a pass.
void emit_pass(ProgramBuilder& builder, const ConvolutionLayer& layer, const ImagePart& part,
               const ConvolutionPass& pass, int64_t flags, int64_t acc) {
  const ConvolutionInput& input = layer.inputs[pass.input];
  const int64_t planes = plane_rows(input.matrix_flags, kInput16);
  const int64_t ub =
      input.ub + (pass.block * layer.images + part.image) * layer.height * layer.width * planes;
  if (is_dense(layer)) {
    builder.matmul(flags | input.matrix_flags, {.ub = ub, .acc = acc, .rows = part.images});
    return;
  }
  builder.set(Register::fill, input.fill);
  builder.set(Register::conv_images, part.images);
  builder.set(Register::conv_offset_y, part.line * layer.stride_y +
                                           pass.position / layer.kernel_x * layer.dilation_y -
                                           layer.pad_top);
  builder.set(Register::conv_offset_x,
              pass.position % layer.kernel_x * layer.dilation_x - layer.pad_left);
  builder.convolve(flags | input.matrix_flags, ub, acc, part.lines, layer.out_width);
}

void emit_passes(ProgramBuilder& builder, const ConvolutionLayer& layer,
                 std::span<const ImagePart> parts, std::span<const ConvolutionPass> passes,
                 int64_t block) {
  const int64_t array = builder.config().array;
  const int64_t half = builder.config().accumulators / 2;
  for (size_t i = 0; i < passes.size(); ++i) {
    builder.read_weights(passes[i].tile, passes[i].useful_rows,
                         in_block(layer.filters, array, block));
    for (size_t p = 0; p < parts.size(); ++p) {
      if (i == 0) builder.wait(Unit::matrix, rows_of_part(builder, layer, parts[p]));
      const int64_t flags = (p == 0 ? kNext : 0) | (i == 0 ? kOverwrite : 0);
      emit_pass(builder, layer, parts[p], passes[i], flags, static_cast<int64_t>(p) * half);
    }
  }
}

bool is_zero(std::span<const int8_t> weights, int64_t columns, const WeightBlock& block) {
  if (weights.empty()) return false;
  for (int64_t r = 0; r < block.useful_rows; ++r) {
    const int8_t* row = weights.data() + (block.first_row + r) * columns + block.first_column;
    if (std::any_of(row, row + block.useful_columns, [](int8_t w) { return w != 0; })) return false;
  }
  return true;
}

// Activates the sums of a part and stores them.
void emit_results(ProgramBuilder& builder, const ConvolutionLayer& layer, const ImagePart& part,
                  int64_t block, int64_t acc) {
  const int64_t out_planes = plane_rows(layer.activation_flags, kOutput16);
  int64_t flags = layer.activation_flags;
  int64_t positions = layer.out_height * layer.out_width;  // stored for an image
  if (layer.pooling.has_value()) {
    flags |= layer.pooling->max ? kMaxPool : kAveragePool;
    positions = layer.pooling->out_height * layer.pooling->out_width;
    set_pooling(builder, *layer.pooling, layer.out_height, layer.out_width, part.images);
  }
  const int64_t row = (block * layer.images + part.image) * positions + part.line * layer.out_width;
  builder.activate(
      flags,
      {.ub = layer.output + row * out_planes, .acc = acc, .rows = positions_of(part, layer)});
}

}  // namespace

int64_t rows_of_array(const MachineConfig& config, int64_t features, int64_t vectors, bool wide) {
  return blocks_of(features, config.array) * vectors * (wide ? 2 : 1);
}

void emit_dense(ProgramBuilder& builder, const DenseLayer& layer) {
  const int64_t array = builder.config().array;
  const int64_t half = builder.config().accumulators / 2;
  if (layer.batch > half) {
    throw make_error(Code::resource_exhausted,
                     "fully connected layer: batch, got {}, expected at most {}", layer.batch,
                     half);
  }
  const int64_t planes = plane_rows(layer.matrix_flags, kInput16);
  const int64_t out_planes = plane_rows(layer.activation_flags, kOutput16);
  std::vector<Access> input_rows;
  for (const DenseInput& input : layer.inputs) {
    const int64_t rows = rows_of_array(builder.config(), input.features, layer.batch, planes == 2);
    input_rows.push_back({Memory::buffer, input.ub, rows, false});
  }
  builder.wait(Unit::matrix, input_rows);
  for (int64_t block = 0; block < blocks_of(layer.outputs, array); ++block) {
    const int64_t acc = block % 2 * half;
    int64_t first = kOverwrite;
    for (const DenseInput& input : layer.inputs) {
      for (int64_t k = 0; k < blocks_of(input.features, array); ++k) {
        const WeightBlock weights{input.weights,
                                  layer.outputs,
                                  k * array,
                                  block * array,
                                  in_block(input.features, array, k),
                                  in_block(layer.outputs, array, block)};
        builder.read_weights(tile_of(builder, weights), weights.useful_rows,
                             weights.useful_columns);
        builder.matmul(
            layer.matrix_flags | input.matrix_flags | kNext | first,
            {.ub = input.ub + k * layer.batch * planes, .acc = acc, .rows = layer.batch});
        first = 0;
      }
    }
    if ((layer.activation_flags & kRaw) == 0) {
      builder.set(Register::channel_table, layer.table + block * kChannelTableRows);
    }
    builder.activate(
        layer.activation_flags,
        {.ub = layer.output + block * layer.batch * out_planes, .acc = acc, .rows = layer.batch});
  }
}

ConvolutionPasses add_convolution_tiles(ProgramBuilder& builder, const ConvolutionLayer& layer) {
  const int64_t array = builder.config().array;
  ConvolutionPasses passes;
  for (int64_t block = 0; block < blocks_of(layer.filters, array); ++block) {
    std::vector<ConvolutionPass>& all = passes.emplace_back();
    for (int64_t position = 0; position < layer.kernel_y * layer.kernel_x; ++position) {
      for (size_t i = 0; i < layer.inputs.size(); ++i) {
        const ConvolutionInput& input = layer.inputs[i];
        for (int64_t k = 0; k < blocks_of(input.channels, array); ++k) {
          const WeightBlock weights{input.weights,
                                    layer.filters,
                                    position * input.channels + k * array,
                                    block * array,
                                    in_block(input.channels, array, k),
                                    in_block(layer.filters, array, block)};
          const bool last = position + 1 == layer.kernel_y * layer.kernel_x &&
                            i + 1 == layer.inputs.size() &&
                            k + 1 == blocks_of(input.channels, array);
          if (is_zero(input.weights, layer.filters, weights) && !(last && all.empty())) continue;
          all.push_back({tile_of(builder, weights), position, i, k, weights.useful_rows});
        }
      }
    }
  }
  return passes;
}

void set_pooling(ProgramBuilder& builder, const Pooling& pooling, int64_t height, int64_t width,
                 int64_t images) {
  builder.set(Register::pool_images, images);
  builder.set(Register::pool_height, height);
  builder.set(Register::pool_width, width);
  builder.set(Register::pool_window_y, pooling.window_y);
  builder.set(Register::pool_window_x, pooling.window_x);
  builder.set(Register::pool_stride_y, pooling.stride_y);
  builder.set(Register::pool_stride_x, pooling.stride_x);
  builder.set(Register::pool_offset_y, -pooling.pad_top);
  builder.set(Register::pool_offset_x, -pooling.pad_left);
  builder.set(Register::pool_out_height, pooling.out_height);
  builder.set(Register::pool_out_width, pooling.out_width);
}

void emit_convolution(ProgramBuilder& builder, const ConvolutionLayer& layer) {
  emit_convolution(builder, layer, add_convolution_tiles(builder, layer));
}

void emit_convolution(ProgramBuilder& builder, const ConvolutionLayer& layer,
                      const ConvolutionPasses& passes) {
  const int64_t half = builder.config().accumulators / 2;
  const std::vector<ImagePart> parts = parts_of(layer, half);
  if (!is_dense(layer)) {
    builder.set(Register::conv_height, layer.height);
    builder.set(Register::conv_width, layer.width);
    builder.set(Register::conv_stride_y, layer.stride_y);
    builder.set(Register::conv_stride_x, layer.stride_x);
  }
  for (size_t block = 0; block < passes.size(); ++block) {
    const auto number = static_cast<int64_t>(block);
    if ((layer.activation_flags & kRaw) == 0) {
      builder.set(Register::channel_table, layer.table + number * kChannelTableRows);
    }
    for (size_t first = 0; first < parts.size(); first += 2) {  // the accumulators hold two parts
      const std::span<const ImagePart> now(parts.data() + first,
                                           std::min<size_t>(2, parts.size() - first));
      emit_passes(builder, layer, now, passes[block], number);
      for (size_t p = 0; p < now.size(); ++p) {
        emit_results(builder, layer, now[p], number, static_cast<int64_t>(p) * half);
      }
    }
  }
}

}  // namespace systole::tpu_v1
