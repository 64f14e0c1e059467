#include "examples/support/iris_data.h"

#include <algorithm>
#include <numeric>

#include "systole/base/random.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/csv.h"

namespace examples {
namespace {

constexpr int64_t kMeasurements = 4;

std::vector<int64_t> shuffled(int64_t n, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  systole::RandomStream random(seed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next_below(i)]);
  return order;
}

}  // namespace

std::string default_iris_path() { return std::string(EXAMPLES_DATA_DIR) + "/iris.csv"; }

IrisData load_iris(const std::string& path, uint64_t random_state) {
  using systole::DType;
  systole::CsvReader reader(systole::default_file_system().open(path));
  std::vector<systole::CsvColumn> columns;
  for (size_t i = 0; i < kMeasurements; ++i) columns.push_back({i, DType::f32});
  columns.push_back({kMeasurements, DType::string});
  const std::vector<systole::Tensor> table = read_csv_columns(reader, columns);

  IrisData data;
  const auto names = table.back().data<std::string>();
  for (const std::string& name : names) {
    if (std::ranges::find(data.species, name) == data.species.end()) data.species.push_back(name);
  }
  const auto rows = static_cast<int64_t>(names.size());
  if (data.species.size() < 2 || rows < 3) {
    throw systole::invalid_argument("{}: got {} rows of {} species, expected 3 rows and 2 species",
                                    path, rows, data.species.size());
  }
  const auto classes = static_cast<int64_t>(data.species.size());
  const int64_t test_rows = rows / 3;
  const std::vector<int64_t> order = shuffled(rows, random_state);
  const auto take = [&](int64_t begin, int64_t end, systole::Tensor& x, systole::Tensor& y) {
    x = systole::Tensor::full(DType::f32, {end - begin, kMeasurements + 1}, 1);
    y = systole::Tensor::zeros(DType::f32, {end - begin, classes});
    for (int64_t i = begin; i < end; ++i) {
      const auto row = static_cast<size_t>(order[i]);
      const int64_t at = i - begin;
      for (int64_t c = 0; c < kMeasurements; ++c) {
        x.data<float>()[at * (kMeasurements + 1) + c + 1] = table[c].data<float>()[row];
      }
      const auto label = std::ranges::find(data.species, names[row]) - data.species.begin();
      y.data<float>()[at * classes + label] = 1;
    }
  };
  take(0, test_rows, data.test_x, data.test_y);
  take(test_rows, rows, data.train_x, data.train_y);
  return data;
}

}  // namespace examples
