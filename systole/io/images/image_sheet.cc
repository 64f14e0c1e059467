#include "systole/io/images/image_sheet.h"

#include <algorithm>

namespace systole {
namespace {

constexpr uint8_t kBackground = 32;
constexpr int64_t kGap = 2;

}  // namespace

ImageSheet::ImageSheet(int64_t columns, int64_t rows, int64_t cell)
    : columns_(columns),
      rows_(rows),
      cell_(cell),
      pixels_(Tensor::full(DType::u8, {rows * (cell + kGap), columns * (cell + kGap), 3},
                           kBackground)) {}

void ImageSheet::add(const Tensor& image) {
  const int64_t height = image.dim(0);
  const int64_t width = image.dim(1);
  const int64_t channels = image.dim(2);
  const int64_t longer = std::max(height, width);
  const int64_t shown_height = std::max<int64_t>(1, height * cell_ / longer);
  const int64_t shown_width = std::max<int64_t>(1, width * cell_ / longer);
  const int64_t top = used_ / columns_ * (cell_ + kGap) + (cell_ - shown_height) / 2;
  const int64_t left = used_ % columns_ * (cell_ + kGap) + (cell_ - shown_width) / 2;
  const auto from = image.data<uint8_t>();
  const auto to = pixels_.data<uint8_t>();
  // Each pixel is the mean of the pixels that it covers, at least one.
  for (int64_t y = 0; y < shown_height; ++y) {
    const int64_t y0 = y * height / shown_height;
    const int64_t y1 = std::max(y0 + 1, (y + 1) * height / shown_height);
    for (int64_t x = 0; x < shown_width; ++x) {
      const int64_t x0 = x * width / shown_width;
      const int64_t x1 = std::max(x0 + 1, (x + 1) * width / shown_width);
      for (int64_t c = 0; c < 3; ++c) {
        int64_t sum = 0;
        for (int64_t v = y0; v < y1; ++v) {
          for (int64_t u = x0; u < x1; ++u) {
            sum += from[static_cast<size_t>((v * width + u) * channels + (channels == 3 ? c : 0))];
          }
        }
        const int64_t at = ((top + y) * pixels_.dim(1) + left + x) * 3 + c;
        to[at] = static_cast<uint8_t>(sum / ((y1 - y0) * (x1 - x0)));
      }
    }
  }
  ++used_;
}

Tensor ImageSheet::sheet() const {
  const int64_t rows = std::max<int64_t>(1, (used_ + columns_ - 1) / columns_);
  return pixels_.slice(0, rows * (cell_ + kGap));
}

}  // namespace systole
