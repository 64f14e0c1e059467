// Dense and other layers of core.h, noise outside of training, activations, normalization.
#include <algorithm>
#include <cmath>

#include "systole/keras/layers/testing/layer_values.h"

namespace systole::keras::layers::testing {
namespace {

using Place = std::vector<int64_t>;

std::vector<Values> same(const LayerCallCase& c) { return {c.input()}; }

Formula each_element(std::function<double(const Json& config, double x)> f) {
  return [f = std::move(f)](const LayerCallCase& c) -> std::vector<Values> {
    return {c.input().mapped([&](double x) { return f(c.config, x); })};
  };
}

// Softmax along an axis that may count from the end.
Values softmax_of(const Values& x, int64_t axis) {
  const auto along = static_cast<size_t>(axis < 0 ? axis + x.rank() : axis);
  Values y = x;
  x.for_each([&](const Place& place) {
    double sum = 0;
    Place other = place;
    for (other[along] = 0; other[along] < x.shape[along]; ++other[along]) {
      sum += std::exp(x.at(other));
    }
    y.at(place) = std::exp(x.at(place)) / sum;
  });
  return y;
}

std::vector<Values> dense(const LayerCallCase& c) {
  const Values x = c.input();
  const Values w = c.weight(0);
  Place sizes = x.shape;
  sizes.back() = w.size(1);
  Values y(sizes);
  y.for_each([&](const Place& place) {
    double sum = c.weights.size() > 1 ? c.weight(1).at({place.back()}) : 0;
    Place from = place;
    for (from.back() = 0; from.back() < w.size(0); ++from.back()) {
      sum += x.at(from) * w.at({from.back(), place.back()});
    }
    y.at(place) = activated(c.config.value("activation", "linear"), sum);
  });
  return {y};
}

std::vector<Values> embedding(const LayerCallCase& c) {
  const Values ids = c.input();
  const Values table = c.weight(0);
  Place sizes = ids.shape;
  sizes.push_back(table.size(1));
  Values y(sizes);
  y.for_each([&](const Place& place) {
    const auto id = static_cast<int64_t>(ids.at(Place(place.begin(), place.end() - 1)));
    y.at(place) = table.at({id, place.back()});
  });
  return {y};
}

// Axis i of the result is axis order[i] of x.
Values permuted(const Values& x, const Place& order) {
  Place sizes;
  for (const int64_t axis : order) sizes.push_back(x.size(axis));
  Values y(sizes);
  y.for_each([&](const Place& place) {
    Place from(place.size());
    for (size_t i = 0; i < order.size(); ++i) from[order[i]] = place[i];
    y.at(place) = x.at(from);
  });
  return y;
}

std::vector<Values> flatten(const LayerCallCase& c) {
  Values x = c.input();
  if (c.config.value("data_format", "") == "channels_first") {
    Place order = {0};
    for (int64_t axis = 2; axis < x.rank(); ++axis) order.push_back(axis);
    order.push_back(1);
    x = permuted(x, order);
  }
  x.shape = {x.size(0), static_cast<int64_t>(x.data.size()) / x.size(0)};
  return {x};
}

std::vector<Values> reshape(const LayerCallCase& c) {
  Values x = c.input();
  Place sizes = {x.size(0)};
  int64_t known = x.size(0);
  for (const Json& size : c.config.at("target_shape")) {
    sizes.push_back(size);
    if (sizes.back() > 0) known *= sizes.back();
  }
  for (int64_t& size : sizes) {
    if (size < 0) size = static_cast<int64_t>(x.data.size()) / known;
  }
  x.shape = sizes;
  return {x};
}

std::vector<Values> permute(const LayerCallCase& c) {
  Place order = {0};
  for (const Json& axis : c.config.at("dims")) order.push_back(axis);
  return {permuted(c.input(), order)};
}

std::vector<Values> repeat_vector(const LayerCallCase& c) {
  const Values x = c.input();
  Values y({x.size(0), c.config.at("n"), x.size(1)});
  y.for_each([&](const Place& p) { y.at(p) = x.at({p[0], p[2]}); });
  return {y};
}

std::vector<Values> masking(const LayerCallCase& c) {
  const Values x = c.input();
  const double value = c.config.value("mask_value", 0.0);
  Values y = x;
  x.for_each([&](const Place& p) {
    bool all = true;
    for (int64_t i = 0; i < x.size(2); ++i) all = all && x.at({p[0], p[1], i}) == value;
    if (all) y.at(p) = 0;
  });
  return {y};
}

// gamma and beta lie along `axis`; statistics(place) returns mean and variance.
Values normalized(const LayerCallCase& c, int64_t axis, double epsilon,
                  const std::function<std::pair<double, double>(const Place&)>& statistics) {
  Values y = c.input();
  const bool scale = c.config.value("scale", true);
  const bool center = c.config.value("center", true);
  c.input().for_each([&](const Place& place) {
    const Place at = {place[axis]};
    const auto [mean, variance] = statistics(place);
    double& value = y.at(place);
    value = (value - mean) / std::sqrt(variance + epsilon);
    if (scale) value *= c.weight(0).at(at);
    if (center) value += c.weight(scale ? 1 : 0).at(at);
  });
  return y;
}

int64_t axis_of(const LayerCallCase& c) {
  const int64_t axis = c.config.value("axis", int64_t{-1});
  return axis < 0 ? axis + c.input().rank() : axis;
}

std::vector<Values> batch_normalization(const LayerCallCase& c) {
  const int64_t axis = axis_of(c);
  const size_t averages = c.weights.size() - 2;
  return {normalized(c, axis, c.config.value("epsilon", 1e-3), [&](const Place& place) {
    const Place at = {place[axis]};
    return std::pair(c.weight(averages).at(at), c.weight(averages + 1).at(at));
  })};
}

// With the mean and variance of each feature over the batch.
std::vector<Values> batch_normalization_in_training(const LayerCallCase& c) {
  const int64_t axis = axis_of(c);
  const Values x = c.input();
  return {normalized(c, axis, c.config.value("epsilon", 1e-3), [&](const Place& place) {
    double sum = 0;
    double squares = 0;
    double count = 0;
    x.for_each([&](const Place& other) {
      if (other[axis] != place[axis]) return;
      sum += x.at(other);
      squares += x.at(other) * x.at(other);
      ++count;
    });
    const double mean = sum / count;
    return std::pair(mean, squares / count - mean * mean);
  })};
}

std::vector<Values> layer_normalization(const LayerCallCase& c) {
  const int64_t axis = axis_of(c);
  const Values x = c.input();
  return {normalized(c, axis, c.config.value("epsilon", 1e-3), [&](const Place& place) {
    const auto along = static_cast<size_t>(axis);
    double sum = 0;
    double squares = 0;
    Place other = place;
    for (other[along] = 0; other[along] < x.shape[along]; ++other[along]) {
      sum += x.at(other);
      squares += x.at(other) * x.at(other);
    }
    const double mean = sum / static_cast<double>(x.size(axis));
    return std::pair(mean, squares / static_cast<double>(x.size(axis)) - mean * mean);
  })};
}

std::vector<Values> p_re_lu(const LayerCallCase& c) {
  const Values x = c.input();
  const Values alpha = c.weight(0);
  Values y = x;
  x.for_each([&](const Place& place) {
    Place at(place.begin() + 1, place.end());
    for (size_t i = 0; i < at.size(); ++i) at[i] = alpha.shape[i] == 1 ? 0 : at[i];
    y.at(place) = x.at(place) > 0 ? x.at(place) : alpha.at(at) * x.at(place);
  });
  return {y};
}

double re_lu(const Json& c, double x) {
  const double threshold = c.value("threshold", 0.0);
  if (x <= threshold) return c.value("negative_slope", 0.0) * (x - threshold);
  return c.contains("max_value") ? std::min(x, c.at("max_value").get<double>()) : x;
}

void add_activation_rows(LayerRows& rows) {
  const std::vector<Place> x = {{3, 4, 2}};
  const Formula leaky =
      each_element([](const Json& c, double v) { return v > 0 ? v : c.value("alpha", 0.3) * v; });
  const Formula elu = each_element(
      [](const Json& c, double v) { return v > 0 ? v : c.value("alpha", 1.0) * std::expm1(v); });
  const Formula over =
      each_element([](const Json& c, double v) { return v > c.value("theta", 1.0) ? v : 0; });
  const Formula softmax = [](const LayerCallCase& c) -> std::vector<Values> {
    return {softmax_of(c.input(), c.config.value("axis", -1))};
  };
  for (const char* config : {"{}", R"({"alpha": 0.7})"}) {
    rows.push_back({"LeakyReLU", config, x, leaky});
    rows.push_back({"ELU", config, x, elu});
  }
  for (const char* config : {"{}", R"({"theta": 0.25})"}) {
    rows.push_back({"ThresholdedReLU", config, x, over});
  }
  for (const char* config : {"{}", R"({"axis": 1})", R"({"axis": -2})"}) {
    rows.push_back({"Softmax", config, x, softmax});
  }
  for (const char* config :
       {"{}", R"({"max_value": 0.75})", R"({"negative_slope": 0.5, "threshold": 0.25})",
        R"({"max_value": 1, "negative_slope": 0.25, "threshold": -0.5})"}) {
    rows.push_back({"ReLU", config, x, each_element(re_lu)});
  }
  for (const char* config :
       {"{}", R"({"shared_axes": [1]})", R"({"shared_axes": [2]})", R"({"shared_axes": [1, 2]})"}) {
    rows.push_back({"PReLU", config, x, p_re_lu});
  }
}

void add_normalization_rows(LayerRows& rows) {
  for (const char* config :
       {"{}", R"({"axis": 1, "epsilon": 0.1})", R"({"scale": false, "fused": false})",
        R"({"center": false, "momentum": 0.5, "batch_statistics_when_frozen": true})"}) {
    rows.push_back({"BatchNormalization", config, {{4, 3, 2}}, batch_normalization});
    rows.push_back(
        {"BatchNormalization", config, {{4, 3, 2}}, batch_normalization_in_training, false, true});
    rows.push_back({"BatchNormalization", config, {{4, 3, 2, 5}}, batch_normalization});
  }
  for (const char* config : {"{}", R"({"axis": 1, "epsilon": 0.1})", R"({"scale": false})",
                             R"({"center": false, "axis": 2})"}) {
    rows.push_back({"LayerNormalization", config, {{4, 3, 2}}, layer_normalization});
  }
}

// Layers of noise pass their input outside of training; noise_test.cc has their training.
void add_noise_rows(LayerRows& rows) {
  const std::vector<Place> x = {{3, 4, 2}};
  for (const char* config : {R"({"rate": 0})", R"({"rate": 0.5, "noise_shape": [3, 1, 2]})"}) {
    rows.push_back({"Dropout", config, x, same});
    rows.push_back({"Dropout", config, x, same, true});
    rows.push_back({"AlphaDropout", config, x, same});
  }
  for (const char* config : {R"({"rate": 0.0})", R"({"rate": 0.75})"}) {
    rows.push_back({"GaussianDropout", config, x, same});
    rows.push_back({"SpatialDropout1D", config, x, same});
  }
  for (const char* config : {R"({"stddev": 1})", R"({"stddev": 2.5})"}) {
    rows.push_back({"GaussianNoise", config, x, same});
  }
  for (const char* config :
       {R"({"rate": 0.5})", R"({"rate": 0.25, "data_format": "channels_first"})"}) {
    rows.push_back({"SpatialDropout2D", config, {{2, 3, 4, 2}}, same});
    rows.push_back({"SpatialDropout3D", config, {{2, 3, 4, 2, 2}}, same});
  }
  for (const char* config : {"{}", R"({"l1": 0.5, "l2": 0.25})"}) {
    rows.push_back({"ActivityRegularization", config, x, same});
  }
  rows.push_back({"InputLayer", "{}", x, same});
}

}  // namespace

void add_core_rows(LayerRows& rows) {
  for (const char* config :
       {R"({"units": 3})", R"({"units": 2, "activation": "tanh", "use_bias": false})"}) {
    rows.push_back({"Dense", config, {{3, 4}}, dense});
    rows.push_back({"Dense", config, {{2, 3, 4}}, dense, true});
  }
  for (const char* activation : {"tanh", "relu"}) {
    const std::string config = Json({{"activation", activation}}).dump();
    rows.push_back({"Activation", config, {{3, 4}}, each_element([](const Json& c, double x) {
                      return activated(c.at("activation"), x);
                    })});
  }
  for (const char* config : {R"({"input_dim": 9, "output_dim": 3})",
                             R"({"input_dim": 5, "output_dim": 2, "mask_zero": true,
                                 "input_length": 4})"}) {
    rows.push_back({"Embedding", config, {{3, 4}}, embedding});
  }
  for (const char* config : {"{}", R"({"data_format": "channels_first"})"}) {
    rows.push_back({"Flatten", config, {{2, 3, 4, 2}}, flatten});
  }
  for (const char* config : {R"({"target_shape": [2, 6]})", R"({"target_shape": [3, -1, 2]})"}) {
    rows.push_back({"Reshape", config, {{2, 4, 3}}, reshape});
  }
  for (const char* config : {R"({"dims": [2, 1, 3]})", R"({"dims": [3, 1, 2]})"}) {
    rows.push_back({"Permute", config, {{2, 4, 3, 5}}, permute});
  }
  for (const char* config : {R"({"n": 1})", R"({"n": 3})"}) {
    rows.push_back({"RepeatVector", config, {{2, 4}}, repeat_vector});
  }
  for (const char* config : {"{}", R"({"mask_value": 0.5})"}) {
    rows.push_back({"Masking", config, {{3, 4, 2}}, masking});
    rows.push_back({"Masking", config, {{3, 4, 2}}, masking, true});
  }
  for (const char* config : {R"({"function": "values_times", "arguments": {"factor": 3}})",
                             R"({"function": "values_plus", "arguments": {"term": 2}})"}) {
    rows.push_back({"Lambda", config, {{3, 4}}, each_element([](const Json& c, double x) {
                      const Json& arguments = c.at("arguments");
                      return x * arguments.value("factor", 1.0) + arguments.value("term", 0.0);
                    })});
  }
  add_activation_rows(rows);
  add_normalization_rows(rows);
  add_noise_rows(rows);
}

}  // namespace systole::keras::layers::testing
