#include <algorithm>
#include <array>
#include <cmath>

#include "systole/io/images/image.h"
#include "systole/train/summary.h"

namespace systole {
namespace {

// Maps floats to bytes: pixel * scale + offset.
struct Scale {
  double scale = 0;
  double offset = 0;
};

// tensorflow/core/kernels/summary_image_op.cc: NormalizeFloatImage.
Scale scale_of(const Tensor& image) {
  constexpr double kZero = 1e-6;
  double least = 0;
  double largest = 0;
  for (int64_t i = 0; i < image.num_elements(); ++i) {
    const double value = image.as_double(i);
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  if (least < 0) {
    const double most = std::max(-least, largest);
    return {most < kZero ? 0 : 127 / most, 128};
  }
  return {largest < kZero ? 0 : 255 / largest, 0};
}

// u8 [height, width, channels]; a pixel that is not finite is red.
Tensor to_pixels(const Tensor& image) {
  if (image.dtype() == DType::u8) return image;
  constexpr std::array<uint8_t, 4> kBadColor = {255, 0, 0, 255};
  const Scale scale = scale_of(image);
  const int64_t channels = image.dim(2);
  Tensor pixels(DType::u8, image.shape());
  const auto out = pixels.data<uint8_t>();
  for (int64_t first = 0; first < image.num_elements(); first += channels) {
    bool finite = true;
    for (int64_t c = 0; c < channels; ++c) finite &= std::isfinite(image.as_double(first + c));
    for (int64_t c = 0; c < channels; ++c) {
      const auto at = static_cast<size_t>(first + c);
      const double value =
          finite ? image.as_double(first + c) * scale.scale + scale.offset : kBadColor[c];
      out[at] = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
    }
  }
  return pixels;
}

std::vector<SummaryValue> image_values(const summary::Record& record, const Tensor& batch) {
  std::vector<SummaryValue> values;
  const int64_t count = std::min<int64_t>(record.max_outputs, batch.dim(0));
  for (int64_t i = 0; i < count; ++i) {
    const Tensor image = batch.slice(i, i + 1).reshape({batch.dim(1), batch.dim(2), batch.dim(3)});
    const Tensor pixels = to_pixels(image);
    values.push_back({.tag = record.max_outputs == 1 ? record.tag + "/image"
                                                     : fmt::format("{}/image/{}", record.tag, i),
                      .kind = SummaryValue::Kind::image,
                      .image = {.height = static_cast<int>(image.dim(0)),
                                .width = static_cast<int>(image.dim(1)),
                                .colorspace = static_cast<int>(image.dim(2)),
                                .encoded = encode_png(pixels)}});
  }
  return values;
}

}  // namespace

std::vector<SummaryValue> summary_values(const summary::Record& record, const Tensor& value) {
  SummaryValue result{.tag = record.tag};
  switch (record.kind) {
    case summary::Kind::scalar:
      if (value.num_elements() != 1) {
        throw invalid_argument("summary: scalar '{}', got {}, expected one element", record.tag,
                               value.type());
      }
      result.kind = SummaryValue::Kind::scalar;
      result.scalar = static_cast<float>(value.as_double(0));
      break;
    case summary::Kind::histogram:
      result.kind = SummaryValue::Kind::histogram;
      result.histogram = make_histogram(value);
      break;
    case summary::Kind::image:
      if (value.rank() != 4) {
        throw invalid_argument("summary: image '{}', got {}, expected a batch of images",
                               record.tag, value.type());
      }
      return image_values(record, value);
    case summary::Kind::text:
      result.kind = SummaryValue::Kind::tensor;
      result.tensor = value;
      result.plugin = "text";
      break;
  }
  return {result};
}

void SummaryWriter::add(std::span<const summary::Record> records, std::span<const Tensor> values,
                        int64_t step) {
  if (records.size() != values.size()) {
    throw invalid_argument("SummaryWriter: values, got {}, expected {}", values.size(),
                           records.size());
  }
  std::vector<SummaryValue> all;
  for (size_t i = 0; i < records.size(); ++i) {
    try {
      const auto of_record = summary_values(records[i], values[i]);
      all.insert(all.end(), of_record.begin(), of_record.end());
    } catch (const Error& error) {
      throw error.with_context(fmt::format("summary '{}' at step {}", records[i].tag, step));
    }
  }
  if (!all.empty()) events_.add_values(step, all);
}

}  // namespace systole
