#include "systole/graph/ops/image/image_codec.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace image {

Output extract_jpeg_shape(const Input& contents, const NameOptions& options) {
  return add_codec("ExtractJpegShape", contents, {{"output_type", DType::s32}}, options.name);
}

}  // namespace image

namespace ops {
extern const OpDef op_extract_jpeg_shape{
    .name = "ExtractJpegShape",
    .doc = "Height, width and channels of a JPEG file, from its header.",
    .inputs = "contents: string",
    .outputs = "image_shape: output_type",
    .attrs = "output_type: type = int32",
    .infer =
        [](const InferContext& c) {
          check_text("contents", c.input(0));
          return std::vector{TensorType{c.attr<DType>("output_type"), {3}}};
        },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
