#include "systole/graph/ops/image/image_codec.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "systole/graph/ops/string/string_common.h"

namespace systole {

std::vector<TensorType> infer_decoded(const InferContext& c, DType dtype,
                                      std::initializer_list<int64_t> channels) {
  check_text("contents", c.input(0));
  const auto wanted = c.attr<int64_t>("channels");
  if (std::ranges::find(channels, wanted) == channels.end()) {
    throw invalid_argument("channels, got {}, expected one of {}", wanted,
                           fmt::join(channels, ", "));
  }
  return {{dtype, {kUnknown, kUnknown, wanted == 0 ? kUnknown : wanted}}};
}

std::vector<TensorType> infer_encoded(const InferContext& c, std::initializer_list<DType> dtypes,
                                      std::initializer_list<int64_t> channels) {
  const TensorType& image = c.input(0);
  const bool dtype = std::ranges::find(dtypes, image.dtype) != dtypes.end();
  const bool shape =
      image.shape.rank() == 3 &&
      (image.shape[2] == kUnknown || std::ranges::find(channels, image.shape[2]) != channels.end());
  if (!dtype || !shape) {
    throw invalid_argument(
        "image, got {}, expected [height, width, channels] of {} and {} channels", image,
        fmt::join(dtypes, " or "), fmt::join(channels, ", "));
  }
  return {{DType::string, {}}};
}

Output add_codec(std::string_view op, const Input& input, AttrMap attrs, const std::string& name) {
  return Graph::current()
      .add_node(op, {resolve(op, input)}, std::move(attrs), input.where(), name)
      ->output();
}

}  // namespace systole
