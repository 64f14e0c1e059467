#include "systole/graph/ops/image/image_codec.h"

namespace systole {
namespace image {

Output encode_png(const Input& image, const EncodePngOptions& options) {
  return add_codec("EncodePng", image, {{"compression", options.compression}}, options.name);
}

}  // namespace image

namespace ops {
extern const OpDef op_encode_png{
    .name = "EncodePng",
    .doc = "An image as a PNG file.",
    .inputs = "image: T",
    .outputs = "contents: string",
    .attrs = "compression: int = -1",
    .infer =
        [](const InferContext& c) {
          return infer_encoded(c, {DType::u8, DType::u16}, {1, 2, 3, 4});
        },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
