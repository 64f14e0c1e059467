#include "systole/backends/cpu/kernels/onednn_convolution.h"

#include <algorithm>
#include <cstring>

#include "systole/backends/cpu/kernels/onednn.h"

namespace systole::cpu {
namespace {

using hlo::ConvolutionAttrs;
using hlo::Instruction;
using Desc = dnnl::memory::desc;
using Sizes = dnnl::memory::dims;

size_t u(int64_t i) { return static_cast<size_t>(i); }

// The attributes with what they leave out filled in.
struct Window {
  explicit Window(const Instruction& x) {
    const auto& attrs = x.attrs<ConvolutionAttrs>();
    const size_t rank = attrs.input_spatial_dimensions.size();
    const auto filled = [&](const Dims& dims) {
      return dims.empty() ? Sizes(rank, 1) : Sizes(dims.begin(), dims.end());
    };
    strides = filled(attrs.window_strides);
    lhs_dilation = filled(attrs.lhs_dilation);
    rhs_dilation = filled(attrs.rhs_dilation);
    for (size_t d = 0; d < rank; ++d) {
      low.push_back(attrs.padding.empty() ? 0 : attrs.padding[d].first);
      high.push_back(attrs.padding.empty() ? 0 : attrs.padding[d].second);
      size.push_back(x.operand(1).shape()[static_cast<int>(attrs.kernel_spatial_dimensions[d])]);
      const bool flips = !attrs.window_reversal.empty() && attrs.window_reversal[d] && size[d] > 1;
      some_reversed = some_reversed || flips;
      all_reversed = all_reversed && (flips || size[d] == 1);
    }
  }
  Sizes strides, lhs_dilation, rhs_dilation, low, high, size;
  bool some_reversed = false;
  bool all_reversed = true;
};

bool all_ones(const Sizes& sizes) {
  return std::ranges::all_of(sizes, [](int64_t s) { return s == 1; });
}

int64_t product(const Shape& shape, const Dims& axes) {
  int64_t result = 1;
  for (const int64_t axis : axes) result *= shape[static_cast<int>(axis)];
  return result;
}

// A tensor as oneDNN sees it: these axes, then the spatial ones. `groups` > 1 splits the first
// axis.
Desc layout(const TensorType& type, std::initializer_list<int64_t> axes, const Dims& spatial,
            int64_t groups = 1) {
  const Dims strides = type.shape.strides();
  Sizes sizes;
  Sizes steps;
  for (const int64_t axis : axes) {
    sizes.push_back(type.shape[static_cast<int>(axis)]);
    steps.push_back(strides[u(axis)]);
  }
  if (groups > 1) {
    sizes[0] /= groups;
    sizes.insert(sizes.begin(), groups);
    steps.insert(steps.begin(), steps[0] * sizes[1]);
  }
  for (const int64_t axis : spatial) {
    sizes.push_back(type.shape[static_cast<int>(axis)]);
    steps.push_back(strides[u(axis)]);
  }
  return Desc(sizes, *onednn_type(type.dtype), steps);
}

Desc any_layout(const Desc& desc) {
  return Desc(desc.dims(), desc.data_type(), dnnl::memory::format_tag::any);
}

// One of the three ways to run it: what the operands are to oneDNN, and the forward convolution's
// window.
struct Problem {
  enum class Form : uint8_t { forward, input_gradient, kernel_gradient } form;
  Desc image;  // of the forward convolution
  Desc kernel;
  Desc output;
  Sizes strides, dilations, low, high;
  bool flip_kernel = false;
};

// The forward convolution's upper padding that makes its output as large as it is; nullopt when
// oneDNN would not have it.
std::optional<Sizes> upper_padding(const Problem& p) {
  const size_t rank = p.strides.size();
  const auto spatial = [rank](const Desc& desc, size_t d) {
    return desc.dims()[desc.dims().size() - rank + d];
  };
  Sizes high;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t window = (spatial(p.kernel, d) - 1) * (p.dilations[d] + 1) + 1;
    high.push_back((spatial(p.output, d) - 1) * p.strides[d] + window - spatial(p.image, d) -
                   p.low[d]);
    if (p.low[d] < 0 || high[d] <= -p.strides[d]) return std::nullopt;
  }
  return high;
}

Sizes minus_one(Sizes sizes) {
  for (int64_t& s : sizes) --s;
  return sizes;
}

Problem forward_problem(const Instruction& x, const Window& window) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  Problem p{.form = Problem::Form::forward};
  p.image = layout(x.operand(0).type(), {a.input_batch_dimension, a.input_feature_dimension},
                   a.input_spatial_dimensions);
  p.kernel = layout(x.operand(1).type(),
                    {a.kernel_output_feature_dimension, a.kernel_input_feature_dimension},
                    a.kernel_spatial_dimensions, a.feature_group_count);
  p.output = layout(x.type(), {a.output_batch_dimension, a.output_feature_dimension},
                    a.output_spatial_dimensions);
  p.strides = window.strides;
  p.dilations = minus_one(window.rhs_dilation);
  p.low = window.low;
  p.flip_kernel = window.some_reversed;
  return p;
}

// The result is the image's gradient, the input that of the output, its holes the forward strides.
Problem input_gradient_problem(const Instruction& x, const Window& window) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  Problem p{.form = Problem::Form::input_gradient};
  p.image = layout(x.type(), {a.output_batch_dimension, a.output_feature_dimension},
                   a.output_spatial_dimensions);
  p.kernel = layout(x.operand(1).type(),
                    {a.kernel_input_feature_dimension, a.kernel_output_feature_dimension},
                    a.kernel_spatial_dimensions);
  p.output = layout(x.operand(0).type(), {a.input_batch_dimension, a.input_feature_dimension},
                    a.input_spatial_dimensions);
  p.strides = window.lhs_dilation;
  p.dilations = minus_one(window.rhs_dilation);
  for (size_t d = 0; d < window.low.size(); ++d) {
    p.low.push_back((window.size[d] - 1) * window.rhs_dilation[d] - window.low[d]);
  }
  p.flip_kernel = !window.all_reversed;
  return p;
}

// The result is the kernel's gradient: the images are the features of the input, and the output's
// gradient is the window.
Problem kernel_gradient_problem(const Instruction& x, const Window& window) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  Problem p{.form = Problem::Form::kernel_gradient};
  p.image = layout(x.operand(0).type(), {a.input_feature_dimension, a.input_batch_dimension},
                   a.input_spatial_dimensions);
  p.kernel = layout(x.type(), {a.output_feature_dimension, a.output_batch_dimension},
                    a.output_spatial_dimensions);
  p.output = layout(x.operand(1).type(),
                    {a.kernel_input_feature_dimension, a.kernel_output_feature_dimension},
                    a.kernel_spatial_dimensions);
  p.strides = window.rhs_dilation;
  p.dilations = minus_one(window.strides);
  p.low = window.low;
  return p;
}

std::optional<Problem> problem_of(const Instruction& x) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  const Window window(x);
  const auto rank = static_cast<int64_t>(window.size.size());
  if (rank < 1 || rank > 3 || a.batch_group_count != 1) return std::nullopt;
  const bool dilated = !all_ones(window.lhs_dilation);
  const bool grouped = a.feature_group_count != 1;
  if (dilated || (window.some_reversed && all_ones(window.strides))) {
    if (grouped || !all_ones(window.strides)) return std::nullopt;
    return input_gradient_problem(x, window);
  }
  const bool large_window = product(x.operand(1).shape(), a.kernel_spatial_dimensions) >
                            product(x.shape(), a.output_spatial_dimensions);
  if (large_window && !grouped && !window.some_reversed) return kernel_gradient_problem(x, window);
  return forward_problem(x, window);
}

// A primitive and the layouts that it wants.
struct Plan {
  dnnl::primitive primitive;
  Desc image, kernel, output;
  std::string implementation;
};

Plan make_plan(const Problem& p, const Sizes& high, const Desc& image, const Desc& kernel,
               const Desc& output) {
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::engine& engine = onednn_engine();
  const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, algorithm, image,
                                                kernel, output, p.strides, p.dilations, p.low,
                                                high);
  if (p.form == Problem::Form::forward) {
    const dnnl::convolution_forward::primitive_desc pd(forward, engine);
    return {dnnl::convolution_forward(pd), pd.src_desc(), pd.weights_desc(), pd.dst_desc(),
            pd.impl_info_str()};
  }
  const auto f32_as_operand = [](const Desc& desc, const Desc& like) {
    return Desc(desc.dims(), like.data_type(), dnnl::memory::format_tag::any);
  };
  if (p.form == Problem::Form::input_gradient) {
    const dnnl::convolution_forward::desc hint_desc(
        dnnl::prop_kind::forward_training, algorithm, f32_as_operand(image, kernel),
        any_layout(kernel), f32_as_operand(output, kernel), p.strides, p.dilations, p.low, high);
    const dnnl::convolution_forward::primitive_desc hint(hint_desc, engine);
    const dnnl::convolution_backward_data::desc desc(algorithm, image, kernel, output, p.strides,
                                                     p.dilations, p.low, high);
    const dnnl::convolution_backward_data::primitive_desc pd(desc, engine, hint);
    return {dnnl::convolution_backward_data(pd), pd.diff_src_desc(), pd.weights_desc(),
            pd.diff_dst_desc(), pd.impl_info_str()};
  }
  const dnnl::convolution_forward::desc hint_desc(dnnl::prop_kind::forward_training, algorithm,
                                                  any_layout(image), f32_as_operand(kernel, image),
                                                  f32_as_operand(output, image), p.strides,
                                                  p.dilations, p.low, high);
  const dnnl::convolution_forward::primitive_desc hint(hint_desc, engine);
  const dnnl::convolution_backward_weights::desc desc(algorithm, image, kernel, output, p.strides,
                                                      p.dilations, p.low, high);
  const dnnl::convolution_backward_weights::primitive_desc pd(desc, engine, hint);
  return {dnnl::convolution_backward_weights(pd), pd.src_desc(), pd.diff_weights_desc(),
          pd.diff_dst_desc(), pd.impl_info_str()};
}

// With images where they are if oneDNN has good code for that, else with copies in the layout that
// it likes.
std::optional<Plan> choose_plan(const Problem& p, const Sizes& high) {
  std::optional<Plan> plan;
  for (const bool in_place : {true, false}) {
    const auto made = try_make([&] {
      plan = in_place ? make_plan(p, high, p.image, any_layout(p.kernel), p.output)
                      : make_plan(p, high, any_layout(p.image), any_layout(p.kernel),
                                  any_layout(p.output));
      return plan->primitive;
    });
    if (made && plan->implementation.find("ref") == std::string::npos) return plan;
  }
  return std::nullopt;
}

// An operand in the caller's layout and in the primitive's.
class Side {
 public:
  Side(int argument, const Desc& user, const Desc& wanted, bool is_result)
      : argument_(argument),
        user_(user),
        wanted_(wanted),
        is_result_(is_result),
        copied_(user != wanted) {
    if (!copied_) return;
    const dnnl::engine& engine = onednn_engine();
    const Desc& from = is_result ? wanted : user;
    const Desc& to = is_result ? user : wanted;
    copy_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to));
  }

  // The memory objects of one run at a time.
  struct Memory {
    dnnl::memory user;
    dnnl::memory wanted;
  };
  Memory make_memory() const {
    Memory m;
    m.user = dnnl::memory(user_, onednn_engine(), DNNL_MEMORY_NONE);
    m.wanted = copied_ ? dnnl::memory(wanted_, onednn_engine()) : m.user;
    return m;
  }
  void before(Memory& m, dnnl::stream& stream) const {
    if (copied_ && !is_result_)
      copy_.execute(stream, {{DNNL_ARG_FROM, m.user}, {DNNL_ARG_TO, m.wanted}});
  }
  void after(Memory& m, dnnl::stream& stream) const {
    if (copied_ && is_result_)
      copy_.execute(stream, {{DNNL_ARG_FROM, m.wanted}, {DNNL_ARG_TO, m.user}});
  }
  int argument() const { return argument_; }

 private:
  int argument_;
  Desc user_;
  Desc wanted_;
  bool is_result_;
  bool copied_;
  dnnl::reorder copy_;
};

class ConvolutionKernel : public Kernel {
 public:
  // The sides in the order of the buffers.
  ConvolutionKernel(dnnl::primitive primitive, std::vector<Side> sides, int64_t flip_blocks,
                    size_t flip_bytes, int num_threads)
      : primitive_(std::move(primitive)),
        sides_(std::move(sides)),
        flip_blocks_(flip_blocks),
        flip_bytes_(flip_bytes),
        num_threads_(num_threads) {}
  ~ConvolutionKernel() override { delete idle_.load(); }

  void run(std::span<void* const> buffers, RunContext&) const override {
    std::unique_ptr<Frame> frame(idle_.exchange(nullptr));
    if (frame == nullptr) frame = make_frame();
    set_onednn_threads(num_threads_);
    static_cast<void>(try_make([&] {
      for (size_t i = 0; i < sides_.size(); ++i)
        frame->memories[i].user.set_data_handle(buffers[i]);
      if (flip_blocks_ > 1) flip(*frame, static_cast<const std::byte*>(buffers[1]));
      for (size_t i = 0; i < sides_.size(); ++i)
        sides_[i].before(frame->memories[i], frame->stream);
      primitive_.execute(frame->stream, frame->arguments);
      for (size_t i = 0; i < sides_.size(); ++i) sides_[i].after(frame->memories[i], frame->stream);
      return primitive_;
    }));
    Frame* none = nullptr;
    if (idle_.compare_exchange_strong(none, frame.get())) frame.release();
  }

 private:
  struct Frame {
    dnnl::stream stream{onednn_engine()};
    std::vector<Side::Memory> memories;
    std::unordered_map<int, dnnl::memory> arguments;
    std::vector<std::byte> flipped;
  };

  std::unique_ptr<Frame> make_frame() const {
    auto frame = std::make_unique<Frame>();
    for (const Side& side : sides_) {
      frame->memories.push_back(side.make_memory());
      frame->arguments[side.argument()] = frame->memories.back().wanted;
    }
    return frame;
  }

  // The window's places in reverse: a mirrored kernel.
  void flip(Frame& frame, const std::byte* kernel) const {
    frame.flipped.resize(static_cast<size_t>(flip_blocks_) * flip_bytes_);
    for (int64_t i = 0; i < flip_blocks_; ++i) {
      std::memcpy(&frame.flipped[u(i) * flip_bytes_],
                  kernel + u(flip_blocks_ - 1 - i) * flip_bytes_, flip_bytes_);
    }
    frame.memories[1].user.set_data_handle(frame.flipped.data());
  }

  dnnl::primitive primitive_;
  std::vector<Side> sides_;
  int64_t flip_blocks_;
  size_t flip_bytes_;
  int num_threads_;
  mutable std::atomic<Frame*> idle_ = nullptr;
};

bool supported(DType lhs, DType rhs, DType result) {
  if (lhs != rhs) return false;
  return lhs == DType::f32 ? result == DType::f32
                           : lhs == DType::bf16 && (result == DType::bf16 || result == DType::f32);
}

// The kernel's spatial axes come first, in order: mirroring it reverses blocks.
bool spatial_axes_lead(const ConvolutionAttrs& attrs) {
  for (size_t d = 0; d < attrs.kernel_spatial_dimensions.size(); ++d) {
    if (attrs.kernel_spatial_dimensions[d] != static_cast<int64_t>(d)) return false;
  }
  return true;
}

std::vector<Side> sides_of(const Problem& p, const Plan& plan) {
  switch (p.form) {
    case Problem::Form::forward:
      return {{DNNL_ARG_SRC, p.image, plan.image, false},
              {DNNL_ARG_WEIGHTS, p.kernel, plan.kernel, false},
              {DNNL_ARG_DST, p.output, plan.output, true}};
    case Problem::Form::input_gradient:
      return {{DNNL_ARG_DIFF_DST, p.output, plan.output, false},
              {DNNL_ARG_WEIGHTS, p.kernel, plan.kernel, false},
              {DNNL_ARG_DIFF_SRC, p.image, plan.image, true}};
    default:
      return {{DNNL_ARG_SRC, p.image, plan.image, false},
              {DNNL_ARG_DIFF_DST, p.output, plan.output, false},
              {DNNL_ARG_DIFF_WEIGHTS, p.kernel, plan.kernel, true}};
  }
}

}  // namespace

std::unique_ptr<Kernel> make_convolution_kernel(const Instruction& x, int num_threads) {
  const auto& attrs = x.attrs<ConvolutionAttrs>();
  if (!supported(x.operand(0).dtype(), x.operand(1).dtype(), x.dtype())) return nullptr;
  const std::optional<Problem> problem = problem_of(x);
  if (!problem) return nullptr;
  const Window window(x);
  // A kernel that is mirrored along some axes only is too rare to be worth code.
  if (problem->flip_kernel &&
      (!spatial_axes_lead(attrs) || (window.some_reversed && !window.all_reversed)))
    return nullptr;
  const std::optional<Sizes> high = upper_padding(*problem);
  if (!high) return nullptr;
  set_onednn_threads(num_threads);
  const std::optional<Plan> plan = choose_plan(*problem, *high);
  if (!plan) return nullptr;
  const int64_t blocks =
      problem->flip_kernel ? product(x.operand(1).shape(), attrs.kernel_spatial_dimensions) : 1;
  const auto block_bytes = static_cast<size_t>(x.operand(1).type().byte_size() / blocks);
  return std::make_unique<ConvolutionKernel>(plan->primitive, sides_of(*problem, *plan), blocks,
                                             block_bytes, num_threads);
}

}  // namespace systole::cpu
