#include "systole/graph/ops/array/strided_slice_spec.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "systole/base/error.h"

namespace systole {
namespace {

constexpr int64_t kLongestStride = std::numeric_limits<int64_t>::max();

bool bit(int64_t mask, size_t i) { return ((mask >> i) & 1) != 0; }

// One axis of the input under one entry.
class AxisSlicer {
 public:
  AxisSlicer(SliceSpec& spec, const Shape& input) : spec_(spec), input_(input) {}

  // The whole axis.
  void take_all() { add(0, size(), 1, /*reversed=*/false); }

  void take(int64_t begin, int64_t end, int64_t stride, bool from_edge, bool to_edge) {
    if (stride == 0)
      throw invalid_argument("strides, got 0 for axis {}, expected another number", axis_);
    const bool backwards = stride < 0;
    // Any that is longer than the axis takes one element.
    const int64_t longest = size() == kUnknown ? kLongestStride : std::max<int64_t>(size(), 1);
    const int64_t step = std::abs(std::clamp(stride, -longest, longest));
    if (size() == kUnknown) return add(0, kUnknown, step, backwards);
    // Positions in the direction of the stride, from the axis's first element that way.
    const auto position = [&](int64_t p) {
      const int64_t forward = p < 0 ? p + size() : p;
      return std::clamp<int64_t>(backwards ? size() - 1 - forward : forward, 0, size());
    };
    const int64_t from = from_edge ? 0 : position(begin);
    const int64_t to = to_edge ? size() : position(end);
    add(from, std::max(from, to), step, backwards);
  }

  void take_one(int64_t at) {
    if (size() == kUnknown) {
      // Counted from the end, it is one element after a reversal.
      add(at < 0 ? -1 - at : at, (at < 0 ? -1 - at : at) + 1, 1, at < 0);
    } else {
      const int64_t index = at < 0 ? at + size() : at;
      if (index < 0 || index >= size()) {
        throw invalid_argument("position in axis {} of {}, got {}, expected in [{}, {})", axis_,
                               input_, at, -size(), size());
      }
      add(index, index + 1, 1, false);
    }
  }

 private:
  int64_t size() const { return input_[axis_]; }

  void add(int64_t start, int64_t limit, int64_t stride, bool reversed) {
    if (reversed) spec_.reversed.push_back(axis_);
    spec_.start.push_back(start);
    spec_.limit.push_back(limit);
    spec_.stride.push_back(stride);
    sizes_.push_back(limit == kUnknown ? kUnknown : (limit - start + stride - 1) / stride);
    spec_.sliced = Shape(sizes_);
    ++axis_;
  }

  SliceSpec& spec_;
  const Shape& input_;
  Dims sizes_;
  int axis_ = 0;
};

}  // namespace

SliceSpec slice_spec(const Shape& input, std::span<const int64_t> begin,
                     std::span<const int64_t> end, std::span<const int64_t> strides,
                     const SliceMasks& masks) {
  if (begin.size() != end.size() || begin.size() != strides.size() || begin.size() > 63) {
    throw invalid_argument(
        "begin, end and strides, got {}, {} and {} numbers, expected as many of each", begin.size(),
        end.size(), strides.size());
  }
  const int64_t used = (int64_t{1} << begin.size()) - 1;
  if (std::popcount(static_cast<uint64_t>(masks.ellipsis & used)) > 1) {
    throw invalid_argument("ellipsis_mask, got {:#b}, expected at most one bit", masks.ellipsis);
  }
  const int taken = static_cast<int>(begin.size()) -
                    std::popcount(static_cast<uint64_t>((masks.ellipsis | masks.new_axis) & used));
  int rest = input.rank() - taken;
  if (rest < 0)
    throw invalid_argument("begin, got {} axes for a tensor of {}, expected at most its rank",
                           taken, input);

  SliceSpec spec;
  AxisSlicer slicer(spec, input);
  Dims result;
  const auto take_rest = [&] {
    for (; rest > 0; --rest) {
      slicer.take_all();
      result.push_back(spec.sliced[spec.sliced.rank() - 1]);
    }
  };
  for (size_t i = 0; i < begin.size(); ++i) {
    if (bit(masks.ellipsis, i)) {
      take_rest();
    } else if (bit(masks.new_axis, i)) {
      result.push_back(1);
    } else if (bit(masks.shrink_axis, i)) {
      slicer.take_one(begin[i]);
    } else {
      slicer.take(begin[i], end[i], strides[i], bit(masks.begin, i), bit(masks.end, i));
      result.push_back(spec.sliced[spec.sliced.rank() - 1]);
    }
  }
  take_rest();
  spec.result = Shape(std::move(result));
  return spec;
}

}  // namespace systole
