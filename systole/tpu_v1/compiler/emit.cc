#include "systole/tpu_v1/compiler/emit.h"

#include <algorithm>

namespace systole::tpu_v1 {
namespace {

constexpr Factor kUnchanged;  // 2^30 * 2^(1 - 31)

int64_t matrix_flags_of(Element element) {
  if (element == Element::s16) return kInput16;
  return element == Element::u8 ? kUnsignedInput : 0;
}

int64_t planes_of(Element element) { return element == Element::s16 ? 2 : 1; }

void set_factor(ProgramBuilder& builder, Register multiplier, Register shift,
                const Factor& factor) {
  builder.set(multiplier, factor.multiplier);
  builder.set(shift, factor.shift);
}

}  // namespace

std::string product_table_bytes(const ProductLayer& product, int array) {
  std::vector<int32_t> multipliers;
  std::vector<int8_t> shifts;
  for (const Factor& factor : product.factors) {
    multipliers.push_back(factor.multiplier);
    shifts.push_back(factor.shift);
  }
  std::string bytes;
  const auto block = static_cast<size_t>(array);
  for (size_t first = 0; first < product.bias.size(); first += block) {
    const size_t count = std::min(block, product.bias.size() - first);
    bytes += channel_table_bytes(array, std::span(product.bias).subspan(first, count),
                                 std::span<const int32_t>(multipliers).subspan(first, count),
                                 std::span<const int8_t>(shifts).subspan(first, count));
  }
  return bytes;
}

ConvolutionLayer product_shape(const Network& network, const ProductLayer& product, int output) {
  const auto array = [&](int index) -> const NetworkArray& { return network.arrays[index]; };
  const NetworkArray& from = array(product.inputs.front().array);
  const NetworkArray& to = array(output);
  ConvolutionLayer shape{.height = from.height,
                         .width = from.width,
                         .out_height = to.height,
                         .out_width = to.width,
                         .filters = to.channels,
                         .kernel_y = product.kernel_y,
                         .kernel_x = product.kernel_x,
                         .stride_y = product.stride_y,
                         .stride_x = product.stride_x,
                         .dilation_y = product.dilation_y,
                         .dilation_x = product.dilation_x,
                         .pad_top = product.pad_top,
                         .pad_left = product.pad_left,
                         .activation_flags = result_flags(product.finish, to.element)};
  for (const ProductInput& input : product.inputs) {
    const NetworkArray& a = array(input.array);
    shape.inputs.push_back({.channels = a.channels,
                            .weights = input.weights,
                            .matrix_flags = matrix_flags_of(a.element),
                            .fill = a.zero_point});
  }
  return shape;
}

int64_t result_flags(const Finish& finish, Element element) {
  int64_t flags = 0;
  if (finish.function == Function::relu) flags |= kRelu;
  if (finish.function == Function::sigmoid) flags |= kSigmoid;
  if (finish.function == Function::tanh) flags |= kTanh;
  if (element == Element::s16) flags |= kOutput16;
  if (element == Element::u8) flags |= kUnsignedOutput;
  return flags;
}

void set_finish(ProgramBuilder& builder, const Finish& finish) {
  builder.set(Register::output_zero, finish.zero_point);
  builder.set(Register::output_min, finish.least);
  builder.set(Register::output_max, finish.most);
}

void emit_pool(ProgramBuilder& builder, const Network& network, const PoolLayer& pool, int output,
               int64_t images, std::span<const int64_t> rows) {
  const NetworkArray& from = network.arrays[pool.input];
  const NetworkArray& to = network.arrays[output];
  const int64_t planes = planes_of(from.element);
  int64_t flags = result_flags({}, to.element) | (pool.pooling.max ? kMaxPool : kAveragePool);
  if (from.element == Element::s16) flags |= kA16;
  if (from.element == Element::u8) flags |= kUnsignedOperands;
  builder.set(Register::a_zero, 0);
  set_factor(builder, Register::out_multiplier, Register::out_shift, kUnchanged);
  set_finish(builder, {});
  set_pooling(builder, pool.pooling, from.height, from.width, images);
  const int64_t blocks = rows_of_array(builder.config(), from.channels, 1);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t in_rows = images * from.positions();
    const int64_t out_rows = images * to.positions();
    builder.vector(flags, {.ub = rows[output] + block * out_rows * planes,
                           .source = rows[pool.input] + block * in_rows * planes,
                           .rows = in_rows});
  }
}

void emit_vector(ProgramBuilder& builder, const Network& network, const VectorLayer& layer,
                 int output, int64_t images, std::span<const int64_t> rows) {
  const NetworkArray& a = network.arrays[layer.a];
  const NetworkArray& to = network.arrays[output];
  int64_t flags = result_flags(layer.finish, to.element);
  if (a.element == Element::s16) flags |= kA16;
  if (a.element == Element::u8) flags |= kUnsignedOperands;
  builder.set(Register::a_zero, layer.a_zero);
  int64_t b_row = 0;
  if (layer.kind != VectorLayer::Kind::copy) {
    flags |= layer.kind == VectorLayer::Kind::add ? kAdd : kMultiply;
    if (network.arrays[layer.b].element == Element::s16) flags |= kB16;
    builder.set(Register::b_zero, layer.b_zero);
    b_row = rows[layer.b];
  }
  if (layer.kind == VectorLayer::Kind::add) {
    set_factor(builder, Register::a_multiplier, Register::a_shift, layer.a_factor);
    set_factor(builder, Register::b_multiplier, Register::b_shift, layer.b_factor);
    builder.set(Register::left_shift, layer.left_shift);
  }
  set_factor(builder, Register::out_multiplier, Register::out_shift, layer.out_factor);
  set_finish(builder, layer.finish);
  const int64_t vectors = rows_of_array(builder.config(), to.channels, images * to.positions());
  builder.vector(flags, {.ub = rows[output], .source = rows[layer.a], .rows = vectors}, b_row);
}

void emit_transfer(ProgramBuilder& builder, const NetworkArray& array, const SideBySide* form,
                   const Transfer& transfer) {
  if (form != nullptr) {
    const int64_t line_bytes = form->line * form->channels;
    builder.read_host({.ub = transfer.ub,
                       .rows = transfer.images * array.positions(),
                       .host = transfer.host + transfer.first * array.height * line_bytes +
                               form->start * form->channels},
                      form->bytes, form->stride * form->channels);
    return;
  }
  const int64_t row_bytes = builder.config().array;
  const int64_t rows = transfer.images * array.positions() * planes_of(array.element);
  const int64_t before = transfer.first * array.positions() * planes_of(array.element);
  for (int64_t channel = 0; channel < array.channels; channel += row_bytes) {
    const ProgramBuilder::Rows where{.ub = transfer.ub + channel / row_bytes * rows,
                                     .rows = rows,
                                     .host = transfer.host + before * array.channels + channel};
    const int64_t bytes = std::min(row_bytes, array.channels - channel);
    if (transfer.in) {
      builder.read_host(where, bytes, array.channels);
    } else {
      builder.write_host(where, bytes, array.channels);
    }
  }
}

}  // namespace systole::tpu_v1
