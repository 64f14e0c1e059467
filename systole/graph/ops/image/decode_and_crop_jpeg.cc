#include "systole/graph/ops/image/image_codec.h"

namespace systole {
namespace {

std::vector<TensorType> infer_decode_and_crop_jpeg(const InferContext& c) {
  const TensorType& window = c.input(1);
  if (!is_integer(window.dtype) || !window.shape.compatible_with({4})) {
    throw invalid_argument("crop_window, got {}, expected top, left, height and width", window);
  }
  return infer_decoded(c, DType::u8, {0, 1, 3});
}

}  // namespace

namespace image {

Output decode_and_crop_jpeg(const Input& contents, const Input& crop_window,
                            const DecodeJpegOptions& options) {
  constexpr std::string_view kOp = "DecodeAndCropJpeg";
  return Graph::current()
      .add_node(kOp, {resolve(kOp, contents), resolve(kOp, crop_window, DType::s32)},
                {{"channels", options.channels},
                 {"ratio", options.ratio},
                 {"fancy_upscaling", options.fancy_upscaling},
                 {"try_recover_truncated", options.try_recover_truncated},
                 {"dct_method", options.dct_method}},
                contents.where(), options.name)
      ->output();
}

}  // namespace image

namespace ops {
extern const OpDef op_decode_and_crop_jpeg{
    .name = "DecodeAndCropJpeg",
    .doc = "The pixels of a part of a JPEG file.",
    .inputs = "contents: string, crop_window: int32",
    .outputs = "image: uint8",
    .attrs =
        "channels: int = 0, ratio: int = 1, fancy_upscaling: bool = true, "
        "try_recover_truncated: bool = false, dct_method: string = ''",
    .infer = infer_decode_and_crop_jpeg,
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
