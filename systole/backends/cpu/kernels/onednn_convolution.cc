#include "systole/backends/cpu/kernels/onednn_convolution.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/direct_convolution.h"
#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/openmp.h"

namespace systole::cpu {
namespace {

using Problem = ConvolutionProblem;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

dnnl::memory::desc any_layout(const dnnl::memory::desc& desc) {
  return dnnl::memory::desc(sizes_of(desc), type_of(desc), dnnl::memory::format_tag::any);
}

// The layouts asked for, then those that the primitive takes.
struct Layouts {
  dnnl::memory::desc image, kernel, output;
};

// A primitive, the layouts that it wants, and oneDNN's name for its code.
struct Plan {
  dnnl::primitive primitive;
  Layouts layouts;
  std::string implementation;
};

Plan forward_plan(const Problem& p, const Layouts& l) {
  const auto pd = describe<Forward>(onednn_attributes(), onednn_engine(),
                                    dnnl::prop_kind::forward_training, kAlgorithm, l.image,
                                    l.kernel, l.output, p.strides, p.dilations, p.low, p.high);
  return {Forward(pd), {pd.src_desc(), pd.weights_desc(), pd.dst_desc()}, pd.impl_info_str()};
}

// Gradients are made from the forward convolution that they belong to: one of operands of one type.
Forward::primitive_desc forward_hint(const Problem& p, dnnl::memory::data_type type) {
  const auto of_type = [&](const dnnl::memory::desc& desc) {
    return dnnl::memory::desc(sizes_of(desc), type, dnnl::memory::format_tag::any);
  };
  return describe<Forward>(dnnl::primitive_attr(), onednn_engine(),
                           dnnl::prop_kind::forward_training, kAlgorithm, of_type(p.image),
                           of_type(p.kernel), of_type(p.output), p.strides, p.dilations, p.low,
                           p.high);
}

Plan input_gradient_plan(const Problem& p, const Layouts& l) {
  const auto pd = describe_gradient<BackwardData>(
      forward_hint(p, type_of(p.kernel)), onednn_attributes(), onednn_engine(), kAlgorithm, l.image,
      l.kernel, l.output, p.strides, p.dilations, p.low, p.high);
  return {BackwardData(pd),
          {pd.diff_src_desc(), pd.weights_desc(), pd.diff_dst_desc()},
          pd.impl_info_str()};
}

Plan kernel_gradient_plan(const Problem& p, const Layouts& l) {
  const auto pd = describe_gradient<BackwardWeights>(
      forward_hint(p, type_of(p.image)), onednn_attributes(), onednn_engine(), kAlgorithm, l.image,
      l.kernel, l.output, p.strides, p.dilations, p.low, p.high);
  return {BackwardWeights(pd),
          {pd.src_desc(), pd.diff_weights_desc(), pd.diff_dst_desc()},
          pd.impl_info_str()};
}

Plan make_plan(const Problem& p, const Layouts& layouts) {
  switch (p.form) {
    case Problem::Form::forward:
      return forward_plan(p, layouts);
    case Problem::Form::input_gradient:
      return input_gradient_plan(p, layouts);
    default:
      return kernel_gradient_plan(p, layouts);
  }
}

// The gradient by a kernel with strides: its code for channels-last images takes 1.3 to 1.6 times
// as long as that for blocked ones, which makes up for their copies where a copied byte is used
// often.
bool copies_pay(const Problem& p) {
  constexpr double kUses = 80;  // floating-point operations a byte
  const auto is_one = [](int64_t s) { return s == 1; };
  if (p.form != Problem::Form::kernel_gradient || std::ranges::all_of(p.strides, is_one))
    return false;
  const auto elements = [](const dnnl::memory::dims& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
  };
  const dnnl::memory::dims kernel = sizes_of(p.kernel);
  const auto window = kernel.end() - static_cast<std::ptrdiff_t>(p.strides.size());
  if (std::all_of(window, kernel.end(), is_one)) return false;
  // Each output element uses the kernel elements of its own feature.
  const double operations = 2 * elements(sizes_of(p.output)) * elements(kernel) /
                            static_cast<double>(sizes_of(p.output)[1]);
  return operations >= kUses * static_cast<double>(p.image.get_size() + p.output.get_size());
}

// With images where they are if oneDNN has good code for that, else with copies in the layout that
// it likes: measured, channels-last images in place are mostly as fast as blocked ones, which cost
// two copies.
std::optional<Plan> choose_plan(const Problem& p) {
  const dnnl::memory::desc kernel = any_layout(p.kernel);
  Layouts choices[] = {{p.image, kernel, p.output},
                       {any_layout(p.image), kernel, any_layout(p.output)}};
  if (copies_pay(p)) std::swap(choices[0], choices[1]);
  for (const Layouts& layouts : choices) {
    Plan plan;
    const auto made = try_make([&] {
      plan = make_plan(p, layouts);
      return plan.primitive;
    });
    if (made && plan.implementation.find("ref") == std::string::npos) return plan;
  }
  return std::nullopt;
}

// In the order of the instruction's operands and result.
std::vector<OnednnCall::Operand> operands_of(const Problem& p, const Layouts& wanted) {
  switch (p.form) {
    case Problem::Form::forward:
      return {{DNNL_ARG_SRC, p.image, wanted.image},
              {DNNL_ARG_WEIGHTS, p.kernel, wanted.kernel},
              {DNNL_ARG_DST, p.output, wanted.output, true}};
    case Problem::Form::input_gradient:
      return {{DNNL_ARG_DIFF_DST, p.output, wanted.output},
              {DNNL_ARG_WEIGHTS, p.kernel, wanted.kernel},
              {DNNL_ARG_DIFF_SRC, p.image, wanted.image, true}};
    default:
      return {{DNNL_ARG_SRC, p.image, wanted.image},
              {DNNL_ARG_DIFF_DST, p.output, wanted.output},
              {DNNL_ARG_DIFF_WEIGHTS, p.kernel, wanted.kernel, true}};
  }
}

class ConvolutionKernel : public Kernel {
 public:
  ConvolutionKernel(const Problem& problem, const Plan& plan, int num_threads)
      : call_(plan.primitive, operands_of(problem, plan.layouts), num_threads) {}
  void run(std::span<void* const> buffers, RunContext&) const override { call_.run(buffers); }
  bool uses_openmp() const override { return true; }

 private:
  OnednnCall call_;
};

}  // namespace

std::unique_ptr<Kernel> make_convolution_kernel(const hlo::Instruction& convolution,
                                                int num_threads) {
  const std::optional<Problem> problem = convolution_problem(convolution);
  return problem ? make_convolution_kernel(*problem, num_threads) : nullptr;
}

std::unique_ptr<Kernel> make_convolution_kernel(const Problem& problem, int num_threads) {
  if (type_of(problem.image) == dnnl::memory::data_type::s8) {
    if (!host_multiplies_s8()) return nullptr;
    const OpenmpThreads threads(num_threads);
    const std::optional<Plan> plan = choose_plan(problem);
    return plan ? std::make_unique<ConvolutionKernel>(problem, *plan, num_threads) : nullptr;
  }
  if (auto direct = make_direct_convolution_kernel(problem, num_threads)) return direct;
  const OpenmpThreads threads(num_threads);
  const std::optional<Plan> plan = choose_plan(problem);
  if (!plan) return nullptr;
  return std::make_unique<ConvolutionKernel>(problem, *plan, num_threads);
}

}  // namespace systole::cpu
