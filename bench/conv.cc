// A convolution and its two gradients, run by a Session. The limit is the same oneDNN primitive,
// called directly with its preferred layouts.
#include <fmt/core.h>
#include <omp.h>

#include <chrono>
#include <oneapi/dnnl/dnnl.hpp>

#include "bench/figures.h"
#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/graph/ops/nn/convolution.h"
#include "systole/systole.h"

namespace bench {
namespace {

// One layer on square NHWC images.
struct Layer {
  const char* name;
  int64_t batch, in, size, out, window, stride;

  int64_t result_size() const { return (size + stride - 1) / stride; }
  st::Shape input() const { return {batch, size, size, in}; }
  st::Shape kernel() const { return {window, window, in, out}; }
  st::Shape result() const { return {batch, result_size(), result_size(), out}; }
  double flops() const {
    return 2.0 * static_cast<double>(result().num_elements() * window * window * in);
  }
};

// Both layers of the MNIST network; of ResNet-50, the stem and one layer of each kind.
constexpr Layer kLayers[] = {
    {"mnist_1", 128, 1, 28, 32, 5, 1},       {"mnist_2", 128, 32, 14, 64, 5, 1},
    {"resnet_stem", 8, 3, 224, 64, 7, 2},    {"resnet_56_1x1", 8, 256, 56, 64, 1, 1},
    {"resnet_56_3x3", 8, 64, 56, 64, 3, 1},  {"resnet_28_3x3_s2", 8, 128, 56, 128, 3, 2},
    {"resnet_14_3x3", 8, 256, 14, 256, 3, 1}};

enum class Direction : uint8_t { forward, input_gradient, filter_gradient };
constexpr std::pair<Direction, const char*> kDirections[] = {
    {Direction::forward, "forward"},
    {Direction::input_gradient, "input_gradient"},
    {Direction::filter_gradient, "filter_gradient"}};

void through_session(benchmark::State& state, const Layer& layer, Direction direction,
                     st::DType dtype) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const bool by_input = direction == Direction::input_gradient;
  const bool by_kernel = direction == Direction::filter_gradient;
  // A gradient does not read the tensor with respect to which it is taken.
  const st::Output input =
      by_input ? st::zeros(layer.input(), dtype) : st::placeholder(dtype, layer.input());
  const st::Output kernel =
      by_kernel ? st::zeros(layer.kernel(), dtype) : st::placeholder(dtype, layer.kernel());
  st::Output result =
      st::conv2d(input, kernel, {.strides = {layer.stride}, .padding = st::Padding::same});
  std::vector<st::Output> feeds = {by_input ? kernel : input};
  if (direction == Direction::forward) {
    feeds.push_back(kernel);
  } else {
    feeds.push_back(st::placeholder(dtype, layer.result()));
    result = st::gradients({result}, {by_input ? input : kernel}, {.grad_ys = {feeds[1]}})[0];
  }
  st::Session session("", {.graph = &graph});
  auto run = session.make_callable({result}, feeds);
  std::vector<st::Tensor> operands;
  for (const st::Output& feed : feeds)
    operands.push_back(st::Tensor::full(dtype, feed.shape(), 0.5));
  run(operands);  // compiles
  for (auto _ : state) run(operands);
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// The primitive and its arguments.
struct Direct {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};

class DirectMaker {
 public:
  DirectMaker(const Layer& layer, st::DType dtype, dnnl::memory::format_tag images)
      : layer_(layer),
        type_(dtype == st::DType::bf16 ? dnnl::memory::data_type::bf16
                                       : dnnl::memory::data_type::f32),
        src_(desc({layer.batch, layer.in, layer.size, layer.size}, images)),
        weights_(
            desc({layer.out, layer.in, layer.window, layer.window}, dnnl::memory::format_tag::any)),
        dst_(desc({layer.batch, layer.out, layer.result_size(), layer.result_size()}, images)),
        forward_(st::cpu::describe<dnnl::convolution_forward>(
            {}, cpu_engine(), dnnl::prop_kind::forward_training, kAlgorithm, src_, weights_, dst_,
            strides(), low(), high())) {}

  Direct make(Direction direction) const {
    if (direction == Direction::forward) {
      return {dnnl::convolution_forward(forward_),
              {{DNNL_ARG_SRC, full(forward_.src_desc())},
               {DNNL_ARG_WEIGHTS, full(forward_.weights_desc())},
               {DNNL_ARG_DST, full(forward_.dst_desc())}}};
    }
    if (direction == Direction::input_gradient) {
      const auto pd = gradient<dnnl::convolution_backward_data>();
      return {dnnl::convolution_backward_data(pd),
              {{DNNL_ARG_DIFF_SRC, full(pd.diff_src_desc())},
               {DNNL_ARG_WEIGHTS, full(pd.weights_desc())},
               {DNNL_ARG_DIFF_DST, full(pd.diff_dst_desc())}}};
    }
    const auto pd = gradient<dnnl::convolution_backward_weights>();
    return {dnnl::convolution_backward_weights(pd),
            {{DNNL_ARG_SRC, full(pd.src_desc())},
             {DNNL_ARG_DIFF_WEIGHTS, full(pd.diff_weights_desc())},
             {DNNL_ARG_DIFF_DST, full(pd.diff_dst_desc())}}};
  }

 private:
  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

  template <class Primitive>
  typename Primitive::primitive_desc gradient() const {
    return st::cpu::describe_gradient<Primitive>(forward_, {}, cpu_engine(), kAlgorithm, src_,
                                                 weights_, dst_, strides(), low(), high());
  }

  dnnl::memory::desc desc(const dnnl::memory::dims& sizes, dnnl::memory::format_tag tag) const {
    return {sizes, type_, tag};
  }
  dnnl::memory::dims strides() const { return {layer_.stride, layer_.stride}; }
  // TensorFlow's SAME pads the extra element at the end.
  int64_t padding() const {
    return std::max<int64_t>(
        (layer_.result_size() - 1) * layer_.stride + layer_.window - layer_.size, 0);
  }
  dnnl::memory::dims low() const { return {padding() / 2, padding() / 2}; }
  dnnl::memory::dims high() const { return {padding() - padding() / 2, padding() - padding() / 2}; }
  dnnl::memory full(const dnnl::memory::desc& desc) const {
    dnnl::memory memory(desc, cpu_engine());
    if (type_ == dnnl::memory::data_type::f32) {
      auto* data = static_cast<float*>(memory.get_data_handle());
      std::fill_n(data, desc.get_size() / sizeof(float), 0.5F);
    } else {
      constexpr uint16_t half = 0x3f00;
      auto* data = static_cast<uint16_t*>(memory.get_data_handle());
      std::fill_n(data, desc.get_size() / sizeof(half), half);
    }
    return memory;
  }

  Layer layer_;
  dnnl::memory::data_type type_;
  dnnl::memory::desc src_, weights_, dst_;
  dnnl::convolution_forward::primitive_desc forward_;
};

void execute(const Direct& direct, dnnl::stream& stream) {
  direct.primitive.execute(stream, direct.arguments);
  stream.wait();
}

double seconds(const Direct& direct, dnnl::stream& stream) {
  execute(direct, stream);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    execute(direct, stream);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count());
  }
  return best;
}

void direct(benchmark::State& state, const Layer& layer, Direction direction, st::DType dtype) {
  omp_set_num_threads(omp_get_num_procs());
  dnnl::stream stream(cpu_engine());
  const Direct choices[] = {
      DirectMaker(layer, dtype, dnnl::memory::format_tag::nhwc).make(direction),
      DirectMaker(layer, dtype, dnnl::memory::format_tag::any).make(direction)};
  const bool in_place = seconds(choices[0], stream) <= seconds(choices[1], stream);
  for (auto _ : state) execute(choices[in_place ? 0 : 1], stream);
}

}  // namespace

void add_conv_figures() {
  for (const st::DType dtype : {st::DType::f32, st::DType::bf16}) {
    for (const Layer& layer : kLayers) {
      for (const auto& [direction, word] : kDirections) {
        // Training does not need the gradient with respect to the images.
        if (direction == Direction::input_gradient && layer.in < 4) continue;
        const auto d = direction;
        add({.name = fmt::format("conv.{}.{}.{}", dtype, layer.name, word),
             .unit = "GFLOP/s",
             .work = layer.flops() * 1e-9,
             .ours = [=](benchmark::State& state) { through_session(state, layer, d, dtype); },
             .limit = [=](benchmark::State& state) { direct(state, layer, d, dtype); }});
      }
    }
  }
}

}  // namespace bench
