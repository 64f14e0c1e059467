// Layers of merge.h.
#include <algorithm>
#include <cmath>

#include "systole/keras/layers/testing/layer_values.h"

namespace systole::keras::layers::testing {
namespace {

using Place = std::vector<int64_t>;

// Axes of size 1 stand for any size.
double broadcast_at(const Values& x, Place place) {
  for (size_t i = 0; i < place.size(); ++i) place[i] = x.shape[i] == 1 ? 0 : place[i];
  return x.at(place);
}

Formula elementwise(std::function<double(const std::vector<double>&)> f) {
  return [f = std::move(f)](const LayerCallCase& c) -> std::vector<Values> {
    Place sizes = c.input().shape;
    for (size_t k = 1; k < c.inputs.size(); ++k) {
      for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::max(sizes[i], c.input(k).shape[i]);
    }
    Values y(sizes);
    y.for_each([&](const Place& place) {
      std::vector<double> all;
      for (size_t k = 0; k < c.inputs.size(); ++k) all.push_back(broadcast_at(c.input(k), place));
      y.at(place) = f(all);
    });
    return {y};
  };
}

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

std::vector<Values> concatenate(const LayerCallCase& c) {
  int64_t axis = c.config.value("axis", int64_t{-1});
  if (axis < 0) axis += c.input().rank();
  const auto along = static_cast<size_t>(axis);
  Place sizes = c.input().shape;
  sizes[along] = 0;
  for (size_t k = 0; k < c.inputs.size(); ++k) sizes[along] += c.input(k).shape[along];
  Values y(sizes);
  int64_t begin = 0;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const Values x = c.input(k);
    x.for_each([&](Place place) {
      const double value = x.at(place);
      place[along] += begin;
      y.at(place) = value;
    });
    begin += x.shape[along];
  }
  return {y};
}

// Matrices [batch, m, n] whose axis `axis` comes last.
Values with_last(const Values& x, int64_t axis) {
  if (axis == x.rank() - 1) return x;
  Values y({x.size(0), x.size(2), x.size(1)});
  y.for_each([&](const Place& p) { y.at(p) = x.at({p[0], p[2], p[1]}); });
  return y;
}

std::vector<Values> dot(const LayerCallCase& c) {
  const Json axes = c.config.at("axes");
  const auto axis = [&](size_t i) {
    const int64_t given = axes.is_array() ? axes.at(i).get<int64_t>() : axes.get<int64_t>();
    return given < 0 ? given + c.input(i).rank() : given;
  };
  const bool normalize = c.config.value("normalize", false);
  const Values a = with_last(c.input(0), axis(0));
  const Values b = with_last(c.input(1), axis(1));
  Values y({a.size(0), a.size(1), b.size(1)});
  y.for_each([&](const Place& p) {
    double product = 0;
    double of_a = 0;
    double of_b = 0;
    for (int64_t k = 0; k < a.size(2); ++k) {
      const double left = a.at({p[0], p[1], k});
      const double right = b.at({p[0], p[2], k});
      product += left * right;
      of_a += left * left;
      of_b += right * right;
    }
    y.at(p) = normalize ? product / std::sqrt(of_a * of_b) : product;
  });
  return {y};
}

}  // namespace

void add_merge_rows(LayerRows& rows) {
  const std::vector<std::vector<Place>> inputs = {{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
                                                  {{2, 1, 4}, {2, 3, 1}}};
  for (const std::vector<Place>& x : inputs) {
    const auto add = [&](const char* name, std::function<double(const std::vector<double>&)> f) {
      rows.push_back({name, "{}", x, elementwise(std::move(f))});
    };
    add("Add", sum);
    add("Average", [](const auto& v) { return sum(v) / static_cast<double>(v.size()); });
    add("Maximum", [](const auto& v) { return *std::ranges::max_element(v); });
    add("Minimum", [](const auto& v) { return *std::ranges::min_element(v); });
    add("Multiply", [](const auto& v) {
      double product = 1;
      for (const double value : v) product *= value;
      return product;
    });
  }
  rows.push_back({"Subtract", "{}", {{2, 3, 4}, {2, 3, 4}}, elementwise([](const auto& v) {
                    return v[0] - v[1];
                  })});
  rows.push_back({"Concatenate", "{}", {{2, 3, 4}, {2, 3, 1}, {2, 3, 2}}, concatenate});
  rows.push_back({"Concatenate", R"({"axis": 1})", {{2, 3, 4}, {2, 1, 4}}, concatenate});
  rows.push_back({"Dot", R"({"axes": -1})", {{2, 3, 4}, {2, 5, 4}}, dot});
  rows.push_back({"Dot", R"({"axes": [1, 2], "normalize": true})", {{2, 4, 3}, {2, 5, 4}}, dot});
}

}  // namespace systole::keras::layers::testing
