#include "systole/keras/datasets/boston_housing.h"

#include <cstring>
#include <utility>

#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npz.h"
#include "systole/keras/datasets/data_folder.h"
#include "systole/keras/preprocessing/numpy_random.h"

namespace systole::keras::datasets::boston_housing {
namespace {

constexpr DataSource kBostonHousing = {
    .name = "boston_housing",
    .folder = "boston_housing",
    .origin = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/boston_housing.npz"};

Tensor in_order(const Tensor& array, const std::vector<int64_t>& order) {
  Tensor result(array.type());
  const auto row = static_cast<size_t>(array.byte_size() / array.dim(0));
  auto* to = static_cast<char*>(result.raw());
  for (const int64_t i : order) {
    std::memcpy(to, static_cast<const char*>(array.raw()) + static_cast<size_t>(i) * row, row);
    to += row;
  }
  return result;
}

}  // namespace

DataSet load_data(const LoadOptions& options) {
  if (!(options.test_split >= 0 && options.test_split <= 1)) {
    throw invalid_argument("boston_housing: test_split, got {}, expected 0 to 1",
                           options.test_split);
  }
  const std::string path = require_data_file(kBostonHousing, options.path, options.data_dir, {});
  const NpzFile file(default_file_system(), path);
  const Tensor x = file.array("x");
  const Tensor y = file.array("y");
  if (x.rank() != 2 || y.rank() != 1 || x.dim(0) != y.dim(0) || x.dim(0) == 0) {
    throw invalid_argument("{}: arrays x and y, got {} and {}, expected [n,13] and [n]", path,
                           x.type(), y.type());
  }
  const int64_t examples = x.dim(0);
  NumpyRandom random(options.seed);
  const std::vector<int64_t> order = random.permutation(examples);
  const Tensor all_x = in_order(x, order);
  const Tensor all_y = in_order(y, order);
  const auto split = static_cast<int64_t>(static_cast<double>(examples) * (1 - options.test_split));
  return {.train = {.x = all_x.slice(0, split), .y = all_y.slice(0, split)},
          .test = {.x = all_x.slice(split, examples), .y = all_y.slice(split, examples)}};
}

}  // namespace systole::keras::datasets::boston_housing
