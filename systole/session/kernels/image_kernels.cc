// Images: their formats and sizes.
#include <algorithm>

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

std::vector<Tensor> run_decode_and_crop_jpeg(KernelContext& c) {
  const Tensor image = std::move(run_decode_jpeg(c)[0]);
  const auto window = c.input(1).data<int32_t>();
  const int64_t top = window[0];
  const int64_t left = window[1];
  const int64_t height = window[2];
  const int64_t width = window[3];
  if (top < 0 || left < 0 || height < 1 || width < 1 || top + height > image.dim(0) ||
      left + width > image.dim(1)) {
    throw invalid_argument("crop_window, got [{},{},{},{}], expected a part of {} rows of {}", top,
                           left, height, width, image.dim(0), image.dim(1));
  }
  Tensor part(DType::u8, {height, width, image.dim(2)});
  const int64_t row = width * image.dim(2);
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from = ((top + y) * image.dim(1) + left) * image.dim(2);
    std::copy_n(image.data<uint8_t>().data() + from, row, part.data<uint8_t>().data() + y * row);
  }
  return {part};
}

// PNG files among JPEG files as above.
std::vector<Tensor> run_extract_jpeg_shape(KernelContext& c) {
  const ImageInfo info = read_image_info(c.input(0).data<std::string>()[0]);
  if (info.format != ImageFormat::jpeg && info.format != ImageFormat::png) {
    throw invalid_argument("contents, got {}, expected a JPEG file",
                           image_format_name(info.format));
  }
  const Tensor sizes = Tensor::of<int64_t>({3}, {info.height, info.width, info.channels});
  return {sizes.cast(c.attr<DType>("output_type"))};
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

extern const HostKernelDef decode_and_crop_jpeg_kernel{.op = "DecodeAndCropJpeg",
                                                       .run = run_decode_and_crop_jpeg};

extern const HostKernelDef extract_jpeg_shape_kernel{.op = "ExtractJpegShape",
                                                     .run = run_extract_jpeg_shape};

extern const HostKernelDef resize_bicubic_kernel{
    .op = "ResizeBicubic",
    .run = [](KernelContext& c) { return std::vector{resize_images_bicubic(c)}; },
};

extern const HostKernelDef resize_bilinear_kernel{
    .op = "ResizeBilinear",
    .run = [](KernelContext& c) { return std::vector{resize_images(c, bilinear_axis)}; },
};

extern const HostKernelDef resize_nearest_neighbor_kernel{
    .op = "ResizeNearestNeighbor",
    .run = [](KernelContext& c) { return std::vector{resize_images(c, nearest_axis)}; },
};

}  // namespace systole::kernels
