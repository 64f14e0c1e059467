// Convolutions of any attributes, against the reference semantics.
#include <gtest/gtest.h>

#include <thread>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/backends/cpu/passes/canonicalize_convolutions.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;

testing::Tolerance convolution_tolerance(DType dtype) {
  return {.ulps = 2, .of_largest = dtype == DType::f32 ? 4e-6 : 0.004};
}

// Operand shapes and attributes.
struct Case {
  Shape input, kernel;
  hlo::ConvolutionAttrs attrs;
};

// Random sizes, small enough for the reference, and random attributes that fit them.
class CaseWriter {
 public:
  explicit CaseWriter(uint64_t seed) : random_(seed, 57) {}

  Case next() {
    const int64_t rank = pick(1, 3);
    const Dims input_order = order(rank + 2);
    const Dims kernel_order = order(rank + 2);
    Case c;
    c.attrs = axes(input_order, kernel_order, order(rank + 2));
    c.attrs.feature_group_count = pick(0, 2) == 0 ? pick(2, 4) : 1;
    if (c.attrs.feature_group_count == 1 && pick(0, 3) == 0) c.attrs.batch_group_count = pick(2, 3);
    const int64_t groups = c.attrs.feature_group_count * c.attrs.batch_group_count;
    const int64_t features = pick(1, 9);
    Dims input(static_cast<size_t>(rank) + 2);
    Dims kernel = input;
    at(input, c.attrs.input_batch_dimension) = pick(1, 3) * c.attrs.batch_group_count;
    at(input, c.attrs.input_feature_dimension) = features * c.attrs.feature_group_count;
    at(kernel, c.attrs.kernel_input_feature_dimension) = features;
    at(kernel, c.attrs.kernel_output_feature_dimension) = pick(1, 9) * groups;
    for (int64_t d = 0; d < rank; ++d) add_axis(c, input, kernel, static_cast<size_t>(d), rank);
    c.input = Shape(input);
    c.kernel = Shape(kernel);
    return c;
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.next_below(static_cast<uint64_t>(high - low + 1)));
  }
  static int64_t& at(Dims& dims, int64_t axis) { return dims[axis]; }

  Dims order(int64_t rank) {
    Dims result;
    for (int64_t i = 0; i < rank; ++i) result.insert(result.begin() + pick(0, i), i);
    return result;
  }

  static hlo::ConvolutionAttrs axes(const Dims& input, const Dims& kernel, const Dims& output) {
    hlo::ConvolutionAttrs a;
    a.input_batch_dimension = input[0];
    a.input_feature_dimension = input[1];
    a.input_spatial_dimensions = {input.begin() + 2, input.end()};
    a.kernel_input_feature_dimension = kernel[0];
    a.kernel_output_feature_dimension = kernel[1];
    a.kernel_spatial_dimensions = {kernel.begin() + 2, kernel.end()};
    a.output_batch_dimension = output[0];
    a.output_feature_dimension = output[1];
    a.output_spatial_dimensions = {output.begin() + 2, output.end()};
    return a;
  }

  void add_axis(Case& c, Dims& input, Dims& kernel, size_t d, int64_t rank) {
    const int64_t size = pick(rank == 3 ? 3 : 5, rank == 1 ? 30 : 9);
    const int64_t window = pick(1, 4);
    at(input, c.attrs.input_spatial_dimensions[d]) = size;
    at(kernel, c.attrs.kernel_spatial_dimensions[d]) = window;
    const int64_t lhs_dilation = pick(0, 2) == 0 ? pick(2, 3) : 1;
    const int64_t rhs_dilation = pick(0, 2) == 0 ? 2 : 1;
    const int64_t reach = (window - 1) * rhs_dilation + 1;
    const int64_t least = reach - ((size - 1) * lhs_dilation + 1);
    const int64_t low = pick(-1, 3);
    c.attrs.padding.emplace_back(low, std::max(pick(-1, 3), least - low));
    c.attrs.window_strides.push_back(pick(0, 1) == 0 ? pick(1, 3) : 1);
    c.attrs.lhs_dilation.push_back(lhs_dilation);
    c.attrs.rhs_dilation.push_back(rhs_dilation);
    c.attrs.window_reversal.push_back(pick(0, 1) == 0);
  }

  RandomStream random_;
};

class RandomConvolution : public ::testing::TestWithParam<int> {};

TEST_P(RandomConvolution, IsTheReferences) {
  CaseWriter cases(static_cast<uint64_t>(GetParam()));
  RandomStream random(static_cast<uint64_t>(GetParam()), 58);
  for (int i = 0; i < 4; ++i) {
    const Case c = cases.next();
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const hlo::testing::OpUnderTest op{
          .opcode = Opcode::convolution,
          .operands = {testing::random_tensor(random, {dtype, c.input}, -2, 2),
                       testing::random_tensor(random, {dtype, c.kernel}, -2, 2)},
          .attrs = c.attrs};
      hlo::Module module;
      hlo::testing::build_op(module.add_function("main"), op);
      EXPECT_EQ(testing::check(module, op.operands, convolution_tolerance(dtype)), "")
          << hlo::print(module);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomConvolution, ::testing::Range(0, 12));

// NHWC, HWIO; strides, dilations and padding none.
hlo::ConvolutionAttrs nhwc_attrs() {
  hlo::ConvolutionAttrs a;
  a.input_feature_dimension = a.output_feature_dimension = 3;
  a.input_spatial_dimensions = a.output_spatial_dimensions = {1, 2};
  a.kernel_input_feature_dimension = 2;
  a.kernel_output_feature_dimension = 3;
  a.kernel_spatial_dimensions = {0, 1};
  a.window_strides = a.lhs_dilation = a.rhs_dilation = {1, 1};
  a.padding = {{0, 0}, {0, 0}};
  a.window_reversal = {false, false};
  return a;
}

std::unique_ptr<hlo::Module> convolution_module(const Case& c) {
  auto module = std::make_unique<hlo::Module>();
  hlo::testing::build_op(module->add_function("main"),
                         {.opcode = Opcode::convolution,
                          .operands = {Tensor(DType::f32, c.input), Tensor(DType::f32, c.kernel)},
                          .attrs = c.attrs});
  return module;
}

const hlo::Instruction* convolution_in(const hlo::Module& module) {
  for (const hlo::Instruction* x : module.entry().instructions()) {
    if (x->is(Opcode::convolution)) return x;
  }
  return nullptr;
}

// What the graph's gradients write: those of a layer with strides, and of a depthwise layer.
Case input_gradient(int64_t groups) {
  Case c{.input = {8, 7, 7, 32}, .kernel = {3, 3, 16, 32}, .attrs = nhwc_attrs()};
  c.kernel = {3, 3, groups == 1 ? 16 : groups, 32 / groups};
  c.attrs.kernel_input_feature_dimension = 3;
  c.attrs.kernel_output_feature_dimension = 2;
  c.attrs.feature_group_count = groups;
  c.attrs.lhs_dilation = {2, 2};
  c.attrs.padding = {{1, 2}, {1, 2}};
  c.attrs.window_reversal = {true, true};
  return c;
}

Case kernel_gradient(int64_t groups) {
  Case c{.input = {8, 15, 15, 16}, .kernel = {8, 7, 7, 32}, .attrs = nhwc_attrs()};
  c.attrs.input_batch_dimension = 3;
  c.attrs.input_feature_dimension = 0;
  c.attrs.kernel_input_feature_dimension = 0;
  c.attrs.kernel_output_feature_dimension = 3;
  c.attrs.kernel_spatial_dimensions = {1, 2};
  c.attrs.output_batch_dimension = 2;
  c.attrs.output_feature_dimension = 3;
  c.attrs.output_spatial_dimensions = {0, 1};
  c.attrs.rhs_dilation = {2, 2};
  c.attrs.padding = {{0, 0}, {0, 0}};
  c.attrs.batch_group_count = groups;
  return c;
}

TEST(ConvolutionProblem, KnowsTheGradientsOfLayers) {
  using Form = ConvolutionProblem::Form;
  for (const int64_t groups : {1, 16}) {
    const auto image = convolution_module(input_gradient(groups));
    const auto by_image = convolution_problem(*convolution_in(*image));
    ASSERT_TRUE(by_image.has_value());
    EXPECT_EQ(by_image->form, Form::input_gradient);
    EXPECT_EQ(by_image->strides, (dnnl::memory::dims{2, 2}));
    EXPECT_EQ(by_image->low, (dnnl::memory::dims{1, 1}));

    const auto kernel = convolution_module(kernel_gradient(groups));
    const auto by_kernel = convolution_problem(*convolution_in(*kernel));
    ASSERT_TRUE(by_kernel.has_value());
    EXPECT_EQ(by_kernel->form, Form::kernel_gradient);
    EXPECT_EQ(by_kernel->strides, (dnnl::memory::dims{2, 2}));
    EXPECT_EQ(sizes_of(by_kernel->kernel),
              groups == 1 ? (dnnl::memory::dims{32, 16, 3, 3})
                          : (dnnl::memory::dims{groups, 32 / groups, 16 / groups, 3, 3}));
  }
}

TEST(ConvolutionProblem, IsNoneOfACutImage) {
  Case c{.input = {8, 15, 15, 16}, .kernel = {3, 3, 16, 32}, .attrs = nhwc_attrs()};
  EXPECT_TRUE(convolution_problem(*convolution_in(*convolution_module(c))).has_value());
  c.attrs.padding = {{-1, 0}, {0, 0}};
  EXPECT_FALSE(convolution_problem(*convolution_in(*convolution_module(c))).has_value());
}

TEST(CanonicalizeConvolutions, MakeEveryLargeConvolutionAProblem) {
  Case cut{.input = {8, 15, 15, 16}, .kernel = {3, 3, 16, 32}, .attrs = nhwc_attrs()};
  cut.attrs.padding = {{-1, 0}, {0, -2}};
  Case mirrored{.input = {8, 15, 15, 16}, .kernel = {3, 3, 16, 32}, .attrs = nhwc_attrs()};
  mirrored.attrs.window_reversal = {true, false};
  Case transposed = input_gradient(1);
  transposed.attrs.window_reversal = {false, false};
  Case strided = input_gradient(1);
  strided.attrs.window_strides = {3, 1};
  Case grouped{.input = {8, 15, 15, 16}, .kernel = {3, 3, 16, 32}, .attrs = nhwc_attrs()};
  grouped.attrs.batch_group_count = 4;
  grouped.attrs.window_reversal = {true, true};
  for (const Case& c : {cut, mirrored, transposed, strided, grouped}) {
    const auto module = convolution_module(c);
    EXPECT_FALSE(convolution_problem(*convolution_in(*module)).has_value());
    EXPECT_TRUE(CanonicalizeConvolutions().run(*module));
    EXPECT_TRUE(convolution_problem(*convolution_in(*module)).has_value()) << hlo::print(*module);
    EXPECT_FALSE(CanonicalizeConvolutions().run(*module));
  }
}

TEST(CanonicalizeConvolutions, KeepValues) {
  CaseWriter cases(101);
  RandomStream random(102);
  int rewritten = 0;
  for (int i = 0; i < 100; ++i) {
    const Case c = cases.next();
    const std::vector<Tensor> operands = {
        testing::random_tensor(random, {DType::f32, c.input}, -2, 2),
        testing::random_tensor(random, {DType::f32, c.kernel}, -2, 2)};
    const auto module = convolution_module(c);
    const Tensor want = hlo::Evaluator().run(module->entry(), operands)[0];
    rewritten += CanonicalizeConvolutions(/*small_work=*/0).run(*module) ? 1 : 0;
    const Tensor got = hlo::Evaluator().run(module->entry(), operands)[0];
    EXPECT_EQ(testing::difference(got, want, convolution_tolerance(DType::f32)), "")
        << hlo::print(*module);
    EXPECT_TRUE(want.num_elements() == 0 || convolution_problem(*convolution_in(*module)))
        << hlo::print(*module);
  }
  EXPECT_GT(rewritten, 20);
}

TEST(CanonicalizeConvolutions, LeaveWhatIsSmall) {
  Case cut{.input = {1, 5, 5, 2}, .kernel = {3, 3, 2, 2}, .attrs = nhwc_attrs()};
  cut.attrs.padding = {{-1, 0}, {0, 0}};
  EXPECT_FALSE(CanonicalizeConvolutions().run(*convolution_module(cut)));
}

// A convolution and its gradients in one program, run by several threads at the same time.
TEST(Convolution, RunsFromManyThreads) {
  hlo::Module module;
  hlo::Computation& main = module.add_function("main");
  std::vector<Tensor> arguments;
  std::vector<Value> results;
  hlo::Builder b(main);
  RandomStream random(59);
  Case forward{.input = {8, 15, 15, 16}, .kernel = {3, 3, 16, 32}, .attrs = nhwc_attrs()};
  for (const Case& c : {forward, input_gradient(1), input_gradient(16), kernel_gradient(1)}) {
    std::vector<Value> operands;
    for (const Shape& shape : {c.input, c.kernel}) {
      arguments.push_back(testing::random_tensor(random, {DType::f32, shape}, -1, 1));
      operands.push_back(main.add_parameter(arguments.back().type()));
    }
    results.push_back(b.op(Opcode::convolution, operands, c.attrs)->result());
  }
  main.set_results(results);
  const auto executable = testing::client().compile(module);
  const std::vector<Tensor> want = testing::run(module, arguments);
  std::vector<std::string> differences(4);
  std::vector<std::thread> threads;
  for (std::string& difference : differences) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const std::vector<Tensor> outputs = runtime::run(*executable, arguments);
        for (size_t k = 0; k < want.size(); ++k)
          difference += testing::difference(outputs[k], want[k], {});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& difference : differences) EXPECT_EQ(difference, "");
}

}  // namespace
}  // namespace systole::cpu
