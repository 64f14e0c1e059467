#include "systole/graph/ops/image/image_codec.h"

namespace systole {
namespace image {

Output decode_image(const Input& contents, const DecodeImageOptions& options) {
  return add_codec("DecodeImage", contents, {{"channels", options.channels}}, options.name);
}

}  // namespace image

namespace ops {
extern const OpDef op_decode_image{
    .name = "DecodeImage",
    .doc = "The pixels of a JPEG or PNG file.",
    .inputs = "contents: string",
    .outputs = "image: dtype",
    .attrs = "channels: int = 0, dtype: type == uint8",
    .infer =
        [](const InferContext& c) {
          return infer_decoded(c, DType::u8, {0, 1, 3});
        },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
