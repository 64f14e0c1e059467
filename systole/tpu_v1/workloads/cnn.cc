// CNN0-R (AlphaGo-like) and CNN1-R (Inception-like).
#include "systole/tpu_v1/workloads/program_arrays.h"
#include "systole/tpu_v1/workloads/programs.h"

namespace systole::tpu_v1 {
namespace {

constexpr int64_t kBoard = 19;

ConvolutionLayer square_layer(int64_t images, int64_t size, int64_t channels, int64_t filters,
                              int64_t kernel) {
  return {.inputs = {{.channels = channels}},
          .images = images,
          .height = size,
          .width = size,
          .out_height = size,
          .out_width = size,
          .filters = filters,
          .kernel_y = kernel,
          .kernel_x = kernel,
          .pad_top = kernel / 2,
          .pad_left = kernel / 2,
          .activation_flags = kRelu};
}

// Part of the trunk of CNN1-R: `count` convolutions of `group` images at a time.
struct TrunkPart {
  int64_t size, channels, filters, kernel;
  int64_t count;
  int64_t group;
};

}  // namespace

Program cnn0_program(const MachineConfig& config) {
  constexpr int64_t kImages = 8;
  constexpr int64_t kPlanes = 48;
  constexpr int64_t kFilters = 256;
  ProgramBuilder builder(config);
  BufferRows rows(config);
  const int64_t vectors = kImages * kBoard * kBoard;
  const int64_t table = rows.tables(kFilters);
  read_tables(builder, table, kFilters);
  // The first layer is shallow. Its rows overlap in host memory and hold five neighbours of a
  // line: 5 * 48 channels, five passes, not 25.
  ConvolutionLayer first = square_layer(kImages, kBoard, 5 * kPlanes, kFilters, 5);
  first.kernel_x = 1;
  first.pad_left = 0;
  const int64_t input = rows.array(5 * kPlanes, vectors);
  // A line in host memory has two positions of padding at both ends.
  const int64_t line_bytes = (kBoard + 4) * kPlanes;
  for (int64_t line = 0; line < kImages * kBoard; ++line) {
    const int64_t host = builder.allocate_host(line_bytes);
    builder.read_host({.ub = input + line * kBoard, .rows = kBoard, .host = host}, 5 * kPlanes,
                      kPlanes);
  }
  std::vector<ConvolutionLayer> layers = {first};
  layers.insert(layers.end(), 13, square_layer(kImages, kBoard, kFilters, kFilters, 3));
  layers.push_back(square_layer(kImages, kBoard, kFilters, kFilters, 1));
  layers.push_back(square_layer(kImages, kBoard, kFilters, 1, 1));  // one plane of moves
  const int64_t buffers[2] = {rows.array(kFilters, vectors), rows.array(kFilters, vectors)};
  int64_t from = input;
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].inputs[0].ub = from;
    layers[i].output = buffers[i % 2];
    layers[i].table = table;
    emit_convolution(builder, layers[i]);
    from = layers[i].output;
  }
  transfer_array(builder, false, from, 1, vectors, false);
  return std::move(builder).finish();
}

// 72 convolutions and four fully connected layers: 15M and 80M weights, 2.5G multiply-adds an
// image. The first parts do not fit the Unified Buffer for 32 images and run a few images at a
// time.
Program cnn1_program(const MachineConfig& config) {
  constexpr int64_t kImages = 32;
  constexpr TrunkPart kTrunk[] = {
      {112, 21, 64, 7, 1, 1},    {56, 64, 64, 1, 1, 8},    {56, 64, 192, 3, 1, 8},
      {28, 256, 64, 1, 8, 32},   {28, 64, 96, 3, 10, 32},  {14, 576, 128, 1, 18, 32},
      {14, 128, 192, 3, 18, 32}, {7, 1024, 352, 1, 7, 32}, {7, 192, 448, 3, 8, 32}};
  ProgramBuilder builder(config);
  BufferRows rows(config);
  const int64_t table = rows.tables(4096);
  read_tables(builder, table, 4096);
  const int64_t half = (config.buffer_rows() - rows.rows(0)) / 2;
  const int64_t buffers[2] = {rows.rows(half), rows.rows(half)};
  // 32 images of 224x224x3 bytes fill half of the buffer with 98 bytes a row.
  builder.read_host({.ub = buffers[0], .rows = half, .host = builder.allocate_host(half * 98)}, 98);
  for (const TrunkPart& part : kTrunk) {
    for (int64_t i = 0; i < part.count; ++i) {
      for (int64_t image = 0; image < kImages; image += part.group) {
        ConvolutionLayer layer =
            square_layer(part.group, part.size, part.channels, part.filters, part.kernel);
        if (part.kernel == 7) layer.kernel_x = 1;  // seven neighbours of a line side by side
        layer.inputs[0].ub = buffers[i % 2];
        layer.output = buffers[1 - i % 2];
        layer.table = table;
        emit_convolution(builder, layer);
      }
    }
  }
  constexpr std::array<int64_t, 5> kSizes = {8192, 4096, 4096, 4096, 3280};
  for (size_t i = 1; i < kSizes.size(); ++i) {
    emit_dense(builder, {.inputs = {{.ub = buffers[i % 2], .features = kSizes[i - 1]}},
                         .output = buffers[1 - i % 2],
                         .outputs = kSizes[i],
                         .batch = kImages,
                         .table = table,
                         .activation_flags = kRelu});
  }
  transfer_array(builder, false, buffers[1], kSizes.back(), kImages, false);
  return std::move(builder).finish();
}

}  // namespace systole::tpu_v1
