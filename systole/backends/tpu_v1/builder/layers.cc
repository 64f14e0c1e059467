#include "systole/backends/tpu_v1/builder/layers.h"

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
  const int64_t lines = most / layer.out_width;
  if (lines == 0) {
    throw make_error(Code::resource_exhausted,
                     "convolution: output width, got {}, expected at most {}", layer.out_width,
                     most);
  }
  for (int64_t image = 0; image < layer.images; ++image) {
    for (int64_t line = 0; line < layer.out_height; line += lines) {
      parts.push_back({image, 1, line, std::min(lines, layer.out_height - line)});
    }
  }
  return parts;
}

int64_t plane_rows(int64_t flags, uint16_t wide) { return (flags & wide) != 0 ? 2 : 1; }

// The rows of the input that the output of a part depends on: all channels of its images.
std::vector<Access> rows_of_part(const ProgramBuilder& builder, const ConvolutionLayer& layer,
                                 const ImagePart& part) {
  const int64_t image_rows = layer.height * layer.width * plane_rows(layer.matrix_flags, kInput16);
  std::vector<Access> rows;
  for (int64_t k = 0; k < blocks_of(layer.channels, builder.config().array); ++k) {
    rows.push_back({Memory::buffer, layer.input + (k * layer.images + part.image) * image_rows,
                    part.images * image_rows, false});
  }
  return rows;
}

void emit_passes(ProgramBuilder& builder, const ConvolutionLayer& layer,
                 std::span<const ImagePart> parts, std::span<const uint32_t> tiles, int64_t block) {
  const int64_t array = builder.config().array;
  const int64_t half = builder.config().accumulators / 2;
  const int64_t planes = plane_rows(layer.matrix_flags, kInput16);
  const int64_t image_rows = layer.height * layer.width;
  size_t tile = 0;
  for (int64_t position = 0; position < layer.kernel_y * layer.kernel_x; ++position) {
    for (int64_t k = 0; k < blocks_of(layer.channels, array); ++k) {
      builder.read_weights(tiles[tile], in_block(layer.channels, array, k),
                           in_block(layer.filters, array, block));
      for (size_t p = 0; p < parts.size(); ++p) {
        const ImagePart& part = parts[p];
        builder.set(Register::conv_images, part.images);
        builder.set(Register::conv_offset_y,
                    part.line * layer.stride_y + position / layer.kernel_x - layer.pad_top);
        builder.set(Register::conv_offset_x, position % layer.kernel_x - layer.pad_left);
        const int64_t flags =
            layer.matrix_flags | (p == 0 ? kNext : 0) | (tile == 0 ? kOverwrite : 0);
        const int64_t ub = layer.input + (k * layer.images + part.image) * image_rows * planes;
        if (tile == 0) builder.wait(Unit::matrix, rows_of_part(builder, layer, part));
        builder.convolve(flags, ub, static_cast<int64_t>(p) * half, part.lines, layer.out_width);
      }
      ++tile;
    }
  }
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
            layer.matrix_flags | kNext | first,
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

void emit_convolution(ProgramBuilder& builder, const ConvolutionLayer& layer) {
  const int64_t array = builder.config().array;
  const int64_t half = builder.config().accumulators / 2;
  const int64_t out_planes = plane_rows(layer.activation_flags, kOutput16);
  const std::vector<ImagePart> parts = parts_of(layer, half);
  builder.set(Register::conv_height, layer.height);
  builder.set(Register::conv_width, layer.width);
  builder.set(Register::conv_stride_y, layer.stride_y);
  builder.set(Register::conv_stride_x, layer.stride_x);
  const int64_t vectors = layer.images * layer.out_height * layer.out_width;
  for (int64_t block = 0; block < blocks_of(layer.filters, array); ++block) {
    std::vector<uint32_t> tiles;
    for (int64_t position = 0; position < layer.kernel_y * layer.kernel_x; ++position) {
      for (int64_t k = 0; k < blocks_of(layer.channels, array); ++k) {
        tiles.push_back(tile_of(
            builder,
            {layer.weights, layer.filters, position * layer.channels + k * array, block * array,
             in_block(layer.channels, array, k), in_block(layer.filters, array, block)}));
      }
    }
    if ((layer.activation_flags & kRaw) == 0) {
      builder.set(Register::channel_table, layer.table + block * kChannelTableRows);
    }
    for (size_t first = 0; first < parts.size(); first += 2) {  // the accumulators hold two parts
      const std::span<const ImagePart> now(parts.data() + first,
                                           std::min<size_t>(2, parts.size() - first));
      emit_passes(builder, layer, now, tiles, block);
      for (size_t p = 0; p < now.size(); ++p) {
        const int64_t row = (now[p].image * layer.out_height + now[p].line) * layer.out_width;
        builder.activate(layer.activation_flags,
                         {.ub = layer.output + (block * vectors + row) * out_planes,
                          .acc = static_cast<int64_t>(p) * half,
                          .rows = positions_of(now[p], layer)});
      }
    }
  }
}

}  // namespace systole::tpu_v1
