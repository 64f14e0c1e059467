#include "systole/keras/functions/loss.h"

#include <map>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_functions.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"

namespace systole::keras {
namespace {

constexpr double kLossEpsilon = 1e-7;

Output mean_last(const Output& x) { return reduce_mean(x, {.axis = -1}); }
Output sum_last(const Output& x) { return reduce_sum(x, {.axis = -1}); }
Output at_least_epsilon(const Output& x) { return maximum(x, kLossEpsilon); }
Output clip_probability(const Output& p) {
  return clip_by_value(p, kLossEpsilon, 1 - kLossEpsilon);
}

Output mean_squared_error(const Output& t, const Output& p) { return mean_last(square(p - t)); }
Output mean_absolute_error(const Output& t, const Output& p) { return mean_last(abs(p - t)); }

Output mean_absolute_percentage_error(const Output& t, const Output& p) {
  return mean_last(abs((t - p) / at_least_epsilon(abs(t)))) * 100.0F;
}

Output mean_squared_logarithmic_error(const Output& t, const Output& p) {
  return mean_last(square(log(at_least_epsilon(p) + 1.0F) - log(at_least_epsilon(t) + 1.0F)));
}

Output hinge_loss(const Output& t, const Output& p) {
  return mean_last(maximum(1.0F - t * p, 0.0F));
}
Output squared_hinge(const Output& t, const Output& p) {
  return mean_last(square(maximum(1.0F - t * p, 0.0F)));
}
Output categorical_hinge(const Output& t, const Output& p) {
  const Output others = reduce_max((1.0F - t) * p, {.axis = -1});
  return maximum(others - sum_last(t * p) + 1.0F, 0.0F);
}

Output logcosh(const Output& t, const Output& p) {
  const Output d = p - t;
  return mean_last(d + softplus(d * -2.0F) - 0.6931471805599453);
}

Output categorical_crossentropy(const Output& t, const Output& p) {
  const Output normal = p / reduce_sum(p, {.axis = -1, .keepdims = true});
  return negative(sum_last(t * log(clip_probability(normal))));
}

// Targets [.., 1] or [..] hold class numbers.
Output sparse_categorical_crossentropy(const Output& t, const Output& p) {
  const bool column = t.shape().rank() == p.shape().rank();
  const Output labels = cast(column ? squeeze(t, {.axis = {-1}}) : t, DType::s32);
  const Output logits = log(clip_probability(p));
  return sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits});
}

Output binary_crossentropy(const Output& t, const Output& p) {
  const Output clipped = clip_probability(p);
  const Output z = log(clipped / (1.0F - clipped));
  // max(z, 0) - z t + log(1 + exp(-|z|))
  return mean_last(relu(z) - z * t + log1p(exp(negative(abs(z)))));
}

Output kullback_leibler_divergence(const Output& t, const Output& p) {
  const Output target = clip_by_value(t, kLossEpsilon, 1.0F);
  return sum_last(target * log(target / clip_by_value(p, kLossEpsilon, 1.0F)));
}

Output poisson(const Output& t, const Output& p) {
  return mean_last(p - t * log(p + kLossEpsilon));
}

// Half the square of errors up to 1, the size less a half of others.
Output huber(const Output& t, const Output& p) {
  const Output error = abs(p - t);
  const Output small = minimum(error, 1.0F);
  return mean_last(small * (error - small * 0.5F));
}

Output cosine_proximity(const Output& t, const Output& p) {
  const auto normal = [](const Output& x) {
    return x * rsqrt(maximum(reduce_sum(square(x), {.axis = -1, .keepdims = true}), 1e-12));
  };
  return negative(sum_last(normal(t) * normal(p)));
}

struct NamedLoss {
  LossFn function;
  std::string full_name;
};

std::map<std::string, NamedLoss>& loss_table() {
  static std::map<std::string, NamedLoss> rows = [] {
    std::map<std::string, NamedLoss> made;
    const auto add = [&](const std::string& name, LossFn f,
                         const std::vector<std::string>& aliases = {}) {
      for (const std::string& alias : aliases) made[alias] = {f, name};
      made[name] = {std::move(f), name};
    };
    add("mean_squared_error", mean_squared_error, {"mse", "MSE"});
    add("mean_absolute_error", mean_absolute_error, {"mae", "MAE"});
    add("mean_absolute_percentage_error", mean_absolute_percentage_error, {"mape", "MAPE"});
    add("mean_squared_logarithmic_error", mean_squared_logarithmic_error, {"msle", "MSLE"});
    add("hinge", hinge_loss);
    add("squared_hinge", squared_hinge);
    add("categorical_hinge", categorical_hinge);
    add("logcosh", logcosh, {"log_cosh"});
    add("huber", huber, {"huber_loss", "Huber"});
    add("categorical_crossentropy", categorical_crossentropy);
    add("sparse_categorical_crossentropy", sparse_categorical_crossentropy);
    add("binary_crossentropy", binary_crossentropy);
    add("kullback_leibler_divergence", kullback_leibler_divergence,
        {"kld", "KLD", "kl_divergence"});
    add("poisson", poisson);
    add("cosine_proximity", cosine_proximity, {"cosine", "cosine_similarity"});
    return made;
  }();
  return rows;
}

}  // namespace

LossSpec::LossSpec(const std::string& name) {
  const auto it = loss_table().find(name);
  if (it == loss_table().end()) {
    throw not_found("Unknown loss function:{}{}", name, did_you_mean(name, loss_names()));
  }
  function_ = it->second.function;
  name_ = it->second.full_name;
}

void register_loss(const std::string& name, LossFn function) {
  if (!loss_table().emplace(name, NamedLoss{std::move(function), name}).second) {
    throw make_error(Code::already_exists, "loss '{}' is registered already", name);
  }
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const auto& [name, row] : loss_table()) names.push_back(name);
  return names;
}

}  // namespace systole::keras
