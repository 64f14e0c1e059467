// Images: their formats and sizes.
#include "systole/io/images/image.h"
#include "systole/session/host/host_kernel.h"
#include "systole/session/kernels/image_resizer.h"

namespace systole::kernels {
namespace {

std::vector<Tensor> run_decode_image(KernelContext& c) {
  return {decode_image(c.input(0).data<std::string>()[0],
                       static_cast<int>(c.attr<int64_t>("channels")))};
}

// Also decodes PNG, as TensorFlow's op does: some data sets of JPEG files contain PNG files.
std::vector<Tensor> run_decode_jpeg(KernelContext& c) {
  const std::string& bytes = c.input(0).data<std::string>()[0];
  const auto channels = static_cast<int>(c.attr<int64_t>("channels"));
  if (sniff_image(bytes) == ImageFormat::png) return {decode_png(bytes, {.channels = channels})};
  const JpegOptions options{.channels = channels,
                            .ratio = static_cast<int>(c.attr<int64_t>("ratio")),
                            .fancy_upscaling = c.attr<bool>("fancy_upscaling"),
                            .try_recover_truncated = c.attr<bool>("try_recover_truncated"),
                            .dct_method = c.attr<std::string>("dct_method")};
  return {decode_jpeg(bytes, options)};
}

// Also decodes JPEG with 8 bits, as TensorFlow's op does.
std::vector<Tensor> run_decode_png(KernelContext& c) {
  const std::string& bytes = c.input(0).data<std::string>()[0];
  const PngOptions options{.channels = static_cast<int>(c.attr<int64_t>("channels")),
                           .dtype = c.attr<DType>("dtype")};
  if (sniff_image(bytes) == ImageFormat::jpeg && options.dtype == DType::u8) {
    return {decode_jpeg(bytes, {.channels = options.channels})};
  }
  return {decode_png(bytes, options)};
}

std::vector<Tensor> run_encode_jpeg(KernelContext& c) {
  const std::string bytes = encode_jpeg(c.input(0), static_cast<int>(c.attr<int64_t>("quality")));
  return {Tensor::scalar<std::string>(bytes)};
}

std::vector<Tensor> run_encode_png(KernelContext& c) {
  const std::string bytes =
      encode_png(c.input(0), static_cast<int>(c.attr<int64_t>("compression")));
  return {Tensor::scalar<std::string>(bytes)};
}

}  // namespace

extern const HostKernelDef decode_image_kernel{.op = "DecodeImage", .run = run_decode_image};

extern const HostKernelDef decode_jpeg_kernel{.op = "DecodeJpeg", .run = run_decode_jpeg};

extern const HostKernelDef decode_png_kernel{.op = "DecodePng", .run = run_decode_png};

extern const HostKernelDef encode_jpeg_kernel{.op = "EncodeJpeg", .run = run_encode_jpeg};

extern const HostKernelDef encode_png_kernel{.op = "EncodePng", .run = run_encode_png};

extern const HostKernelDef resize_bilinear_kernel{
    .op = "ResizeBilinear",
    .run = [](KernelContext& c) { return std::vector{resize_images(c, bilinear_axis)}; },
};

extern const HostKernelDef resize_nearest_neighbor_kernel{
    .op = "ResizeNearestNeighbor",
    .run = [](KernelContext& c) { return std::vector{resize_images(c, nearest_axis)}; },
};

}  // namespace systole::kernels
