#include "systole/tpu_v1/compiler/testing/plain_network.h"

#include <algorithm>

#include "systole/tpu_v1/machine/activation.h"
#include "systole/tpu_v1/machine/rounding.h"

namespace systole::tpu_v1::testing {
namespace {

struct PlainRun {
  const Network& network;
  int64_t images;
  PlainValues& values;

  const NetworkArray& array(int index) const { return network.arrays[index]; }
  int32_t& at(int index, int64_t image, int64_t y, int64_t x, int64_t c) const {
    const NetworkArray& a = array(index);
    return values[index]
                 [static_cast<size_t>(((image * a.height + y) * a.width + x) * a.channels + c)];
  }
  int32_t finish(int64_t value, const Factor& factor, const Finish& finish, int output) const {
    const Element element = array(output).element;
    const int32_t scaled =
        requantize(wrap32(value), factor.multiplier, factor.shift, network.rounding);
    if (finish.function == Function::sigmoid || finish.function == Function::tanh) {
      int64_t flags = finish.function == Function::sigmoid ? kSigmoid : kTanh;
      if (element == Element::s16) flags |= kOutput16;
      if (element == Element::u8) flags |= kUnsignedOutput;
      return hardwired_function(flags, scaled);
    }
    int64_t result = finish.function == Function::relu ? std::max(scaled, 0) : scaled;
    result = std::clamp<int64_t>(result + finish.zero_point, finish.least, finish.most);
    if (element == Element::s16)
      return static_cast<int32_t>(std::clamp<int64_t>(result, INT16_MIN, INT16_MAX));
    if (element == Element::u8) return static_cast<int32_t>(std::clamp<int64_t>(result, 0, 255));
    return static_cast<int32_t>(std::clamp<int64_t>(result, -128, 127));
  }

  int64_t sum(const ProductLayer& product, int output, int64_t image, int64_t y, int64_t x,
              int64_t filter) const {
    int64_t total = product.bias[filter];
    const int64_t filters = array(output).channels;
    for (const ProductInput& input : product.inputs) {
      const NetworkArray& from = array(input.array);
      for (int64_t k = 0; k < product.kernel_y * product.kernel_x; ++k) {
        const int64_t in_y =
            y * product.stride_y + k / product.kernel_x * product.dilation_y - product.pad_top;
        const int64_t in_x =
            x * product.stride_x + k % product.kernel_x * product.dilation_x - product.pad_left;
        const bool inside = in_y >= 0 && in_y < from.height && in_x >= 0 && in_x < from.width;
        for (int64_t c = 0; c < from.channels; ++c) {
          const int64_t value = inside ? at(input.array, image, in_y, in_x, c) : from.zero_point;
          total += value * input.weights[(k * from.channels + c) * filters + filter];
        }
      }
    }
    return total;
  }

  int32_t pooled(const PoolLayer& pool, int64_t image, int64_t y, int64_t x, int64_t c) const {
    const NetworkArray& from = array(pool.input);
    const Pooling& p = pool.pooling;
    int64_t most = INT64_MIN;
    int64_t total = 0;
    int64_t count = 0;
    for (int64_t k = 0; k < p.window_y * p.window_x; ++k) {
      const int64_t in_y = y * p.stride_y - p.pad_top + k / p.window_x;
      const int64_t in_x = x * p.stride_x - p.pad_left + k % p.window_x;
      if (in_y < 0 || in_y >= from.height || in_x < 0 || in_x >= from.width) continue;
      const int64_t value = at(pool.input, image, in_y, in_x, c);
      most = std::max(most, value);
      total += value;
      ++count;
    }
    if (p.max) return static_cast<int32_t>(most);
    const int64_t half = total < 0 ? -(count / 2) : count / 2;
    return static_cast<int32_t>((total + half) / count);
  }

  int32_t element_wise(const VectorLayer& layer, int output, size_t i) const {
    const int64_t a = int64_t{values[layer.a][i]} - layer.a_zero;
    int64_t result = a;
    if (layer.kind != VectorLayer::Kind::copy) {
      const int64_t b = int64_t{values[layer.b][i]} - layer.b_zero;
      const int64_t scale = int64_t{1} << layer.left_shift;
      result = layer.kind == VectorLayer::Kind::multiply
                   ? a * b
                   : int64_t{requantize(wrap32(a * scale), layer.a_factor.multiplier,
                                        layer.a_factor.shift, network.rounding)} +
                         requantize(wrap32(b * scale), layer.b_factor.multiplier,
                                    layer.b_factor.shift, network.rounding);
    }
    return finish(result, layer.out_factor, layer.finish, output);
  }

  void run(const NetworkLayer& layer) const {
    const NetworkArray& to = array(layer.output);
    auto& out = values[layer.output];
    out.assign(static_cast<size_t>(images * to.positions() * to.channels), 0);
    for (size_t i = 0; i < out.size(); ++i) {
      const auto flat = static_cast<int64_t>(i);
      const int64_t c = flat % to.channels;
      const int64_t x = flat / to.channels % to.width;
      const int64_t y = flat / (to.channels * to.width) % to.height;
      const int64_t image = flat / (to.channels * to.positions());
      if (const auto* product = std::get_if<ProductLayer>(&layer.kind)) {
        out[i] = finish(sum(*product, layer.output, image, y, x, c), product->factors[c],
                        product->finish, layer.output);
      } else if (const auto* pool = std::get_if<PoolLayer>(&layer.kind)) {
        out[i] = pooled(*pool, image, y, x, c);
      } else {
        out[i] = element_wise(std::get<VectorLayer>(layer.kind), layer.output, i);
      }
    }
  }
};

}  // namespace

void run_plain(const Network& network, int64_t images, PlainValues& values) {
  const PlainRun run{network, images, values};
  values.resize(network.arrays.size());
  for (const NetworkLayer& layer : network.layers) run.run(layer);
}

std::vector<uint8_t> port_bytes(const NetworkArray& array, const std::vector<int32_t>& values) {
  std::vector<uint8_t> bytes;
  const auto channels = static_cast<size_t>(array.channels);
  for (size_t row = 0; row < values.size(); row += channels) {
    for (size_t c = 0; c < channels; ++c) bytes.push_back(static_cast<uint8_t>(values[row + c]));
    for (size_t c = 0; array.element == Element::s16 && c < channels; ++c)
      bytes.push_back(static_cast<uint8_t>(values[row + c] >> 8));
  }
  return bytes;
}

std::vector<int32_t> values_of_port(const NetworkArray& array, const std::vector<uint8_t>& bytes) {
  std::vector<int32_t> values;
  const auto channels = static_cast<size_t>(array.channels);
  const size_t row_bytes = channels * (array.element == Element::s16 ? 2 : 1);
  for (size_t row = 0; row < bytes.size(); row += row_bytes) {
    for (size_t c = 0; c < channels; ++c) {
      const uint8_t low = bytes[row + c];
      if (array.element == Element::s16) {
        values.push_back(static_cast<int16_t>(low | bytes[row + channels + c] << 8));
      } else {
        values.push_back(array.element == Element::u8 ? int32_t{low}
                                                      : int32_t{static_cast<int8_t>(low)});
      }
    }
  }
  return values;
}

}  // namespace systole::tpu_v1::testing
