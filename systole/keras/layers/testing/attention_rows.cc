// Layers of attention.h.
#include <algorithm>
#include <cmath>

#include "systole/keras/layers/testing/layer_values.h"

namespace systole::keras::layers::testing {
namespace {

using Place = std::vector<int64_t>;

std::vector<double> softmax_of(std::vector<double> scores) {
  const double greatest = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - greatest);
  for (double& score : scores) score /= sum;
  return scores;
}

std::vector<Values> attention(const LayerCallCase& c) {
  const Values query = c.input(0);
  const Values value = c.input(1);
  const Values key = c.input(c.inputs.size() > 2 ? 2 : 1);
  const bool concat = c.config.value("score_mode", "dot") == "concat";
  const bool scales = c.config.value("use_scale", false);
  const double scale = scales ? c.weight(0).data[0] : 1;
  const double factor = concat ? c.weight(scales ? 1 : 0).data[0] : 1;
  const bool causal = c.config.value("causal", false);
  Values y({query.size(0), query.size(1), value.size(2)});
  y.for_each([&](const Place& p) {
    std::vector<double> scores;
    for (int64_t s = 0; s < key.size(1); ++s) {
      double score = 0;
      for (int64_t d = 0; d < query.size(2); ++d) {
        const double q = query.at({p[0], p[1], d});
        const double k = key.at({p[0], s, d});
        score += concat ? std::tanh(scale * (q + k)) : scale * q * k;
      }
      scores.push_back(causal && s > p[1] ? -1e9 : factor * score);
    }
    const std::vector<double> weights = softmax_of(std::move(scores));
    for (int64_t s = 0; s < value.size(1); ++s)
      y.at(p) += weights[static_cast<size_t>(s)] * value.at({p[0], s, p[2]});
  });
  return {y};
}

// x [.., in], kernel [in, heads, size], bias [heads, size] or none: [.., heads, size].
Values projected(const Values& x, const Values& kernel, const Values* bias) {
  Place sizes(x.shape.begin(), x.shape.end() - 1);
  sizes.insert(sizes.end(), {kernel.size(1), kernel.size(2)});
  Values y(sizes);
  y.for_each([&](const Place& p) {
    const int64_t head = p[p.size() - 2];
    const int64_t at = p.back();
    double sum = bias == nullptr ? 0 : bias->at({head, at});
    Place from(p.begin(), p.end() - 1);
    for (int64_t i = 0; i < kernel.size(0); ++i) {
      from.back() = i;
      sum += x.at(from) * kernel.at({i, head, at});
    }
    y.at(p) = sum;
  });
  return y;
}

// The places [batch, .., head] of keys that a query's place sees: those that differ from it in the
// axes `over` alone.
std::vector<Place> seen_places(const Values& keys, const Place& query, const Place& over) {
  std::vector<Place> places;
  Values(Place(keys.shape.begin(), keys.shape.end() - 1)).for_each([&](const Place& p) {
    for (size_t axis = 0; axis < p.size(); ++axis) {
      const bool free = std::ranges::find(over, static_cast<int64_t>(axis)) != over.end();
      if (!free && p[axis] != query[axis]) return;
    }
    places.push_back(p);
  });
  return places;
}

double at(const Values& x, Place place, int64_t last) {
  place.push_back(last);
  return x.at(place);
}

// What the heads give, [.., heads, size].
Values mixed(const Values& q, const Values& k, const Values& v, const Place& over) {
  Place sizes(q.shape.begin(), q.shape.end() - 1);
  sizes.push_back(v.shape.back());
  Values y(sizes);
  Values(Place(q.shape.begin(), q.shape.end() - 1)).for_each([&](const Place& query) {
    const std::vector<Place> places = seen_places(k, query, over);
    std::vector<double> scores;
    for (const Place& p : places) {
      double score = 0;
      for (int64_t d = 0; d < q.shape.back(); ++d) score += at(q, query, d) * at(k, p, d);
      scores.push_back(score / std::sqrt(static_cast<double>(q.shape.back())));
    }
    const std::vector<double> weights = softmax_of(std::move(scores));
    for (int64_t d = 0; d < v.shape.back(); ++d) {
      Place to = query;
      to.push_back(d);
      for (size_t s = 0; s < places.size(); ++s) y.at(to) += weights[s] * at(v, places[s], d);
    }
  });
  return y;
}

std::vector<Values> multi_head_attention(const LayerCallCase& c) {
  const bool biased = c.config.value("use_bias", true);
  std::vector<Values> kernels;
  std::vector<Values> biases;
  for (size_t i = 0; i < c.weights.size(); i += biased ? 2 : 1) {
    kernels.push_back(c.weight(i));
    if (biased) biases.push_back(c.weight(i + 1));
  }
  const auto part = [&](size_t input, size_t weight) {
    return projected(c.input(input), kernels[weight], biased ? &biases[weight] : nullptr);
  };
  const Values q = part(0, 0);
  const Values k = part(c.inputs.size() > 2 ? 2 : 1, 1);
  const Values v = part(1, 2);
  Place over;
  if (c.config.contains("attention_axes")) {
    over = c.config["attention_axes"].get<Place>();
  } else {
    for (int64_t axis = 1; axis + 2 < q.rank(); ++axis) over.push_back(axis);
  }
  const Values heads = mixed(q, k, v, over);
  const Values& kernel = kernels[3];
  Place sizes(heads.shape.begin(), heads.shape.end() - 2);
  sizes.push_back(kernel.size(2));
  Values y(sizes);
  y.for_each([&](const Place& p) {
    double sum = biased ? biases[3].at({p.back()}) : 0;
    Place from(p.begin(), p.end() - 1);
    from.insert(from.end(), {0, 0});
    for (int64_t h = 0; h < kernel.size(0); ++h) {
      for (int64_t d = 0; d < kernel.size(1); ++d) {
        from[from.size() - 2] = h;
        from.back() = d;
        sum += heads.at(from) * kernel.at({h, d, p.back()});
      }
    }
    y.at(p) = sum;
  });
  return {y};
}

}  // namespace

void add_attention_rows(LayerRows& rows) {
  const auto add = [&](const char* config, std::vector<Place> inputs) {
    rows.push_back({"Attention", config, std::move(inputs), attention});
  };
  add("{}", {{2, 3, 4}, {2, 5, 4}});
  add(R"({"use_scale": true, "dropout": 0.5})", {{2, 3, 4}, {2, 5, 6}, {2, 5, 4}});
  add(R"({"score_mode": "concat"})", {{2, 3, 4}, {2, 5, 4}});
  add(R"({"score_mode": "concat", "use_scale": true})", {{2, 1, 4}, {2, 5, 4}});
  add(R"({"causal": true})", {{2, 5, 4}, {2, 5, 4}});
  add(R"({"causal": true})", {{2, 2, 4}, {2, 5, 4}});
  const auto add_heads = [&](const char* config, std::vector<Place> inputs) {
    rows.push_back({"MultiHeadAttention", config, std::move(inputs), multi_head_attention});
  };
  add_heads(R"({"num_heads": 2, "key_dim": 3})", {{2, 4, 5}, {2, 4, 5}});
  add_heads(R"({"num_heads": 3, "key_dim": 2, "value_dim": 7, "use_bias": false, "dropout": 0.5,
                "output_shape": 4})",
            {{2, 1, 5}, {2, 6, 3}, {2, 6, 8}});
  add_heads(R"({"num_heads": 1, "key_dim": 5})", {{3, 2, 2, 5}, {3, 3, 2, 5}});
  add_heads(R"({"num_heads": 2, "key_dim": 3, "attention_axes": [1]})",
            {{2, 4, 3, 5}, {2, 6, 3, 5}});
  add_heads(R"({"num_heads": 2, "key_dim": 3, "attention_axes": [2]})",
            {{2, 3, 4, 5}, {2, 3, 6, 5}});
}

}  // namespace systole::keras::layers::testing
