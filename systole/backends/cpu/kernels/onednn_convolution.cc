#include "systole/backends/cpu/kernels/onednn_convolution.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "systole/backends/cpu/kernels/convolution_parts.h"
#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/direct_convolution.h"
#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/onednn_parts.h"
#include "systole/backends/cpu/kernels/window_dot.h"
#include "systole/backends/cpu/kernels/winograd.h"

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
  const auto pd =
      describe_changed<Forward>([](auto& d) { avoid_brgemm(d); }, onednn_attributes(),
                                onednn_engine(), dnnl::prop_kind::forward_training, kAlgorithm,
                                l.image, l.kernel, l.output, p.strides, p.dilations, p.low, p.high);
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
  const dnnl::memory::dims kernel = sizes_of(p.kernel);
  const auto window = kernel.end() - static_cast<std::ptrdiff_t>(p.strides.size());
  if (std::all_of(window, kernel.end(), is_one)) return false;
  return operations_of(p) >= kUses * static_cast<double>(p.image.get_size() + p.output.get_size());
}

// With images where they are if oneDNN has good code for that, else with copies in the layout that
// it likes: measured, channels-last images in place are mostly as fast as blocked ones, which cost
// two copies. The kernel's layout is oneDNN's choice, or that of the parts before.
std::optional<Plan> choose_plan(const Problem& p, const dnnl::memory::desc& kernel) {
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

std::shared_ptr<const OnednnCall> make_call(const Problem& p, const Plan& plan) {
  const Layouts& l = plan.layouts;
  const auto operands = [&]() -> std::vector<OnednnCall::Operand> {
    switch (p.form) {
      case Problem::Form::forward:
        return {{DNNL_ARG_SRC, p.image, l.image},
                {DNNL_ARG_WEIGHTS, l.kernel},
                {DNNL_ARG_DST, p.output, l.output, true}};
      case Problem::Form::input_gradient:
        return {{DNNL_ARG_DIFF_SRC, p.image, l.image, true},
                {DNNL_ARG_WEIGHTS, l.kernel},
                {DNNL_ARG_DIFF_DST, p.output, l.output}};
      default:
        return {{DNNL_ARG_SRC, p.image, l.image},
                {DNNL_ARG_DIFF_WEIGHTS, l.kernel},
                {DNNL_ARG_DIFF_DST, p.output, l.output}};
    }
  };
  return std::make_shared<OnednnCall>(plan.primitive, operands());
}

// The kernel's buffers: input, kernel, result.
struct BufferNumbers {
  int image, kernel, output;
};
BufferNumbers buffer_numbers(const Problem& p) {
  switch (p.form) {
    case Problem::Form::forward:
      return {.image = 0, .kernel = 1, .output = 2};
    case Problem::Form::input_gradient:
      return {.image = 2, .kernel = 1, .output = 0};
    default:
      return {.image = 0, .kernel = 2, .output = 1};
  }
}

// The parts of a convolution, whose calls read or write the kernel in one layout.
struct Parts {
  std::vector<OnednnPart> list;
  dnnl::memory::desc kernel;
};

// nullopt if oneDNN has only its reference loops for one.
std::optional<Parts> plan_parts(const Problem& p, int64_t count) {
  const OnOneThread alone;
  const BufferNumbers buffers = buffer_numbers(p);
  Parts result;
  std::map<std::vector<dnnl::memory::dims>, std::shared_ptr<const OnednnCall>> calls;
  for (const ConvolutionPart& part : cut_convolution(p, count)) {
    const Problem& q = part.problem;
    auto& call = calls[{sizes_of(q.image), sizes_of(q.output), q.low, q.high}];
    if (call == nullptr) {
      const auto plan = choose_plan(q, calls.size() == 1 ? any_layout(p.kernel) : result.kernel);
      if (!plan) return std::nullopt;
      result.kernel = plan->layouts.kernel;
      call = make_call(q, *plan);
    }
    result.list.push_back({.call = call,
                           .operands = {{.buffer = buffers.image, .offset = part.image_offset},
                                        {.buffer = buffers.kernel},
                                        {.buffer = buffers.output, .offset = part.output_offset}}});
  }
  return result;
}

// The kernel is copied once for all parts, if they want another layout of it.
OnednnWork read_kernel(const Problem& p, Parts parts, bool keeps_kernel, int num_threads) {
  OnednnWork work;
  if (!(parts.kernel == p.kernel)) {
    const PartOperand from{.buffer = buffer_numbers(p).kernel};
    work.before = copy_parts(p.kernel, from, parts.kernel, {}, num_threads);
    work.scratch_bytes = static_cast<int64_t>(parts.kernel.get_size());
    if (keeps_kernel) work.kept_operand = from.buffer;
    for (OnednnPart& part : parts.list) part.operands[1] = {};
  }
  work.parts = std::move(parts.list);
  return work;
}

// The gradients of the parts are added up, and copied if they have another layout than the result.
OnednnWork write_kernel(const Problem& p, Parts parts, int num_threads) {
  OnednnWork work;
  const PartOperand result{.buffer = buffer_numbers(p).kernel};
  const bool copied = !(parts.kernel == p.kernel);
  const auto bytes = static_cast<int64_t>(parts.kernel.get_size());
  if (parts.list.size() > 1 || copied) {
    for (OnednnPart& part : parts.list) {
      part.operands[1] = {.offset = work.scratch_bytes};
      work.scratch_bytes += bytes;
    }
  }
  if (parts.list.size() > 1) {
    work.sums = PartialSums{.first = {},
                            .result = copied ? PartOperand{} : result,
                            .count = static_cast<int64_t>(parts.list.size()),
                            .elements = bytes / static_cast<int64_t>(sizeof(float))};
  }
  if (copied) work.after = copy_parts(parts.kernel, {}, p.kernel, result, num_threads);
  work.parts = std::move(parts.list);
  return work;
}

// How many parts. Those of a kernel's gradient each have a gradient of their own, which are added
// up: how many does not depend on the number of threads, which therefore changes no result.
int64_t parts_wanted(const Problem& p, int num_threads) {
  constexpr int64_t kMaxSums = 32;
  constexpr int64_t kMaxSumBytes = int64_t{64} << 20;
  constexpr double kMinUses = 400;  // operations for each byte of a part's gradient
  if (p.form != Problem::Form::kernel_gradient) return max_parts(operations_of(p), num_threads);
  const auto bytes = static_cast<int64_t>(p.kernel.get_size());
  const double most =
      operations_of(p) / std::max(kMinUses * static_cast<double>(bytes), 4 * kMinOperations);
  return std::clamp<int64_t>(static_cast<int64_t>(most), 1,
                             std::clamp<int64_t>(kMaxSumBytes / bytes, 1, kMaxSums));
}

std::unique_ptr<Kernel> own_kernel(const Problem& p, bool keeps_kernel, int num_threads,
                                   Epilogue epilogue) {
  if (auto kernel = make_direct_convolution_kernel(p, epilogue)) return kernel;
  if (auto kernel = make_winograd_kernel(p, keeps_kernel, num_threads, epilogue)) return kernel;
  return make_window_dot_kernel(p, keeps_kernel, num_threads, std::move(epilogue));
}

}  // namespace

std::unique_ptr<Kernel> make_convolution_with_epilogue(const hlo::Instruction& convolution,
                                                       bool keeps_kernel, int num_threads,
                                                       Epilogue epilogue) {
  const std::optional<Problem> problem = convolution_problem(convolution);
  // What follows the gradient of a kernel updates weights in place, which an epilogue does not.
  if (!problem || problem->form == Problem::Form::kernel_gradient) return nullptr;
  return own_kernel(*problem, keeps_kernel, num_threads, std::move(epilogue));
}

std::unique_ptr<Kernel> make_convolution_kernel(const hlo::Instruction& convolution,
                                                bool keeps_kernel, int num_threads) {
  const std::optional<Problem> problem = convolution_problem(convolution);
  return problem ? make_convolution_kernel(*problem, keeps_kernel, num_threads) : nullptr;
}

std::unique_ptr<Kernel> make_convolution_kernel(const Problem& problem, bool keeps_kernel,
                                                int num_threads) {
  if (type_of(problem.image) == dnnl::memory::data_type::s8 && !host_multiplies_s8())
    return nullptr;
  if (auto kernel = own_kernel(problem, keeps_kernel, num_threads, {})) return kernel;
  Problem p = problem;
  const bool writes_kernel = p.form == Problem::Form::kernel_gradient;
  const int64_t count = parts_wanted(p, num_threads);
  // Parts of sums are added up in f32.
  if (writes_kernel && count > 1)
    p.kernel =
        dnnl::memory::desc(sizes_of(p.kernel), dnnl::memory::data_type::f32, strides_of(p.kernel));
  std::optional<Parts> parts = plan_parts(p, count);
  if (!parts) return nullptr;
  return make_parts_kernel(writes_kernel
                               ? write_kernel(problem, std::move(*parts), num_threads)
                               : read_kernel(problem, std::move(*parts), keeps_kernel, num_threads),
                           num_threads);
}

}  // namespace systole::cpu
