#include "systole/graph/ops/image/image_codec.h"

namespace systole {
namespace image {

Output encode_jpeg(const Input& image, const EncodeJpegOptions& options) {
  return add_codec("EncodeJpeg", image, {{"quality", options.quality}}, options.name);
}

}  // namespace image

namespace ops {
extern const OpDef op_encode_jpeg{
    .name = "EncodeJpeg",
    .doc = "An image as a JPEG file.",
    .inputs = "image: uint8",
    .outputs = "contents: string",
    .attrs =
        "quality: int = 95, format: string == '', progressive: bool == false, "
        "optimize_size: bool == false, chroma_downsampling: bool == true",
    .infer =
        [](const InferContext& c) {
          return infer_encoded(c, {DType::u8}, {1, 3});
        },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
