#include "systole/graph/ops/image/image_codec.h"

namespace systole {
namespace {

std::vector<TensorType> infer_decode_png(const InferContext& c) {
  const DType dtype = c.attr<DType>("dtype");
  if (dtype != DType::u8 && dtype != DType::u16) {
    throw invalid_argument("dtype, got {}, expected u8 or u16", dtype);
  }
  return infer_decoded(c, dtype, {0, 1, 2, 3, 4});
}

}  // namespace

namespace image {

Output decode_png(const Input& contents, const DecodePngOptions& options) {
  return add_codec("DecodePng", contents,
                   {{"channels", options.channels}, {"dtype", options.dtype}}, options.name);
}

}  // namespace image

namespace ops {
extern const OpDef op_decode_png{
    .name = "DecodePng",
    .doc = "The pixels of a PNG file.",
    .inputs = "contents: string",
    .outputs = "image: dtype",
    .attrs = "channels: int = 0, dtype: type = uint8",
    .infer = infer_decode_png,
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
