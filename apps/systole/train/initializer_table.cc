// Initializers, regularizers and activations by name.
#include "apps/systole/train/model_tables.h"
#include "systole/graph/api/math_ops.h"

namespace systole::app {
namespace {

constexpr ConfigKey kSeed = {"seed", "integer", "", "Equal seeds give equal values."};
constexpr ConfigKey kConstantKeys[] = {{"value", "number", "0", "Value of all elements."}};
constexpr ConfigKey kNormalKeys[] = {
    {"stddev", "number", "1", "Standard deviation."}, {"mean", "number", "0", "Mean."}, kSeed};
constexpr ConfigKey kUniformKeys[] = {{"minval", "number", "0", "Lower bound."},
                                      {"maxval", "number", "1", "Upper bound, exclusive."},
                                      kSeed};
constexpr ConfigKey kScalingKeys[] = {
    {"scale", "number", "1", "The variance is scale / n."},
    {"mode", "text", "fan_in", "n: fan_in, fan_out or fan_avg."},
    {"distribution", "text", "truncated_normal", "Or untruncated_normal, uniform."},
    kSeed};
constexpr ConfigKey kSeedKeys[] = {kSeed};
constexpr ConfigKey kPenaltyKeys[] = {{"scale", "number", "required", "Weight of the penalty."}};

constexpr std::pair<const char*, FanMode> kModes[] = {
    {"fan_in", FanMode::fan_in}, {"fan_out", FanMode::fan_out}, {"fan_avg", FanMode::fan_avg}};
constexpr std::pair<const char*, Distribution> kDistributions[] = {
    {"truncated_normal", Distribution::truncated_normal},
    {"untruncated_normal", Distribution::untruncated_normal},
    {"uniform", Distribution::uniform}};

NormalInitializerOptions normal_options(const ConfigSection& s) {
  return {.mean = s.number("mean", 0),
          .stddev = s.number("stddev", 1, kNotNegative),
          .seed = s.optional_integer("seed")};
}

Initializer variance_scaling(const ConfigSection& s) {
  return variance_scaling_initializer(
      {.scale = s.number("scale", 1, kPositive),
       .mode = s.choice<FanMode>("mode", kModes, FanMode::fan_in),
       .distribution =
           s.choice<Distribution>("distribution", kDistributions, Distribution::truncated_normal),
       .seed = s.optional_integer("seed")});
}

// Initializers that take only a seed, such as glorot_uniform_initializer.
template <Initializer (*Make)(std::optional<int64_t>)>
Initializer seeded(const ConfigSection& s) {
  return Make(s.optional_integer("seed"));
}

constexpr ConfigRow<Initializer> kInitializers[] = {
    {"zeros_initializer",
     "All zeros.",
     {},
     [](const ConfigSection&) { return zeros_initializer(); }},
    {"ones_initializer", "All ones.", {}, [](const ConfigSection&) { return ones_initializer(); }},
    {"constant_initializer", "A constant value.", kConstantKeys,
     [](const ConfigSection& s) {
       return constant_initializer(Tensor::scalar(static_cast<float>(s.number("value", 0))));
     }},
    {"random_normal_initializer", "Normally distributed.", kNormalKeys,
     [](const ConfigSection& s) { return random_normal_initializer(normal_options(s)); }},
    {"truncated_normal_initializer", "Normal, truncated at two standard deviations.", kNormalKeys,
     [](const ConfigSection& s) { return truncated_normal_initializer(normal_options(s)); }},
    {"random_uniform_initializer", "Uniformly distributed.", kUniformKeys,
     [](const ConfigSection& s) {
       return random_uniform_initializer({.minval = s.number("minval", 0),
                                          .maxval = s.number("maxval", 1),
                                          .seed = s.optional_integer("seed")});
     }},
    {"variance_scaling_initializer", "Variance scaled by the number of inputs or outputs.",
     kScalingKeys, &variance_scaling},
    {"glorot_uniform_initializer", "Glorot and Bengio's.", kSeedKeys,
     &seeded<&glorot_uniform_initializer>},
    {"glorot_normal_initializer", "Glorot and Bengio's.", kSeedKeys,
     &seeded<&glorot_normal_initializer>},
    {"he_uniform_initializer", "He's.", kSeedKeys, &seeded<&he_uniform_initializer>},
    {"he_normal_initializer", "He's.", kSeedKeys, &seeded<&he_normal_initializer>},
    {"lecun_uniform_initializer", "LeCun's.", kSeedKeys, &seeded<&lecun_uniform_initializer>},
    {"lecun_normal_initializer", "LeCun's.", kSeedKeys, &seeded<&lecun_normal_initializer>}};

constexpr ConfigRow<layers::Regularizer> kRegularizers[] = {
    {"l1_regularizer", "scale * sum(|w|).", kPenaltyKeys,
     [](const ConfigSection& s) {
       return layers::l1_regularizer(s.number("scale", kNotNegative));
     }},
    {"l2_regularizer", "scale * sum(w^2) / 2.", kPenaltyKeys, [](const ConfigSection& s) {
       return layers::l2_regularizer(s.number("scale", kNotNegative));
     }}};

constexpr std::pair<const char*, Output (*)(const Output&)> kActivations[] = {
    {"relu", [](const Output& x) { return relu(x); }},
    {"relu6", [](const Output& x) { return relu6(x); }},
    {"leaky_relu", [](const Output& x) { return leaky_relu(x); }},
    {"elu", [](const Output& x) { return elu(x); }},
    {"selu", [](const Output& x) { return selu(x); }},
    {"gelu", [](const Output& x) { return gelu(x); }},
    {"softplus", [](const Output& x) { return softplus(x); }},
    {"sigmoid", [](const Output& x) { return sigmoid(x); }},
    {"tanh", [](const Output& x) { return tanh(x); }},
    {"softmax", [](const Output& x) { return softmax(x); }}};

}  // namespace

std::span<const ConfigRow<Initializer>> initializer_table() { return kInitializers; }
std::span<const ConfigRow<layers::Regularizer>> regularizer_table() { return kRegularizers; }
std::span<const std::pair<const char*, Output (*)(const Output&)>> activation_table() {
  return kActivations;
}

}  // namespace systole::app
