#include "systole/graph/ops/image/image_codec.h"

namespace systole {
namespace image {

Output decode_jpeg(const Input& contents, const DecodeJpegOptions& options) {
  return add_codec("DecodeJpeg", contents,
                   {{"channels", options.channels},
                    {"ratio", options.ratio},
                    {"fancy_upscaling", options.fancy_upscaling},
                    {"try_recover_truncated", options.try_recover_truncated},
                    {"dct_method", options.dct_method}},
                   options.name);
}

}  // namespace image

namespace ops {
extern const OpDef op_decode_jpeg{
    .name = "DecodeJpeg",
    .doc = "The pixels of a JPEG file.",
    .inputs = "contents: string",
    .outputs = "image: uint8",
    .attrs =
        "channels: int = 0, ratio: int = 1, fancy_upscaling: bool = true, "
        "try_recover_truncated: bool = false, dct_method: string = ''",
    .infer =
        [](const InferContext& c) {
          return infer_decoded(c, DType::u8, {0, 1, 3});
        },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
