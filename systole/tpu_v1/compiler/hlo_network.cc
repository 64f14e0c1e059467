#include "systole/tpu_v1/compiler/hlo_network.h"

#include <algorithm>
#include <cmath>

#include "systole/base/error.h"
#include "systole/base/quantized_type.h"
#include "systole/hlo/semantics/quantized.h"
#include "systole/tpu_v1/compiler/hlo_products.h"
#include "systole/tpu_v1/isa/planes.h"

namespace systole::tpu_v1 {
namespace {

bool is_array_type(const TensorType& type) {
  return type.dtype == DType::s8 || type.dtype == DType::u8 || type.dtype == DType::s16;
}

Element storage_element(DType dtype) {
  if (dtype == DType::s16) return Element::s16;
  return dtype == DType::u8 ? Element::u8 : Element::s8;
}

Factor factor_of(const FixedPointFactor& factor) {
  return {factor.multiplier, static_cast<int8_t>(factor.shift)};
}

// The scale of a type with one scale.
double tensor_scale(const TensorType& type) { return type.quantized->scales[0]; }

// Whether the machine's sigmoid and tanh read and write these types (machine/activation.h).
bool is_hardwired(Function function, const TensorType& from, const TensorType& to) {
  if (!from.is_quantized() || !to.is_quantized()) return false;
  const auto has = [](const TensorType& type, DType dtype, double scale, int64_t zero) {
    return type.dtype == dtype && tensor_scale(type) == scale &&
           type.quantized->zero_point(0) == zero;
  };
  if (!has(from, DType::s16, std::ldexp(1.0, -12), 0)) return false;
  if (has(to, DType::s16, std::ldexp(1.0, -15), 0)) return true;
  if (function == Function::tanh) return has(to, DType::s8, 1.0 / 128, 0);
  return has(to, DType::s8, 1.0 / 256, -128) || has(to, DType::u8, 1.0 / 256, 0);
}

// The bytes of a tensor as a port has them: 16-bit rows as low bytes, then high bytes.
std::string port_bytes_of(const Tensor& tensor) {
  const auto* from = static_cast<const char*>(tensor.raw());
  const auto size = static_cast<size_t>(tensor.byte_size());
  if (size_of(tensor.dtype()) == 1) return {from, size};
  std::string bytes(size, '\0');
  const auto row = static_cast<size_t>(tensor.rank() > 1 ? 2 * tensor.dim(tensor.rank() - 1) : 2);
  to_planes({reinterpret_cast<const uint8_t*>(from), size}, row,
            {reinterpret_cast<uint8_t*>(bytes.data()), size});
  return bytes;
}

class HloNetworkMaker {
 public:
  explicit HloNetworkMaker(const HloPart& part) : part_(part) {}

  HloNetwork make() {
    for (const hlo::Value& input : part_.inputs) {
      batch_of(*input.def, input.type());
      const int index = new_array(*input.def, input.type());
      made_.network.inputs.push_back(index);
      arrays_[input] = index;
    }
    for (hlo::Instruction* op : part_.instructions) add(*op);
    for (size_t i = 0; i < part_.outputs.size(); ++i) {
      const int index = own_array(part_.outputs[i]);
      made_.network.arrays[index].name = "output" + std::to_string(i);
      made_.network.outputs.push_back(index);
    }
    for (size_t i = 0; i < part_.inputs.size(); ++i) {
      const int index = made_.network.inputs[i];
      made_.network.arrays[index].name = "input" + std::to_string(i);
    }
    remove_unread_layers();
    return std::move(made_);
  }

 private:
  // -- Values

  void batch_of(const hlo::Instruction& op, const TensorType& type) {
    if (type.shape.rank() < 1 || type.shape.rank() > 4)
      no_instruction(op, "arrays that are not [batch, spatial..., features] of rank 1 to 4");
    if (made_.batch == 0) made_.batch = type.shape[0];
    if (type.shape[0] != made_.batch) {
      no_instruction(op, "a first dimension of " + std::to_string(type.shape[0]) +
                             ", where the batch is " + std::to_string(made_.batch));
    }
  }

  int new_array(const hlo::Instruction& op, const TensorType& type) {
    if (!type.is_quantized() || !is_array_type(type) || type.quantized->per_axis())
      no_instruction(op, "arrays of other types than i8, ui8 and i16 with one scale");
    const Shape& shape = type.shape;
    NetworkArray array{.element = storage_element(type.dtype),
                       .zero_point = static_cast<int32_t>(type.quantized->zero_point(0))};
    if (shape.rank() > 1) array.channels = shape[shape.rank() - 1];
    if (shape.rank() > 2) array.height = shape[1];
    if (shape.rank() > 3) array.width = shape[2];
    made_.network.arrays.push_back(array);
    return static_cast<int>(made_.network.arrays.size()) - 1;
  }

  NetworkArray& array(int index) { return made_.network.arrays[index]; }

  int array_of(const hlo::Value& value, const hlo::Instruction& op) {
    const auto found = arrays_.find(value);
    if (found != arrays_.end()) return found->second;
    if (const Tensor* values = constant(value)) {
      batch_of(op, value.type());
      const int index = new_array(op, value.type());
      array(index).name = "constant" + std::to_string(index);
      made_.network.constants.push_back({index, port_bytes_of(*values)});
      return arrays_[value] = index;
    }
    if (sums_.contains(value))
      no_instruction(op, "32-bit sums as an array: quantize them to i8 or i16 first");
    no_instruction(op, "an operand that is not an array of the machine");
  }

  // Returns the array of an output, a copy if another output or an input has the same one.
  int own_array(const hlo::Value& value) {
    hlo::Instruction& op = *value.def;
    const int index = array_of(value, op);
    const Network& network = made_.network;
    if (std::ranges::count(network.outputs, index) + std::ranges::count(network.inputs, index) == 0)
      return index;
    const int copy = array_like(index, op);
    add_layer(VectorLayer{.a = index}, op, copy);
    return copy;
  }

  const Tensor* constant(const hlo::Value& value) const {
    const auto found = part_.constants->find(value);
    return found != part_.constants->end() ? &found->second : nullptr;
  }

  // -- Layers

  void add_layer(std::variant<ProductLayer, PoolLayer, VectorLayer> kind, hlo::Instruction& op,
                 int output) {
    const std::string place = op.describe();
    made_.network.layers.push_back(
        {std::move(kind), output,
         fmt::format("{} ({}){}{}", op.opcode(), op.type(), place.empty() ? "" : ", ", place)});
    arrays_[op.result()] = output;
  }

  static Finish bounded(const TensorType& type) {
    return {.zero_point = static_cast<int32_t>(type.quantized->zero_point(0)),
            .least = static_cast<int32_t>(type.quantized->storage_min),
            .most = static_cast<int32_t>(type.quantized->storage_max)};
  }

  // Stores sums as an array of op's type.
  void requantize_sums(const Sums& sums, hlo::Instruction& op, const std::vector<double>& factors) {
    const int output = new_array(op, op.type());
    NetworkArray& to = array(output);
    to.height = sums.height;
    to.width = sums.width;
    to.channels = sums.filters;
    ProductLayer product = sums.product;
    for (int64_t f = 0; f < sums.filters; ++f) {
      const size_t i = factors.size() == 1 ? 0 : static_cast<size_t>(f);
      product.factors.push_back(factor_of(fixed_point_factor(factors[i])));
    }
    const Function function = product.finish.function;
    product.finish = bounded(op.type());
    product.finish.function = function;
    add_layer(std::move(product), op, output);
  }

  void add_product(hlo::Instruction& op) {
    const int input = array_of(op.operand(0), op);
    const Tensor* weights = constant(op.operand(1));
    if (weights == nullptr) no_instruction(op, "weights that are not constant");
    const TensorType& type = op.type();
    if (!type.is_quantized()) no_instruction(op, "a result that is not quantized");
    const Sums sums = op.is(hlo::Opcode::convolution)
                          ? sums_of_convolution(op, input, array(input), *weights)
                          : sums_of_dot(op, input, array(input), *weights);
    const auto factors = hlo::product_factors(op.operand(0).type(), op.operand(1).type(), type);
    if (type.dtype != DType::s32) return requantize_sums(sums, op, factors);
    if (std::ranges::any_of(factors, [](double factor) { return factor != 1; }) ||
        type.quantized->has_zero_points()) {
      no_instruction(op, "sums with another scale than the product of the operands' scales");
    }
    sums_[op.result()] = sums;
  }

  void add_uniform_quantize(hlo::Instruction& op) {
    const hlo::Value from = op.operand(0);
    const TensorType& type = op.type();
    const auto found = sums_.find(from);
    if (found != sums_.end()) {
      return requantize_sums(found->second, op, hlo::requantization_factors(from.type(), type));
    }
    const int input = array_of(from, op);
    VectorLayer copy{.a = input, .a_zero = array(input).zero_point, .finish = bounded(type)};
    copy.out_factor =
        factor_of(fixed_point_factor(hlo::requantization_factors(from.type(), type)[0]));
    add_layer(copy, op, array_like(input, op));
  }

  // A new array of op's type with the sizes of another one.
  int array_like(int index, hlo::Instruction& op) {
    const int output = new_array(op, op.type());
    const NetworkArray& from = array(index);
    array(output).height = from.height;
    array(output).width = from.width;
    array(output).channels = from.channels;
    return output;
  }

  // Adds constants to sums, or sums to sums.
  bool add_to_sums(hlo::Instruction& op) {
    const bool first = sums_.contains(op.operand(0));
    if (!first && !sums_.contains(op.operand(1))) return false;
    Sums sums = sums_.at(op.operand(first ? 0 : 1));
    if (sums.product.finish.function != Function::none) no_instruction(op, "of sums after ReLU");
    const hlo::Value other = op.operand(first ? 1 : 0);
    if (const Tensor* values = constant(other)) {
      const Tensor bias = bias_of(op, *values, sums.filters);
      for (size_t f = 0; f < sums.product.bias.size(); ++f) {
        sums.product.bias[f] = static_cast<int32_t>(static_cast<uint32_t>(sums.product.bias[f]) +
                                                    bias.data<uint32_t>()[f]);
      }
    } else if (sums_.contains(other)) {
      join(op, sums, sums_.at(other));
    } else {
      no_instruction(op, "an array added to 32-bit sums");
    }
    sums_[op.result()] = std::move(sums);
    return true;
  }

  // Returns a constant that is equal for all positions as one number for each filter.
  static Tensor bias_of(const hlo::Instruction& op, const Tensor& values, int64_t filters) {
    const Tensor all = values.cast(DType::u32);
    const std::span<const uint32_t> from = all.data<uint32_t>();
    Tensor bias(DType::u32, {filters});
    for (size_t i = 0; i < from.size(); ++i) {
      const size_t f = i % static_cast<size_t>(filters);
      if (i >= static_cast<size_t>(filters) && from[i] != bias.data<uint32_t>()[f])
        no_instruction(op, "a bias that differs between positions");
      bias.data<uint32_t>()[f] = from[i];
    }
    return bias;
  }

  void join(const hlo::Instruction& op, Sums& sums, const Sums& other) {
    ProductLayer& a = sums.product;
    const ProductLayer& b = other.product;
    const auto window = [](const ProductLayer& p) {
      return std::array{p.kernel_y,   p.kernel_x,   p.stride_y, p.stride_x,
                        p.dilation_y, p.dilation_x, p.pad_top,  p.pad_left};
    };
    const NetworkArray& from_a = array(a.inputs[0].array);
    const NetworkArray& from_b = array(b.inputs[0].array);
    if (window(a) != window(b) || from_a.height != from_b.height || from_a.width != from_b.width ||
        sums.filters != other.filters || b.finish.function != Function::none) {
      no_instruction(op, "sums of products with different windows or a function");
    }
    a.inputs.insert(a.inputs.end(), b.inputs.begin(), b.inputs.end());
    for (size_t f = 0; f < a.bias.size(); ++f) {
      a.bias[f] =
          static_cast<int32_t>(static_cast<uint32_t>(a.bias[f]) + static_cast<uint32_t>(b.bias[f]));
    }
  }

  void add_element_wise(hlo::Instruction& op) {
    if (op.is(hlo::Opcode::add) && add_to_sums(op)) return;
    const int a = array_of(op.operand(0), op);
    const int b = array_of(op.operand(1), op);
    VectorLayer layer{.a = a,
                      .b = b,
                      .a_zero = array(a).zero_point,
                      .b_zero = array(b).zero_point,
                      .finish = bounded(op.type())};
    const NetworkArray& x = array(a);
    const NetworkArray& y = array(b);
    if (x.height != y.height || x.width != y.width || x.channels != y.channels)
      no_instruction(op, "operands of different sizes");
    if ((x.element == Element::u8) != (y.element == Element::u8))
      no_instruction(op, "an unsigned and a signed operand");
    if (op.is(hlo::Opcode::add)) {
      const hlo::AddFactors factors =
          hlo::add_factors(op.operand(0).type(), op.operand(1).type(), op.type());
      layer.kind = VectorLayer::Kind::add;
      layer.left_shift = factors.left_shift;
      layer.a_factor = factor_of(factors.lhs);
      layer.b_factor = factor_of(factors.rhs);
      layer.out_factor = factor_of(factors.result);
    } else {
      layer.kind = VectorLayer::Kind::multiply;
      layer.out_factor = factor_of(fixed_point_factor(
          hlo::product_factors(op.operand(0).type(), op.operand(1).type(), op.type())[0]));
    }
    add_layer(layer, op, array_like(a, op));
  }

  // -- Functions and bounds

  // Returns the layer that writes an array if exactly one op reads the array, directly or through
  // reshapes; null otherwise.
  NetworkLayer* only_read_by_one(int index) {
    size_t readers = 0;
    for (const auto& [value, array] : arrays_) {
      if (array != index) continue;
      readers += static_cast<size_t>(std::ranges::count(part_.outputs, value));
      for (hlo::Instruction* user : value.def->users()) {
        const bool view = user->is(hlo::Opcode::reshape) && arrays_.contains(user->result());
        readers += view ? 0 : 1;
      }
    }
    if (readers != 1) return nullptr;
    for (NetworkLayer& layer : made_.network.layers) {
      if (layer.output == index) return &layer;
    }
    return nullptr;
  }

  static Finish* finish_of(NetworkLayer* layer) {
    if (layer == nullptr) return nullptr;
    if (auto* product = std::get_if<ProductLayer>(&layer->kind)) return &product->finish;
    if (auto* vector = std::get_if<VectorLayer>(&layer->kind)) return &vector->finish;
    return nullptr;
  }

  void add_function(hlo::Instruction& op) {
    const Function function = op.is(hlo::Opcode::tanh) ? Function::tanh : Function::sigmoid;
    const hlo::Value from = op.operand(0);
    const int input = array_of(from, op);
    const int output = array_like(input, op);
    NetworkLayer* layer = only_read_by_one(input);
    Finish* finish = finish_of(layer);
    if (finish != nullptr && finish->function == Function::none && finish->least == INT16_MIN &&
        finish->most >= INT16_MAX) {
      *finish = {.function = function};
      layer->output = output;
      arrays_[op.result()] = output;
      return;
    }
    VectorLayer copy{.a = input};
    copy.finish.function = function;
    add_layer(copy, op, output);
  }

  // The one element of a constant.
  int64_t bound(const hlo::Value& value, const hlo::Instruction& op) const {
    const Tensor* values = constant(value);
    if (values == nullptr) no_instruction(op, "bounds that are not constant");
    const Tensor all = values->cast(DType::s64);
    const std::span<const int64_t> elements = all.data<int64_t>();
    if (elements.empty() ||
        std::ranges::any_of(elements, [&](int64_t x) { return x != elements[0]; }))
      no_instruction(op, "bounds that differ between elements");
    return elements[0];
  }

  void add_bounds(hlo::Instruction& op) {
    int64_t least = INT32_MIN;
    int64_t most = INT32_MAX;
    hlo::Value from = op.operand(0);
    if (op.is(hlo::Opcode::clamp)) {
      least = bound(op.operand(0), op);
      from = op.operand(1);
      most = bound(op.operand(2), op);
    } else {
      const bool first = constant(op.operand(0)) != nullptr;
      if (first) from = op.operand(1);
      (op.is(hlo::Opcode::maximum) ? least : most) = bound(op.operand(first ? 0 : 1), op);
    }
    const auto sums = sums_.find(from);
    if (sums != sums_.end()) {
      if (least != 0 || most != INT32_MAX)
        no_instruction(op, "bounds of sums other than at least 0");
      Sums bounded_sums = sums->second;
      bounded_sums.product.finish.function = Function::relu;
      sums_[op.result()] = std::move(bounded_sums);
      return;
    }
    const int input = array_of(from, op);
    NetworkLayer* layer = only_read_by_one(input);
    if (Finish* finish = finish_of(layer); finish != nullptr &&
                                           finish->function != Function::sigmoid &&
                                           finish->function != Function::tanh) {
      finish->least = static_cast<int32_t>(std::max<int64_t>(finish->least, least));
      finish->most = static_cast<int32_t>(std::min<int64_t>(finish->most, most));
      arrays_[op.result()] = input;
      return;
    }
    VectorLayer copy{.a = input};
    copy.finish.least = static_cast<int32_t>(std::max<int64_t>(least, INT16_MIN));
    copy.finish.most = static_cast<int32_t>(std::min<int64_t>(most, UINT16_MAX));
    add_layer(copy, op, array_like(input, op));
  }

  // -- Pooling and movement

  void add_pooling(hlo::Instruction& op) {
    const auto& window = op.attrs<hlo::WindowAttrs>();
    const hlo::Computation& region = op.region();
    const int rank = op.shape().rank();
    if (op.num_operands() != 2 || rank < 3 || rank > 4 ||
        !region.results()[0].def->is(hlo::Opcode::maximum)) {
      no_instruction(op, "windows other than the maximum of one array of images");
    }
    const auto size = [](const Dims& dims, size_t i) { return i < dims.size() ? dims[i] : 1; };
    const auto last = static_cast<size_t>(rank - 1);
    for (const size_t axis : {size_t{0}, last}) {
      if (window.window_dimensions[axis] != 1) no_instruction(op, "windows over batch or features");
    }
    for (size_t axis = 0; axis <= last; ++axis) {
      if (size(window.base_dilations, axis) != 1 || size(window.window_dilations, axis) != 1)
        no_instruction(op, "dilated windows");
    }
    Pooling pooling{.window_y = window.window_dimensions[1],
                    .stride_y = size(window.window_strides, 1),
                    .out_height = op.shape()[1]};
    if (!window.padding.empty()) pooling.pad_top = window.padding[1].first;
    if (rank == 4) {
      pooling.window_x = window.window_dimensions[2];
      pooling.stride_x = size(window.window_strides, 2);
      pooling.out_width = op.shape()[2];
      if (!window.padding.empty()) pooling.pad_left = window.padding[2].first;
    }
    const TensorType& type = op.operand(0).type();
    if (bound(op.operand(1), op) > type.quantized->storage_min)
      no_instruction(op, "an initial value above the least integer");
    add_layer(PoolLayer{array_of(op.operand(0), op), pooling}, op, new_array(op, op.type()));
  }

  void add_reshape(hlo::Instruction& op) {
    const hlo::Value from = op.operand(0);
    if (op.shape().rank() < 1 || from.shape().rank() < 1 || op.shape()[0] != from.shape()[0])
      no_instruction(op, "a reshape of the batch");
    arrays_[op.result()] = array_of(from, op);
  }

  // Channels by the matrix unit: products with 0 and 1.
  void add_selection(hlo::Instruction& op, std::vector<ProductInput> inputs, int like) {
    const int output = array_like(like, op);
    array(output).channels = op.shape()[op.shape().rank() - 1];
    ProductLayer product;
    product.inputs = std::move(inputs);
    const auto filters = static_cast<size_t>(array(output).channels);
    product.bias.assign(filters, 0);
    product.factors.assign(filters, Factor());
    product.finish = {};
    add_layer(std::move(product), op, output);
  }

  // Whether an array's last dimension are its channels.
  bool has_channels(const hlo::Value& value, int index) {
    return value.shape().rank() > 1 &&
           value.shape()[value.shape().rank() - 1] == array(index).channels;
  }

  void add_concatenate(hlo::Instruction& op) {
    const int last = op.shape().rank() - 1;
    if (op.attrs<hlo::ConcatenateAttrs>().dimension != last)
      no_instruction(op, "a concatenation of another dimension than the last");
    std::vector<ProductInput> inputs;
    int64_t column = 0;
    for (const hlo::Value& operand : op.operands()) {
      const int index = array_of(operand, op);
      if (!has_channels(operand, index)) no_instruction(op, "positions that a reshape has joined");
      const int64_t channels = array(index).channels;
      inputs.push_back(
          selected_channels(index, array(index), 0, channels, column, op.shape()[last]));
      column += channels;
    }
    const int first = inputs.front().array;
    add_selection(op, std::move(inputs), first);
  }

  void add_slice(hlo::Instruction& op) {
    const auto& slice = op.attrs<hlo::SliceAttrs>();
    const Shape& from = op.operand(0).shape();
    const auto last = static_cast<size_t>(from.rank() - 1);
    for (size_t axis = 0; axis <= last; ++axis) {
      if (axis < slice.strides.size() && slice.strides[axis] != 1)
        no_instruction(op, "a slice with strides");
      if (axis < last && op.shape()[static_cast<int>(axis)] != from[static_cast<int>(axis)])
        no_instruction(op, "a slice of another dimension than the last");
    }
    const int64_t first = slice.start_indices[last];
    const int64_t count = op.shape()[static_cast<int>(last)];
    if (const auto sums = sums_.find(op.operand(0)); sums != sums_.end()) {
      sums_[op.result()] = columns_of(sums->second, first, count);
      return;
    }
    const int index = array_of(op.operand(0), op);
    if (!has_channels(op.operand(0), index))
      no_instruction(op, "positions that a reshape has joined");
    add_selection(op, {selected_channels(index, array(index), first, count, 0, count)}, index);
  }

  void add(hlo::Instruction& op) {
    const auto rounding = hlo::rounding_of(op.parent().module());
    if (!rounding.has_value()) {
      throw invalid_argument(
          "tpu_v1: module attribute {}, got none, expected \"tflite\" or \"single\": the machine "
          "rounds integers",
          hlo::kRoundingAttribute);
    }
    made_.network.rounding =
        *rounding == FixedPointRounding::tflite ? Rounding::tflite : Rounding::single;
    batch_of(op, op.type());
    switch (op.opcode()) {
      case hlo::Opcode::dot_general:
      case hlo::Opcode::convolution:
        return add_product(op);
      case hlo::Opcode::uniform_quantize:
        return add_uniform_quantize(op);
      case hlo::Opcode::add:
      case hlo::Opcode::multiply:
        return add_element_wise(op);
      case hlo::Opcode::logistic:
      case hlo::Opcode::tanh:
        return add_function(op);
      case hlo::Opcode::maximum:
      case hlo::Opcode::minimum:
      case hlo::Opcode::clamp:
        return add_bounds(op);
      case hlo::Opcode::reduce_window:
        return add_pooling(op);
      case hlo::Opcode::reshape:
        return add_reshape(op);
      case hlo::Opcode::concatenate:
        return add_concatenate(op);
      case hlo::Opcode::slice:
        return add_slice(op);
      default:
        no_instruction(op, "of quantized types");
    }
  }

  // Layers whose function a later op replaced leave arrays that nothing reads; layers may become
  // unread, too.
  void remove_unread_layers() {
    std::vector<bool> read(made_.network.arrays.size());
    for (const int output : made_.network.outputs) read[output] = true;
    std::vector<NetworkLayer> kept;
    for (auto layer = made_.network.layers.rbegin(); layer != made_.network.layers.rend();
         ++layer) {
      if (!read[layer->output]) continue;
      for (const int array : arrays_read_by(*layer)) read[array] = true;
      kept.push_back(std::move(*layer));
    }
    std::ranges::reverse(kept);
    made_.network.layers = std::move(kept);
  }

  const HloPart& part_;
  HloNetwork made_;
  std::unordered_map<hlo::Value, int, hlo::ValueHash> arrays_;
  std::unordered_map<hlo::Value, Sums, hlo::ValueHash> sums_;
};

}  // namespace

bool computes_real_op(const hlo::Instruction& op) {
  switch (op.opcode()) {
    case hlo::Opcode::add:
    case hlo::Opcode::multiply:
      return true;
    case hlo::Opcode::logistic:
      return is_hardwired(Function::sigmoid, op.operand(0).type(), op.type());
    case hlo::Opcode::tanh:
      return is_hardwired(Function::tanh, op.operand(0).type(), op.type());
    default:
      return false;
  }
}

HloNetwork network_of(const HloPart& part) { return HloNetworkMaker(part).make(); }

}  // namespace systole::tpu_v1
