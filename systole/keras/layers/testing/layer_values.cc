#include "systole/keras/layers/testing/layer_values.h"

#include <algorithm>
#include <cmath>

#include "systole/base/error.h"

namespace systole::keras::layers::testing {
namespace {

size_t index_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& place) {
  int64_t index = 0;
  for (size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + place.at(i);
  return static_cast<size_t>(index);
}

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

}  // namespace

Values::Values(const Tensor& tensor) : shape(tensor.shape().begin(), tensor.shape().end()) {
  for (int64_t i = 0; i < tensor.num_elements(); ++i) data.push_back(tensor.as_double(i));
}

Values::Values(std::vector<int64_t> sizes)
    : shape(std::move(sizes)), data(static_cast<size_t>(count_of(shape))) {}

double& Values::at(const std::vector<int64_t>& place) { return data.at(index_of(shape, place)); }
double Values::at(const std::vector<int64_t>& place) const {
  return data.at(index_of(shape, place));
}

void Values::for_each(const std::function<void(const std::vector<int64_t>&)>& f) const {
  std::vector<int64_t> place(shape.size());
  for (int64_t i = 0; i < count_of(shape); ++i) {
    int64_t rest = i;
    for (size_t axis = shape.size(); axis-- > 0;) {
      place[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    f(place);
  }
}

Values Values::mapped(const std::function<double(double)>& f) const {
  Values result = *this;
  for (double& value : result.data) value = f(value);
  return result;
}

double activated(const std::string& name, double x) {
  if (name == "linear") return x;
  if (name == "relu") return std::max(x, 0.0);
  if (name == "tanh") return std::tanh(x);
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "hard_sigmoid") return std::clamp(0.2 * x + 0.5, 0.0, 1.0);
  throw invalid_argument("activated: got '{}', expected linear, relu, tanh or a sigmoid", name);
}

}  // namespace systole::keras::layers::testing
