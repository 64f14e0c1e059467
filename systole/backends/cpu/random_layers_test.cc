// Random layers: a convolution or a product by a matrix, and what follows it, against the reference
// semantics. Their sizes are those that kernels of this backend are for, and neighbours of these.
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/backends/cpu/testing/programs.h"
#include "systole/hlo/ir/builder.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;

class LayerWriter {
 public:
  LayerWriter(uint64_t seed, hlo::Computation& main) : random_(seed, 93), b_(main) {
    dtype_ = below(5) == 0 ? DType::bf16 : DType::f32;
  }

  // main(input, weights, operands of the steps) -> the layer's result
  void write() {
    Value x = below(3) == 0 ? product() : convolution();
    for (int64_t steps = below(5); steps > 0; --steps) x = step(x);
    b_.computation().set_results({x});
  }

  DType dtype() const { return dtype_; }

 private:
  int64_t below(int64_t n) {
    return static_cast<int64_t>(random_.next_below(static_cast<uint64_t>(n)));
  }
  int64_t one_of(std::initializer_list<int64_t> sizes) {
    return sizes.begin()[below(std::ssize(sizes))];
  }
  Value parameter(Shape shape) {
    return b_.computation().add_parameter({dtype_, std::move(shape)});
  }
  // A parameter, or a constant.
  Value weights(Shape shape) {
    if (below(4) != 0) return parameter(std::move(shape));
    return b_.constant(testing::random_tensor(random_, {dtype_, std::move(shape)}, -1, 1));
  }

  Value product() {
    const int64_t rows = one_of({0, 1, 2, 4, 5, 16, 37, 64, 70});
    const int64_t depth = one_of({0, 1, 3, 16, 16, 100, 512, 1024});
    const int64_t columns = one_of({1, 16, 23, 24, 32, 70, 200});
    const bool lhs_transposed = below(3) == 0;
    const bool rhs_transposed = below(3) == 0;
    const Value x = parameter(lhs_transposed ? Shape{depth, rows} : Shape{rows, depth});
    const Value y = weights(rhs_transposed ? Shape{columns, depth} : Shape{depth, columns});
    return b_.dot_general(x, y, {{}, {}, {lhs_transposed ? 0 : 1}, {rhs_transposed ? 1 : 0}});
  }

  // Channels last, or the axes that gradients have.
  Value convolution() {
    hlo::ConvolutionAttrs a;
    a.input_feature_dimension = a.output_feature_dimension = 3;
    a.input_spatial_dimensions = a.output_spatial_dimensions = {1, 2};
    a.kernel_input_feature_dimension = 2;
    a.kernel_output_feature_dimension = 3;
    a.kernel_spatial_dimensions = {0, 1};
    const int64_t form = below(4);  // 1: an input's gradient, 2: a kernel's
    if (form == 1) std::swap(a.kernel_input_feature_dimension, a.kernel_output_feature_dimension);
    if (form == 2) {
      std::swap(a.input_batch_dimension, a.input_feature_dimension);
      a.kernel_input_feature_dimension = 0;
      a.kernel_spatial_dimensions = {1, 2};
      a.output_batch_dimension = 2;
      a.output_spatial_dimensions = {0, 1};
    }
    a.feature_group_count = form == 0 && below(6) == 0 ? 2 : 1;
    const int64_t features = one_of({1, 2, 3, 16, 24, 32, 32, 48, 64});
    Dims input_sizes(4);
    Dims kernel_sizes(4);
    input_sizes[a.input_batch_dimension] = one_of({0, 1, 1, 1, 2, 2, 3, 3, 8, 8});
    input_sizes[a.input_feature_dimension] = features * a.feature_group_count;
    kernel_sizes[a.kernel_input_feature_dimension] = features;
    kernel_sizes[a.kernel_output_feature_dimension] =
        one_of({1, 7, 32, 32, 33, 64}) * a.feature_group_count;
    const int64_t window = one_of({1, 1, 2, 3, 3, 3, 3, 5});
    for (const int64_t d : {0, 1}) {
      const int64_t size = 1 + below(20);
      const int64_t taps = below(8) == 0 ? 1 + below(4) : form == 2 ? 1 + below(size) : window;
      const int64_t dilation = below(8) == 0 ? 2 : 1;
      const int64_t holes = form == 1 && below(3) == 0 ? 2 : 1;
      const int64_t missing = (taps - 1) * dilation - (size - 1) * holes;
      const int64_t low = below(4) == 0 ? below(4) - 1 : (taps - 1) / 2;
      input_sizes[a.input_spatial_dimensions[d]] = size;
      kernel_sizes[a.kernel_spatial_dimensions[d]] = taps;
      a.padding.emplace_back(low, std::max(below(4) == 0 ? below(4) - 1 : taps / 2, missing - low));
      a.window_strides.push_back(form != 1 && below(3) == 0 ? 1 + below(3) : 1);
      a.lhs_dilation.push_back(holes);
      a.rhs_dilation.push_back(dilation);
      a.window_reversal.push_back(form == 1);
    }
    if (below(8) == 0) a.precision_config = {hlo::Precision::highest, hlo::Precision::highest};
    const Value x = parameter(Shape(input_sizes));
    return b_.op(Opcode::convolution, {x, weights(Shape(kernel_sizes))}, a)->result();
  }

  Value step(Value x) {
    constexpr Opcode kOpcodes[] = {Opcode::add, Opcode::subtract, Opcode::multiply, Opcode::maximum,
                                   Opcode::minimum};
    const Opcode opcode = kOpcodes[below(std::ssize(kOpcodes))];
    const Value y = step_operand(x);
    return below(2) == 0 ? b_.binary(opcode, x, y) : b_.binary(opcode, y, x);
  }
  // A number, one for each column, one for each place along another axis, or an array.
  Value step_operand(Value x) {
    const int64_t last = x.shape().rank() - 1;
    switch (below(5)) {
      case 0:
        return b_.splat_like(x, 0.5);
      case 1:
      case 2:
        return b_.broadcast_in_dim(weights({x.shape()[static_cast<int>(last)]}), x.shape(), {last});
      case 3:
        return b_.broadcast_in_dim(weights({x.shape()[0]}), x.shape(), {0});
      default:
        return parameter(x.shape());
    }
  }

  RandomStream random_;
  hlo::Builder b_;
  DType dtype_;
};

TEST(RandomLayer, AgreesWithTheReference) {
  for (uint64_t seed = 0; seed < testing::number_of_programs(60); ++seed) {
    hlo::Module module;
    hlo::Computation& main = module.add_function("main");
    LayerWriter writer(seed, main);
    writer.write();
    RandomStream random(seed, 94);
    std::vector<Tensor> arguments;
    for (int i = 0; i < main.num_parameters(); ++i)
      arguments.push_back(testing::random_tensor(random, main.parameter(i).type(), -1, 1));
    const double of_largest = writer.dtype() == DType::f32 ? 1e-5 : 0.02;
    // (A step may leave little of a large sum.)
    EXPECT_EQ(testing::check(module, arguments,
                             {.ulps = 2, .of_largest = of_largest, .absolute = 10 * of_largest}),
              "")
        << "seed " << seed << "\n"
        << hlo::print(module);
  }
}

}  // namespace
}  // namespace systole::cpu
