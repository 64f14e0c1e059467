// Products and convolutions of 8-bit integers on the cpu backend, and TPU v1's values. The limits
// call oneDNN directly: the same products into 32-bit sums, without the requantization that ours
// contain. The peer "f32" is the same program on floating-point numbers.
#include <fmt/core.h>
#include <omp.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>

#include "bench/figures.h"
#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/base/quantized_type.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/quantized.h"
#include "systole/runtime/registry.h"
#include "systole/systole.h"

namespace bench {
namespace {

using dnnl::memory;
using st::hlo::Opcode;
using st::hlo::Value;

// A convolution of square NHWC images with a stride of 1; a product where size and window are 1.
struct Int8Layer {
  const char* name;
  int64_t batch, in, size, out, window;
  bool padded = true;

  int64_t result_size() const { return padded ? size : size - window + 1; }
  int64_t padding() const { return padded ? window / 2 : 0; }
  double operations() const {
    return 2.0 *
           static_cast<double>(batch * result_size() * result_size() * out * in * window * window);
  }
};

constexpr Int8Layer kConvolutions[] = {{"mnist_2", 128, 32, 14, 64, 5},
                                       {"resnet_56_1x1", 8, 256, 56, 64, 1},
                                       {"resnet_56_3x3", 8, 64, 56, 64, 3},
                                       {"resnet_14_3x3", 8, 256, 14, 256, 3}};

st::Tensor random_tensor(st::DType dtype, const st::Shape& shape) {
  std::mt19937 random(1);
  std::vector<int64_t> values(static_cast<size_t>(shape.num_elements()));
  for (int64_t& value : values) value = static_cast<int64_t>(random() % 255) - 127;
  return st::Tensor::of<int64_t>(shape, values).cast(dtype);
}

// -- Programs

// Builds main on integers, as systole quantize writes it, or on f32.
class Int8Program {
 public:
  explicit Int8Program(bool quantized)
      : quantized_(quantized),
        module_(std::make_unique<st::hlo::Module>("layers")),
        builder_(module_->add_function("main")) {
    if (quantized) module_->attributes[std::string(st::hlo::kRoundingAttribute)] = "\"tflite\"";
  }

  Value parameter(const st::Shape& shape) {
    return module_->entry().add_parameter(activation(shape));
  }
  void set_result(Value x) { module_->entry().set_results({x}); }
  const st::hlo::Module& module() const { return *module_; }

  Value product(Value x, int64_t outputs) {
    const Value w = weights({x.shape()[1], outputs});
    return finished(
        Opcode::dot_general, {x, w}, {x.shape()[0], outputs},
        st::hlo::DotAttrs{.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}});
  }

  Value convolution(Value x, const Int8Layer& layer) {
    const Value w = weights({layer.window, layer.window, layer.in, layer.out});
    const int64_t size = layer.result_size();
    const int64_t pad = layer.padding();
    return finished(Opcode::convolution, {x, w}, {layer.batch, size, size, layer.out},
                    st::hlo::ConvolutionAttrs{.window_strides = {1, 1},
                                              .padding = {{pad, pad}, {pad, pad}},
                                              .lhs_dilation = {1, 1},
                                              .rhs_dilation = {1, 1},
                                              .window_reversal = {false, false},
                                              .input_batch_dimension = 0,
                                              .input_feature_dimension = 3,
                                              .input_spatial_dimensions = {1, 2},
                                              .kernel_input_feature_dimension = 2,
                                              .kernel_output_feature_dimension = 3,
                                              .kernel_spatial_dimensions = {0, 1},
                                              .output_batch_dimension = 0,
                                              .output_feature_dimension = 3,
                                              .output_spatial_dimensions = {1, 2}});
  }

  Value max_pool(Value x) {
    st::Shape shape = x.shape();
    shape.set_dim(1, shape[1] / 2);
    shape.set_dim(2, shape[2] / 2);
    const st::TensorType scalar = activation({});
    const Value least = constant(scalar, st::Tensor::full(scalar.dtype, {}, -128));
    return builder_
        .op_with_regions(
            Opcode::reduce_window, {x, least},
            st::hlo::WindowAttrs{.window_dimensions = {1, 2, 2, 1},
                                 .window_strides = {1, 2, 2, 1},
                                 .base_dilations = {1, 1, 1, 1},
                                 .window_dilations = {1, 1, 1, 1},
                                 .padding = {{0, 0}, {0, 0}, {0, 0}, {0, 0}}},
            [&](st::hlo::Instruction& window) {
              st::hlo::Computation& region = window.add_region();
              const Value a = region.add_parameter(scalar);
              const Value b = region.add_parameter(scalar);
              region.set_results({st::hlo::Builder(region)
                                      .op(Opcode::maximum, {a, b}, st::hlo::NoAttrs{}, {scalar})
                                      ->result()});
            },
            {activation(shape)})
        ->result();
  }

  Value flat(Value x) {
    const st::Shape shape({x.shape()[0], x.shape().num_elements() / x.shape()[0]});
    return builder_.op(Opcode::reshape, {x}, st::hlo::NoAttrs{}, {activation(shape)})->result();
  }

 private:
  st::TensorType activation(const st::Shape& shape) const {
    if (!quantized_) return {st::DType::f32, shape};
    return {st::DType::s8, shape, st::per_tensor_type(st::DType::s8, 0.05, 3)};
  }

  Value constant(const st::TensorType& type, st::Tensor value) {
    return builder_.op(Opcode::constant, {}, st::hlo::ConstantAttrs{std::move(value)}, {type})
        ->result();
  }

  std::vector<double> weight_scales(int64_t channels) const {
    return std::vector<double>(static_cast<size_t>(channels), 0.01);
  }

  Value weights(const st::Shape& shape) {
    if (!quantized_) return constant({st::DType::f32, shape}, random_tensor(st::DType::f32, shape));
    st::QuantizedType type =
        *st::per_axis_type(st::DType::s8, shape.rank() - 1, weight_scales(shape[-1]));
    type.storage_min = -127;
    return constant(
        {st::DType::s8, shape, std::make_shared<const st::QuantizedType>(std::move(type))},
        random_tensor(st::DType::s8, shape));
  }

  // The product of operands; of integers, requantized to 8 bits.
  Value finished(Opcode opcode, std::vector<Value> operands, const st::Shape& shape,
                 const st::hlo::Attrs& attrs) {
    if (!quantized_)
      return builder_.op(opcode, std::move(operands), attrs, {activation(shape)})->result();
    std::vector<double> scales = weight_scales(shape[-1]);
    for (double& scale : scales) scale *= 0.05;
    const st::TensorType sums{st::DType::s32, shape,
                              st::per_axis_type(st::DType::s32, shape.rank() - 1, scales)};
    const Value product = builder_.op(opcode, std::move(operands), attrs, {sums})->result();
    return builder_
        .op(Opcode::uniform_quantize, {product}, st::hlo::NoAttrs{}, {activation(shape)})
        ->result();
  }

  bool quantized_;
  std::unique_ptr<st::hlo::Module> module_;
  st::hlo::Builder builder_;
};

void run_program(benchmark::State& state, const Int8Program& program, const char* backend) {
  const auto executable = st::runtime::client(backend).compile(program.module());
  const st::TensorType type = executable->parameter_types()[0];
  const st::Tensor x = random_tensor(type.dtype, type.shape);
  st::Tensor y;
  const st::runtime::Argument argument{.host = &x};
  const st::runtime::Result result{.host = &y};
  const auto run = [&] { executable->execute({&argument, 1}, {&result, 1}).wait(); };
  run();
  for (auto _ : state) run();
}

void run_layer(benchmark::State& state, const Int8Layer& layer, bool quantized) {
  Int8Program program(quantized);
  if (layer.size == 1) {
    program.set_result(program.product(program.parameter({layer.batch, layer.in}), layer.out));
  } else {
    const st::Shape images({layer.batch, layer.size, layer.size, layer.in});
    program.set_result(program.convolution(program.parameter(images), layer));
  }
  run_program(state, program, "cpu");
}

// The network of examples/mnist_tpu_v1.cc with random weights.
constexpr int64_t kDigits = 100;
constexpr Int8Layer kMnist[] = {{"conv1", kDigits, 1, 28, 32, 5},
                                {"conv2", kDigits, 32, 14, 64, 5},
                                {"dense1", kDigits, 3136, 1, 128, 1},
                                {"dense2", kDigits, 128, 1, 10, 1}};

void run_mnist(benchmark::State& state) {
  Int8Program program(true);
  Value x = program.parameter({kDigits, 28, 28, 1});
  for (const Int8Layer& layer : kMnist) {
    if (layer.size == 1) {
      x = program.product(x.shape().rank() > 2 ? program.flat(x) : x, layer.out);
    } else {
      x = program.max_pool(program.convolution(x, layer));
    }
  }
  program.set_result(x);
  run_program(state, program, "tpu_v1");
}

// -- oneDNN

const dnnl::engine& int8_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

class DirectInt8 {
 public:
  explicit DirectInt8(const Int8Layer& layer) {
    if (layer.size == 1) {
      make_product(layer);
    } else {
      make_convolution(layer);
    }
  }

  void execute(dnnl::stream& stream) { primitive_.execute(stream, arguments_); }

 private:
  void make_product(const Int8Layer& layer) {
    const memory::desc src({layer.batch, layer.in}, memory::data_type::s8, memory::format_tag::ab);
    const memory::desc weights({layer.in, layer.out}, memory::data_type::s8,
                               memory::format_tag::any);
    const memory::desc dst({layer.batch, layer.out}, memory::data_type::s32,
                           memory::format_tag::ab);
    const auto pd = st::cpu::describe<dnnl::matmul>({}, int8_engine(), src, weights, dst);
    set(dnnl::matmul(pd), pd.src_desc(), pd.weights_desc(), pd.dst_desc());
  }

  void make_convolution(const Int8Layer& layer) {
    const int64_t size = layer.result_size();
    const memory::dims pad = {layer.padding(), layer.padding()};
    const memory::desc src({layer.batch, layer.in, layer.size, layer.size}, memory::data_type::s8,
                           memory::format_tag::nhwc);
    const memory::desc weights({layer.out, layer.in, layer.window, layer.window},
                               memory::data_type::s8, memory::format_tag::any);
    const memory::desc dst({layer.batch, layer.out, size, size}, memory::data_type::s32,
                           memory::format_tag::nhwc);
    const auto pd = st::cpu::describe<dnnl::convolution_forward>(
        {}, int8_engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        src, weights, dst, memory::dims{1, 1}, pad, pad);
    set(dnnl::convolution_forward(pd), pd.src_desc(), pd.weights_desc(), pd.dst_desc());
  }

  void set(dnnl::primitive primitive, const memory::desc& src, const memory::desc& weights,
           const memory::desc& dst) {
    primitive_ = std::move(primitive);
    arguments_ = {{DNNL_ARG_SRC, filled(src)},
                  {DNNL_ARG_WEIGHTS, filled(weights)},
                  {DNNL_ARG_DST, filled(dst)}};
  }

  memory filled(const memory::desc& desc) const {
    memory result(desc, int8_engine());
    std::fill_n(static_cast<int8_t*>(result.get_data_handle()), desc.get_size(), int8_t{2});
    return result;
  }

  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
};

void run_direct(benchmark::State& state, std::span<const Int8Layer> layers) {
  omp_set_num_threads(omp_get_num_procs());
  dnnl::stream stream(int8_engine());
  std::vector<DirectInt8> direct(layers.begin(), layers.end());
  const auto run = [&] {
    for (DirectInt8& layer : direct) layer.execute(stream);
    stream.wait();
  };
  run();
  for (auto _ : state) run();
}

void add_int8_figure(const std::string& name, const Int8Layer& layer) {
  add({.name = name,
       .unit = "GOP/s",
       .work = layer.operations() * 1e-9,
       .ours = [=](benchmark::State& state) { run_layer(state, layer, true); },
       .limit =
           [=](benchmark::State& state) {
             run_direct(state, {&layer, 1});
           },
       .peer = "f32",
       .peer_body = [=](benchmark::State& state) { run_layer(state, layer, false); }});
}

}  // namespace

void add_int8_figures() {
  for (const int64_t n : {256, 512, 1024, 2048})
    add_int8_figure(fmt::format("int8.matmul.{}", n), {"product", n, n, 1, n, 1});
  for (const Int8Layer& layer : kConvolutions)
    add_int8_figure(fmt::format("int8.conv.{}", layer.name), layer);
  add({.name = "tpu_v1.mnist",
       .unit = "images/s",
       .work = kDigits,
       .ours = [](benchmark::State& state) { run_mnist(state); },
       .limit = [](benchmark::State& state) { run_direct(state, kMnist); }});
}

}  // namespace bench
