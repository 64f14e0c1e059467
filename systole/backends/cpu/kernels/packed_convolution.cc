#include "systole/backends/cpu/kernels/packed_convolution.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "systole/backends/cpu/kernels/idle_memory.h"
#include "systole/backends/cpu/kernels/kernel_packing.h"
#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/wide_square.h"
#include "systole/backends/cpu/sizes.h"

namespace systole::cpu {
namespace {

// A convolution, and what it says of its operands.
struct PackedPlan {
  dnnl::primitive primitive;
  dnnl::convolution_forward::primitive_desc described;
};

std::optional<PackedPlan> packed_plan(const DirectSizes& s) {
  const int64_t high_rows =
      high_padding(s.height, s.kernel_height, s.row_stride, s.low_rows, s.rows);
  const int64_t high_columns =
      high_padding(s.width, s.kernel_width, s.column_stride, s.low_columns, s.columns);
  if (high_rows <= -s.row_stride || high_columns <= -s.column_stride) return std::nullopt;
  constexpr auto f32 = dnnl::memory::data_type::f32;
  using Tag = dnnl::memory::format_tag;
  PackedPlan plan;
  const auto made = try_make([&] {
    const dnnl::memory::desc images({s.batch, s.features, s.height, s.width}, f32, Tag::nhwc);
    const dnnl::memory::desc kernel({s.out_features, s.features, s.kernel_height, s.kernel_width},
                                    f32, Tag::any);
    const dnnl::memory::desc output({s.batch, s.out_features, s.rows, s.columns}, f32, Tag::nhwc);
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, images, kernel,
        output, {s.row_stride, s.column_stride}, {0, 0}, {s.low_rows, s.low_columns},
        {high_rows, high_columns});
    plan.described = {desc, onednn_attributes(), onednn_engine()};
    plan.primitive = dnnl::convolution_forward(plan.described);
    return plan.primitive;
  });
  return made ? std::optional(std::move(plan)) : std::nullopt;
}

// The features of a block where this is KernelPacking's order, else 0.
int64_t packed_lanes(const dnnl::memory::desc& kernel) {
  const auto& layout = kernel.data.format_desc.blocking;
  if (layout.inner_nblks != 1 || layout.inner_idxs[0] != 0 || layout.inner_blks[0] % kWideSide != 0)
    return 0;
  const auto sizes = kernel.dims();
  const int64_t lanes = layout.inner_blks[0];
  const int64_t strides[] = {lanes * sizes[1] * sizes[2] * sizes[3], lanes,
                             lanes * sizes[1] * sizes[3], lanes * sizes[1]};
  for (int i = 0; i < 4; ++i) {
    const int64_t count = i == 0 ? sizes[0] / lanes : sizes[u(i)];
    if (count > 1 && layout.strides[i] != strides[i]) return 0;
  }
  return sizes[0] % lanes == 0 ? lanes : 0;
}

class PackedConvolution : public Kernel {
 public:
  PackedConvolution(const DirectSizes& sizes, const PackedPlan& plan, int64_t lanes,
                    int num_threads)
      : packing_(sizes, lanes),
        call_(plan.primitive,
              {{DNNL_ARG_SRC, plan.described.src_desc()},
               {DNNL_ARG_WEIGHTS, plan.described.weights_desc()},
               {.argument = DNNL_ARG_DST, .layout = plan.described.dst_desc(), .is_output = true}},
              num_threads) {}

  void run(std::span<void* const> buffers, RunContext& context) const override {
    auto packed = packed_kernel_.take(packing_.elements());
    float* const kernel = packed->data<float>().data();
    packing_.pack(static_cast<const float*>(buffers[1]), kernel, context);
    void* const arguments[] = {buffers[0], kernel, buffers[2]};
    call_.run(arguments);
    packed_kernel_.give_back(std::move(packed));
  }
  bool uses_openmp() const override { return true; }

 private:
  KernelPacking packing_;
  OnednnCall call_;
  mutable IdleMemory packed_kernel_;
};

}  // namespace

bool packing_pays(ConvolutionProblem::Form form, const DirectSizes& s) {
  using Form = ConvolutionProblem::Form;
  if (form != Form::input_gradient) return form == Form::forward;
  constexpr int64_t kMinFeatures = 32;
  constexpr int64_t kMinColumns = 12;
  return s.kernel_height * s.kernel_width > 1 && s.columns >= kMinColumns &&
         std::min(s.features, s.out_features) >= kMinFeatures;
}

std::unique_ptr<Kernel> make_packed_convolution_kernel(const DirectSizes& sizes, int num_threads) {
  const auto plan = packed_plan(sizes);
  const int64_t lanes = plan ? packed_lanes(plan->described.weights_desc()) : 0;
  if (lanes == 0) return nullptr;
  return std::make_unique<PackedConvolution>(sizes, *plan, lanes, num_threads);
}

}  // namespace systole::cpu
