#include "systole/tpu_v1/compiler/input_form.h"

#include <algorithm>

namespace systole::tpu_v1 {
namespace {

// Returns the layers that read an array, nullopt if another reader than a product's only input
// does.
std::optional<std::vector<NetworkLayer*>> products_of(Network& network, int array) {
  if (std::count(network.outputs.begin(), network.outputs.end(), array) > 0) return std::nullopt;
  std::vector<NetworkLayer*> products;
  for (NetworkLayer& layer : network.layers) {
    const std::vector<int> read = arrays_read_by(layer);
    if (std::count(read.begin(), read.end(), array) == 0) continue;
    if (!std::holds_alternative<ProductLayer>(layer.kind) || read.size() != 1) return std::nullopt;
    products.push_back(&layer);
  }
  return products;
}

bool covers(const ProductLayer& product, const NetworkArray& input, const NetworkArray& output) {
  return product.kernel_y == input.height && product.kernel_x == input.width &&
         output.positions() == 1 && product.pad_top == 0 && product.pad_left == 0 &&
         product.dilation_y == 1 && product.dilation_x == 1;
}

void make_vector(NetworkArray& input, std::vector<NetworkLayer*>& layers) {
  input.channels *= input.positions();
  input.height = input.width = 1;
  for (NetworkLayer* layer : layers) {
    auto& product = std::get<ProductLayer>(layer->kind);
    product.kernel_y = product.kernel_x = product.stride_y = product.stride_x = 1;
  }
}

SideBySide make_side_by_side(NetworkArray& input, ProductLayer& product, int64_t out_width) {
  SideBySide form;
  form.width = input.width;
  form.channels = input.channels;
  form.stride = product.stride_x;
  form.pad_left = std::max<int64_t>(product.pad_left, 0);
  form.start = form.pad_left - product.pad_left;
  form.bytes = product.kernel_x * input.channels;
  form.line = std::max(form.pad_left + input.width,
                       form.start + (out_width - 1) * form.stride + product.kernel_x);
  form.line = (form.line + form.stride - 1) / form.stride * form.stride;
  input.width = form.line / form.stride;
  input.channels = form.bytes;
  product.kernel_x = product.stride_x = 1;
  product.pad_left = 0;
  return form;
}

}  // namespace

InputForms choose_input_forms(Network& network, const MachineConfig& config) {
  InputForms forms(network.arrays.size());
  for (const int index : network.inputs) {
    NetworkArray& input = network.arrays[index];
    auto readers = products_of(network, index);
    if (!readers.has_value() || readers->empty()) continue;
    const auto output_of = [&](const NetworkLayer* layer) -> const NetworkArray& {
      return network.arrays[layer->output];
    };
    if (std::all_of(readers->begin(), readers->end(), [&](const NetworkLayer* layer) {
          return covers(std::get<ProductLayer>(layer->kind), input, output_of(layer));
        })) {
      make_vector(input, *readers);
      continue;
    }
    auto& product = std::get<ProductLayer>(readers->front()->kind);
    if (readers->size() == 1 && product.kernel_x > 1 && product.dilation_x == 1 &&
        input.element != Element::s16 && product.kernel_x * input.channels <= config.array) {
      forms[index] = make_side_by_side(input, product, output_of(readers->front()).width);
    }
  }
  return forms;
}

}  // namespace systole::tpu_v1
