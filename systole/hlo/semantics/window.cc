#include "systole/hlo/semantics/window.h"

#include <algorithm>

#include "systole/base/convert.h"
#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

Wide ceil_divide(Wide a, Wide b) { return a <= 0 ? -(-a / b) : (a - 1) / b + 1; }

// Negative if negative padding removes more than there is.
Wide padded_size(int64_t size, const WindowAxis& axis) {
  const Wide dilated = size == 0 ? 0 : Wide{size - 1} * axis.base_dilation + 1;
  return axis.padding_low + dilated + axis.padding_high;
}

// The step along an axis. The product may overflow if only one position is used.
int64_t step(int64_t stride, int64_t factor, int64_t extent) {
  return extent > 1 ? stride * factor : 0;
}

// Whether taking `initial` in several times is as good as once.
bool is_neutral(const Computation& region, const Tensor* initial) {
  const std::optional<Opcode> reducer = match_reducer(region);
  if (!reducer) return true;
  const bool is_sum = *reducer == Opcode::add || *reducer == Opcode::xor_;
  if (!is_sum && *reducer != Opcode::multiply) return true;  // maximum, minimum, and, or
  if (initial == nullptr || region.parameter(0).type().is_quantized()) return false;
  return initial->cast(DType::c128).data<std::complex<double>>()[0] == (is_sum ? 0.0 : 1.0);
}

std::optional<RunningWindow> running_if_neutral(const Instruction& x, const Tensor* initial) {
  const Shape& shape = x.operand(0).shape();
  const std::vector<WindowAxis> axes = window_axes(x.attrs<WindowAttrs>());
  if (x.shape() != shape) return std::nullopt;
  std::optional<RunningWindow> running;
  for (int d = 0; d < shape.rank(); ++d) {
    const WindowAxis& axis = axes[static_cast<size_t>(d)];
    if (axis.stride != 1 || axis.base_dilation != 1) return std::nullopt;
    if (axis.size == 1 && axis.padding_low == 0) continue;  // (as many windows as elements)
    const bool reverse = axis.padding_low == 0;
    if (running || axis.dilation != 1 || axis.size < shape[d]) return std::nullopt;
    if ((reverse ? axis.padding_high : axis.padding_low) != axis.size - 1) return std::nullopt;
    running = {.axis = d, .reverse = reverse};
  }
  return is_neutral(x.region(), initial) ? running : std::nullopt;
}

bool changes_nothing(const WindowAxis& axis) {
  return axis.padding_low == 0 && axis.padding_high == 0 && axis.base_dilation == 1;
}

}  // namespace

void check_window(Opcode opcode, const WindowAttrs& attrs, int rank) {
  check_count(opcode, "window_dimensions", attrs.window_dimensions.size(), rank);
  check_at_least(opcode, "window_dimensions", attrs.window_dimensions, 1);
  check_count(opcode, "window_strides", attrs.window_strides.size(), rank);
  check_at_least(opcode, "window_strides", attrs.window_strides, 1);
  check_count(opcode, "padding", attrs.padding.size(), rank);
}

std::vector<WindowAxis> window_axes(const WindowAttrs& attrs) {
  std::vector<WindowAxis> axes;
  for (size_t d = 0; d < attrs.window_dimensions.size(); ++d) {
    axes.push_back({.size = attrs.window_dimensions[d],
                    .stride = attrs.window_strides[d],
                    .padding_low = attrs.padding[d].first,
                    .padding_high = attrs.padding[d].second,
                    .base_dilation = attrs.base_dilations.empty() ? 1 : attrs.base_dilations[d],
                    .dilation = attrs.window_dilations.empty() ? 1 : attrs.window_dilations[d]});
  }
  return axes;
}

int64_t num_windows(Opcode opcode, int64_t size, const WindowAxis& axis) {
  const Wide padded = padded_size(size, axis);
  const Wide window = axis.size == 0 ? 0 : Wide{axis.size - 1} * axis.dilation + 1;
  check_dim(opcode, "size of the padded operand", std::max<Wide>(padded, 0));
  if (padded <= 0 || window > padded) return 0;
  return static_cast<int64_t>((padded - window) / axis.stride + 1);
}

std::optional<RunningWindow> running_window(const Instruction& x, const Tensor& initial) {
  return running_if_neutral(x, &initial);
}

std::optional<RunningWindow> running_window(const Instruction& x) {
  const Value initial = x.operand(x.num_results());
  const bool known = initial.def->is(Opcode::constant);
  return running_if_neutral(x, known ? &initial.def->attrs<ConstantAttrs>().value : nullptr);
}

Tensor pad(const Tensor& operand, const Tensor& value, std::span<const int64_t> low,
           std::span<const int64_t> interior, const Shape& shape) {
  Tensor result(operand.dtype(), shape);
  fill(result, value);
  StridedView from = view_of(operand.shape());
  StridedView to = view_of(shape);
  Dims extents;
  for (size_t d = 0; d < low.size(); ++d) {
    const int axis = static_cast<int>(d);
    const Wide spacing = Wide{interior[d]} + 1;
    // Operand elements [begin, end) are inside the result.
    const Wide begin = low[d] >= 0 ? 0 : ceil_divide(-Wide{low[d]}, spacing);
    const Wide end =
        std::min<Wide>(operand.dim(axis), ceil_divide(Wide{shape[axis]} - low[d], spacing));
    if (begin >= end) return result;
    extents.push_back(static_cast<int64_t>(end - begin));
    from.offset += static_cast<int64_t>(begin) * from.strides[d];
    to.offset += static_cast<int64_t>(low[d] + begin * spacing) * to.strides[d];
    to.strides[d] = step(to.strides[d], static_cast<int64_t>(spacing), extents[d]);
  }
  copy_strided(result, to, operand, from, extents);
  return result;
}

Tensor pad_for_windows(const Tensor& operand, const Tensor& value,
                       std::span<const WindowAxis> axes) {
  if (std::ranges::all_of(axes, changes_nothing)) return operand;
  Dims low;
  Dims interior;
  Shape shape = operand.shape();
  for (size_t d = 0; d < axes.size(); ++d) {
    const int axis = static_cast<int>(d);
    low.push_back(axes[d].padding_low);
    interior.push_back(axes[d].base_dilation - 1);
    const Wide size = padded_size(operand.dim(axis), axes[d]);
    shape.set_dim(axis, static_cast<int64_t>(std::max<Wide>(size, 0)));
  }
  return pad(operand, value, low, interior, shape);
}

WindowWalk walk_windows(const Shape& padded, std::span<const WindowAxis> axes,
                        std::span<const int64_t> counts) {
  const Dims strides = padded.strides();
  WindowWalk walk;
  walk.extents.assign(counts.begin(), counts.end());
  for (size_t d = 0; d < axes.size(); ++d) {
    walk.view.strides.push_back(step(strides[d], axes[d].stride, counts[d]));
  }
  for (size_t d = 0; d < axes.size(); ++d) {
    walk.extents.push_back(axes[d].size);
    walk.view.strides.push_back(step(strides[d], axes[d].dilation, axes[d].size));
  }
  return walk;
}

}  // namespace systole::hlo
