#include "systole/backends/cpu/passes/canonicalize_convolutions.h"

#include <algorithm>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::ConvolutionAttrs;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

double multiplications(const Instruction& x) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  const Shape& kernel = x.operand(1).shape();
  return static_cast<double>(x.shape().num_elements()) *
         static_cast<double>(kernel.num_elements()) /
         static_cast<double>(kernel[static_cast<int>(a.kernel_output_feature_dimension)]);
}

bool is_product_dtype(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

// oneDNN has it, but for its form.
bool is_candidate(const Instruction& x, double small_work) {
  const size_t rank = x.attrs<ConvolutionAttrs>().input_spatial_dimensions.size();
  return is_product_dtype(x.dtype()) && x.operand(0).dtype() == x.operand(1).dtype() &&
         is_product_dtype(x.operand(0).dtype()) && x.operand(0).shape().num_elements() != 0 &&
         x.shape().num_elements() != 0 && rank >= 1 && rank <= 3 &&
         multiplications(x) > small_work && !convolution_problem(x);
}

// The attributes with what they leave out filled in.
ConvolutionAttrs filled(ConvolutionAttrs a) {
  const size_t rank = a.input_spatial_dimensions.size();
  if (a.window_strides.empty()) a.window_strides.assign(rank, 1);
  if (a.lhs_dilation.empty()) a.lhs_dilation.assign(rank, 1);
  if (a.rhs_dilation.empty()) a.rhs_dilation.assign(rank, 1);
  if (a.padding.empty()) a.padding.assign(rank, {0, 0});
  if (a.window_reversal.empty()) a.window_reversal.assign(rank, false);
  return a;
}

// The same convolution in other words.
struct Rewrite {
  hlo::Builder& b;
  TensorType result;
  Value input, kernel;
  ConvolutionAttrs attrs;

  // Makes all axes reversed, or none.
  void set_reversed(bool reversed) {
    Dims mirrored;
    for (size_t d = 0; d < attrs.window_reversal.size(); ++d) {
      if (attrs.window_reversal[d] != reversed)
        mirrored.push_back(attrs.kernel_spatial_dimensions[d]);
      attrs.window_reversal[d] = reversed;
    }
    if (!mirrored.empty()) kernel = b.reverse(kernel, mirrored);
  }

  // [.., groups * batch, .., features, ..] becomes [.., batch, .., groups * features, ..].
  void group_by_feature() {
    const int64_t groups = attrs.batch_group_count;
    const int64_t batch = attrs.input_batch_dimension;
    const int64_t feature = attrs.input_feature_dimension;
    Dims split = input.shape().dims();
    split[u(batch)] /= groups;
    Dims merged = split;
    merged[u(feature)] *= groups;
    split.insert(split.begin() + batch, groups);
    Dims order;
    for (int64_t axis = 0; axis < input.shape().rank(); ++axis) {
      if (axis == feature) order.push_back(batch);
      order.push_back(axis < batch ? axis : axis + 1);
    }
    input = b.reshape(b.transpose(b.reshape(input, Shape(split)), order), Shape(merged));
    attrs.feature_group_count = groups;
    attrs.batch_group_count = 1;
  }

  // Holes and edges in memory, where none is left to the convolution.
  void pad_input() {
    const auto rank = static_cast<size_t>(input.shape().rank());
    Dims low(rank, 0);
    Dims high(rank, 0);
    Dims interior(rank, 0);
    for (size_t d = 0; d < attrs.padding.size(); ++d) {
      const size_t axis = u(attrs.input_spatial_dimensions[d]);
      low[axis] = attrs.padding[d].first;
      high[axis] = attrs.padding[d].second;
      interior[axis] = attrs.lhs_dilation[d] - 1;
      attrs.padding[d] = {0, 0};
      attrs.lhs_dilation[d] = 1;
    }
    input = b.pad(input, b.scalar(input.dtype(), 0), low, high, interior);
  }

  Instruction* emit() const { return b.op(Opcode::convolution, {input, kernel}, attrs, {result}); }
};

void replace(Instruction& x, Value by) { hlo::replace_and_erase(x, {&by, 1}); }

void rewrite_convolution(Instruction& x) {
  hlo::Builder b(x.parent(), &x);
  b.set_metadata(x.metadata());
  Rewrite r{.b = b,
            .result = x.type(),
            .input = x.operand(0),
            .kernel = x.operand(1),
            .attrs = filled(x.attrs<ConvolutionAttrs>())};
  const bool gradient = !all_ones(r.attrs.lhs_dilation) && all_ones(r.attrs.window_strides);
  if (r.attrs.batch_group_count > 1) r.group_by_feature();
  if (gradient) {
    r.set_reversed(true);
    Instruction* const tried = r.emit();
    if (convolution_problem(*tried)) return replace(x, tried->result());
    x.parent().erase(tried);
  }
  r.set_reversed(false);
  r.pad_input();
  replace(x, r.emit()->result());
}

}  // namespace

bool CanonicalizeConvolutions::run(hlo::Module& module) {
  return rewrite_each(module, [&](Instruction& x) {
    if (!x.is(Opcode::convolution) || !is_candidate(x, small_work_)) return false;
    rewrite_convolution(x);
    return true;
  });
}

}  // namespace systole::cpu
