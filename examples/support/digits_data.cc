#include "examples/support/digits_data.h"

#include <fmt/core.h>

#include "examples/support/mnist_data.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/csv.h"
#include "systole/io/tables/idx.h"
#include "systole/session/host/host_function.h"

namespace examples {
namespace {

using systole::DType;
using systole::Tensor;

constexpr int64_t kSmallPixels = 8 * 8;
constexpr float kSmallWhite = 16;

Digits read_mnist(const std::string& folder, const std::string& name) {
  systole::FileSystem& files = systole::default_file_system();
  Digits digits{
      .images = systole::read_idx(files, folder + "/" + name + "-images-idx3-ubyte.gz"),
      .labels =
          systole::read_idx(files, folder + "/" + name + "-labels-idx1-ubyte.gz").cast(DType::s32)};
  if (digits.images.dim(0) != digits.size()) {
    throw systole::invalid_argument("{}: {} labels, got {}, expected one for each of {} images",
                                    folder, name, digits.size(), digits.images.dim(0));
  }
  return digits;
}

// f32[n,8,8,1] up to 16 -> u8[n,28,28] up to 255.
Tensor enlarged(const Tensor& images) {
  const auto function =
      systole::HostFunction::trace(images.type(), [](const systole::Nest<systole::Output>& small) {
        const auto large = systole::image::resize_bilinear(small, {.height = 28, .width = 28},
                                                           {.half_pixel_centers = true});
        return systole::Nest<systole::Output>(systole::cast(
            systole::reshape(large * (255 / kSmallWhite) + 0.5F, {-1, 28, 28}), DType::u8));
      });
  return function(std::span(&images, 1))[0];
}

}  // namespace

DigitsData load_digits(const std::string& data_dir) {
  const std::string folder = (data_dir.empty() ? default_data_dir() : data_dir) + "/mnist";
  if (data_dir.empty() && !systole::default_file_system().exists(folder)) return shipped_digits();
  return {.train = read_mnist(folder, "train"),
          .test = read_mnist(folder, "t10k"),
          .source = "MNIST, of " + folder};
}

DigitsData shipped_digits() {
  const std::string path = fmt::format("{}/digits.csv", EXAMPLES_DATA_DIR);
  systole::CsvReader reader(systole::default_file_system().open(path), {.header = false});
  std::vector<systole::CsvColumn> columns;
  for (size_t i = 0; i < kSmallPixels; ++i) columns.push_back({i, DType::f32});
  columns.push_back({kSmallPixels, DType::s32});
  const std::vector<Tensor> table = read_csv_columns(reader, columns);
  const Tensor& labels = table.back();
  const int64_t rows = labels.dim(0);
  Tensor small(DType::f32, {rows, 8, 8, 1});
  for (int64_t pixel = 0; pixel < kSmallPixels; ++pixel) {
    const auto column = table[pixel].data<float>();
    for (int64_t row = 0; row < rows; ++row) {
      small.data<float>()[row * kSmallPixels + pixel] = column[row];
    }
  }
  const Tensor images = enlarged(small);
  const int64_t train_rows = rows - rows / 5;
  return {.train = {images.slice(0, train_rows), labels.slice(0, train_rows)},
          .test = {images.slice(train_rows, rows), labels.slice(train_rows, rows)},
          .source = fmt::format("{} digits of the UCI repository, of {}", rows, path)};
}

}  // namespace examples
