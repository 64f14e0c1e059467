#include "systole/tpu_v1/compiler/network.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::tpu_v1 {
namespace {

class NetworkChecker {
 public:
  explicit NetworkChecker(const Network& network)
      : network_(network), written_(network.arrays.size()) {}

  void check() {
    for (const int input : network_.inputs) write(input, "input");
    for (const NetworkConstant& constant : network_.constants) write(constant.array, "constant");
    for (const NetworkLayer& layer : network_.layers) {
      for (const int array : arrays_read_by(layer)) read(array, layer.where);
      write(layer.output, layer.where);
      std::visit([&](const auto& kind) { check_sizes(kind, layer); }, layer.kind);
    }
    for (const int output : network_.outputs) {
      read(output, "output");
      const auto count = [&](const std::vector<int>& arrays) {
        return std::count(arrays.begin(), arrays.end(), output);
      };
      if (count(network_.inputs) > 0 || count(network_.outputs) > 1) {
        throw invalid_argument("output: array {} ({}), also an input or another output", output,
                               array(output, "output").name);
      }
    }
  }

 private:
  const NetworkArray& array(int index, const std::string& where) const {
    if (index < 0 || static_cast<size_t>(index) >= network_.arrays.size()) {
      throw invalid_argument("{}: array, got {}, expected below {}", where, index,
                             network_.arrays.size());
    }
    return network_.arrays[index];
  }
  void read(int index, const std::string& where) const {
    const std::string& name = array(index, where).name;
    if (!written_[index])
      throw invalid_argument("{}: array {} ({}), read before it is written", where, index, name);
  }
  void write(int index, const std::string& where) {
    const NetworkArray& written = array(index, where);
    if (written.height < 1 || written.width < 1 || written.channels < 1) {
      throw invalid_argument("{}: array {}, got {}x{}x{}, expected positive sizes", where, index,
                             written.height, written.width, written.channels);
    }
    if (written_[index])
      throw invalid_argument("{}: array {} ({}), written twice", where, index, written.name);
    written_[index] = true;
  }
  static void expect(bool holds, const NetworkLayer& layer, std::string_view what) {
    if (!holds) throw invalid_argument("{}: {}", layer.where, what);
  }

  void check_sizes(const ProductLayer& product, const NetworkLayer& layer) const {
    const NetworkArray& output = array(layer.output, layer.where);
    const auto filters = static_cast<size_t>(output.channels);
    expect(!product.inputs.empty(), layer, "a product without inputs");
    expect(product.bias.size() == filters && product.factors.size() == filters, layer,
           "biases or factors of another number than the filters");
    const NetworkArray& first = array(product.inputs[0].array, layer.where);
    for (const ProductInput& input : product.inputs) {
      const NetworkArray& from = array(input.array, layer.where);
      expect(from.height == first.height && from.width == first.width, layer,
             "inputs of different sizes");
      const int64_t weights = product.kernel_y * product.kernel_x * from.channels * output.channels;
      expect(static_cast<int64_t>(input.weights.size()) == weights, layer,
             "weights of another size than kernel, channels and filters");
    }
  }
  void check_sizes(const PoolLayer& pool, const NetworkLayer& layer) const {
    const NetworkArray& output = array(layer.output, layer.where);
    const NetworkArray& input = array(pool.input, layer.where);
    expect(output.channels == input.channels && output.height == pool.pooling.out_height &&
               output.width == pool.pooling.out_width && output.element == input.element,
           layer, "pooling to another size or element type");
  }
  void check_sizes(const VectorLayer&, const NetworkLayer& layer) const {
    const NetworkArray& output = array(layer.output, layer.where);
    for (const int operand : arrays_read_by(layer)) {
      const NetworkArray& input = array(operand, layer.where);
      expect(input.height == output.height && input.width == output.width &&
                 input.channels == output.channels,
             layer, "element-wise on arrays of different sizes");
    }
  }

  const Network& network_;
  std::vector<bool> written_;
};

}  // namespace

std::vector<int> arrays_read_by(const NetworkLayer& layer) {
  std::vector<int> arrays;
  if (const auto* product = std::get_if<ProductLayer>(&layer.kind)) {
    for (const ProductInput& input : product->inputs) arrays.push_back(input.array);
  } else if (const auto* pool = std::get_if<PoolLayer>(&layer.kind)) {
    arrays.push_back(pool->input);
  } else {
    const auto& vector = std::get<VectorLayer>(layer.kind);
    arrays.push_back(vector.a);
    if (vector.kind != VectorLayer::Kind::copy) arrays.push_back(vector.b);
  }
  return arrays;
}

void check_network(const Network& network) { NetworkChecker(network).check(); }

}  // namespace systole::tpu_v1
