#include "systole/keras/functions/initializer.h"

#include <cmath>
#include <vector>

#include "systole/base/random.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/py_func.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/base/fields.h"

namespace systole::keras {
namespace {

using Names = std::vector<std::string>;

std::optional<int64_t> seed_of(const Json& config) {
  return config.contains("seed") ? JsonType<std::optional<int64_t>>::from_json(config.at("seed"))
                                 : std::nullopt;
}

systole::VarianceScalingOptions variance_scaling(const Json& config) {
  const std::string mode = config.value("mode", "fan_in");
  const std::string distribution = config.value("distribution", "normal");
  systole::VarianceScalingOptions options{.scale = config.value("scale", 1.0),
                                          .seed = seed_of(config)};
  if (mode == "fan_out") {
    options.mode = FanMode::fan_out;
  } else if (mode == "fan_avg") {
    options.mode = FanMode::fan_avg;
  } else if (mode != "fan_in") {
    throw invalid_argument("Invalid `mode` argument: {}, expected fan_in, fan_out or fan_avg",
                           mode);
  }
  if (distribution == "uniform") {
    options.distribution = Distribution::uniform;
  } else if (distribution == "untruncated_normal") {
    options.distribution = Distribution::untruncated_normal;
  } else if (distribution != "normal" && distribution != "truncated_normal") {
    throw invalid_argument(
        "Invalid `distribution` argument: {}, expected normal, uniform, truncated_normal or "
        "untruncated_normal",
        distribution);
  }
  return options;
}

// The configuration of a shorthand: {scale, mode, distribution} of VarianceScaling, and its seed.
ClassTable<Initializer>::Make scaled(double scale, const char* mode, const char* distribution) {
  return [=](const Json& config) {
    Json full = {{"scale", scale}, {"mode", mode}, {"distribution", distribution}};
    if (config.contains("seed")) full["seed"] = config.at("seed");
    return variance_scaling_initializer(variance_scaling(full));
  };
}

// The Q of a QR decomposition of `a` [rows, columns], rows >= columns, row-major, with the signs
// that make R's diagonal positive: modified Gram-Schmidt in f64, twice for orthogonality.
void orthonormalize(std::vector<double>& a, int64_t rows, int64_t columns) {
  const auto at = [&](int64_t r, int64_t c) -> double& { return a[r * columns + c]; };
  for (int64_t c = 0; c < columns; ++c) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < c; ++k) {
        double dot = 0;
        for (int64_t r = 0; r < rows; ++r) dot += at(r, k) * at(r, c);
        for (int64_t r = 0; r < rows; ++r) at(r, c) -= dot * at(r, k);
      }
    }
    double norm = 0;
    for (int64_t r = 0; r < rows; ++r) norm += at(r, c) * at(r, c);
    norm = std::sqrt(norm);
    for (int64_t r = 0; r < rows; ++r) at(r, c) /= norm;
  }
}

// values: f32 [rows, columns] of normal numbers. Returns an orthonormal matrix of that shape.
Tensor orthonormal(const Tensor& values, double gain) {
  const int64_t rows = values.dim(0);
  const int64_t columns = values.dim(1);
  const bool tall = rows >= columns;
  const std::span<const float> in = values.data<float>();
  std::vector<double> a(in.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      a[tall ? r * columns + c : c * rows + r] = in[r * columns + c];
    }
  }
  orthonormalize(a, tall ? rows : columns, tall ? columns : rows);
  Tensor result(TensorType{DType::f32, {rows, columns}});
  const std::span<float> out = result.data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      out[r * columns + c] = static_cast<float>(gain * a[tall ? r * columns + c : c * rows + r]);
    }
  }
  return result;
}

Output orthogonal(const Shape& shape, DType dtype, double gain, std::optional<int64_t> seed) {
  if (shape.rank() < 2) {
    throw invalid_argument("The tensor to initialize must be at least two-dimensional, got {}",
                           shape.to_string());
  }
  const int64_t columns = shape[shape.rank() - 1];
  const int64_t rows = columns == 0 ? 0 : shape.num_elements() / columns;
  const Output normal = random_normal({rows, columns}, {.seed = seed});
  const Output matrix =
      py_func([gain](std::span<const Tensor> inputs) { return orthonormal(inputs[0], gain); },
              {normal}, TensorType{DType::f32, {rows, columns}});
  return cast(reshape(matrix, shape), dtype);
}

Output identity_matrix(const Shape& shape, DType dtype, double gain) {
  if (shape.rank() != 2) {
    throw invalid_argument("Identity matrix initializer can only be used for 2D matrices, got {}",
                           shape.to_string());
  }
  return cast(eye(shape[0], {.num_columns = shape[1]}) * gain, dtype);
}

void add_variance_scaling(ClassTable<Initializer>& table) {
  table.add(
      "VarianceScaling", {},
      [](const Json& config) { return variance_scaling_initializer(variance_scaling(config)); },
      Names{"scale", "mode", "distribution", "seed"});
  table.add("GlorotUniform", {"glorot_uniform"}, scaled(1, "fan_avg", "uniform"), Names{"seed"});
  table.add("GlorotNormal", {"glorot_normal"}, scaled(1, "fan_avg", "truncated_normal"),
            Names{"seed"});
  table.add("HeUniform", {"he_uniform"}, scaled(2, "fan_in", "uniform"), Names{"seed"});
  table.add("HeNormal", {"he_normal"}, scaled(2, "fan_in", "truncated_normal"), Names{"seed"});
  table.add("LecunUniform", {"lecun_uniform"}, scaled(1, "fan_in", "uniform"), Names{"seed"});
  table.add("LecunNormal", {"lecun_normal"}, scaled(1, "fan_in", "truncated_normal"),
            Names{"seed"});
}

void add_distributions(ClassTable<Initializer>& table) {
  const auto normal = [](const Json& config) {
    return NormalInitializerOptions{.mean = config.value("mean", 0.0),
                                    .stddev = config.value("stddev", 0.05),
                                    .seed = seed_of(config)};
  };
  const Names of_normal = {"mean", "stddev", "seed"};
  table.add(
      "RandomNormal", {"random_normal", "normal"},
      [normal](const Json& config) { return random_normal_initializer(normal(config)); },
      of_normal);
  table.add(
      "TruncatedNormal", {"truncated_normal"},
      [normal](const Json& config) { return truncated_normal_initializer(normal(config)); },
      of_normal);
  table.add(
      "RandomUniform", {"random_uniform", "uniform"},
      [](const Json& config) {
        return random_uniform_initializer({.minval = config.value("minval", -0.05),
                                           .maxval = config.value("maxval", 0.05),
                                           .seed = seed_of(config)});
      },
      Names{"minval", "maxval", "seed"});
}

ClassTable<Initializer>& initializer_table() {
  static ClassTable<Initializer> classes = [] {
    ClassTable<Initializer> made("initializer");
    made.add(
        "Zeros", {"zeros", "zero"}, [](const Json&) { return zeros_initializer(); }, Names{});
    made.add(
        "Ones", {"ones", "one"}, [](const Json&) { return ones_initializer(); }, Names{});
    made.add(
        "Constant", {"constant"},
        [](const Json& config) {
          return constant_initializer(static_cast<float>(config.value("value", 0.0)));
        },
        Names{"value"});
    made.add(
        "Identity", {"identity"},
        [](const Json& config) -> Initializer {
          return [gain = config.value("gain", 1.0)](const Shape& shape, DType dtype) {
            return identity_matrix(shape, dtype, gain);
          };
        },
        Names{"gain"});
    made.add(
        "Orthogonal", {"orthogonal"},
        [](const Json& config) -> Initializer {
          return
              [gain = config.value("gain", 1.0), seed = seed_of(config)](
                  const Shape& shape, DType dtype) { return orthogonal(shape, dtype, gain, seed); };
        },
        Names{"gain", "seed"});
    add_distributions(made);
    add_variance_scaling(made);
    return made;
  }();
  return classes;
}

Json seed_json(std::optional<int64_t> seed) { return seed ? Json(*seed) : Json(nullptr); }

InitializerSpec seeded(const char* name, std::optional<int64_t> seed) {
  return InitializerSpec(initializer_table().make(name, {{"seed", seed_json(seed)}}));
}

}  // namespace

InitializerSpec::InitializerSpec(const std::string& name)
    : object_(initializer_table().make(name)) {}

Initializer InitializerSpec::for_weight() const {
  if (object_.class_name.empty() || seed_of(object_.config)) return object_.function;
  Json config = object_.config;
  config["seed"] = next_seed();
  return initializer_table().make(object_.class_name, std::move(config)).function;
}

void register_initializer(const std::string& class_name, ClassTable<Initializer>::Make make) {
  initializer_table().add(class_name, {}, std::move(make));
}

namespace initializers {

InitializerSpec Zeros() { return "Zeros"; }
InitializerSpec Ones() { return "Ones"; }
InitializerSpec Constant(double value) {
  return InitializerSpec(initializer_table().make("Constant", {{"value", value}}));
}
InitializerSpec Identity(double gain) {
  return InitializerSpec(initializer_table().make("Identity", {{"gain", gain}}));
}
InitializerSpec RandomNormal(const RandomNormalOptions& options) {
  return InitializerSpec(initializer_table().make(
      "RandomNormal",
      {{"mean", options.mean}, {"stddev", options.stddev}, {"seed", seed_json(options.seed)}}));
}
InitializerSpec TruncatedNormal(const RandomNormalOptions& options) {
  return InitializerSpec(initializer_table().make(
      "TruncatedNormal",
      {{"mean", options.mean}, {"stddev", options.stddev}, {"seed", seed_json(options.seed)}}));
}
InitializerSpec RandomUniform(const RandomUniformOptions& options) {
  return InitializerSpec(initializer_table().make(
      "RandomUniform",
      {{"minval", options.minval}, {"maxval", options.maxval}, {"seed", seed_json(options.seed)}}));
}
InitializerSpec VarianceScaling(const VarianceScalingOptions& options) {
  return InitializerSpec(
      initializer_table().make("VarianceScaling", {{"scale", options.scale},
                                                   {"mode", options.mode},
                                                   {"distribution", options.distribution},
                                                   {"seed", seed_json(options.seed)}}));
}
InitializerSpec Orthogonal(const OrthogonalOptions& options) {
  return InitializerSpec(initializer_table().make(
      "Orthogonal", {{"gain", options.gain}, {"seed", seed_json(options.seed)}}));
}
InitializerSpec glorot_uniform(const SeedOptions& o) { return seeded("GlorotUniform", o.seed); }
InitializerSpec glorot_normal(const SeedOptions& o) { return seeded("GlorotNormal", o.seed); }
InitializerSpec he_uniform(const SeedOptions& o) { return seeded("HeUniform", o.seed); }
InitializerSpec he_normal(const SeedOptions& o) { return seeded("HeNormal", o.seed); }
InitializerSpec lecun_uniform(const SeedOptions& o) { return seeded("LecunUniform", o.seed); }
InitializerSpec lecun_normal(const SeedOptions& o) { return seeded("LecunNormal", o.seed); }

}  // namespace initializers

Json JsonType<InitializerSpec>::to_json(const InitializerSpec& initializer) {
  return optional_to_json<Initializer>(initializer.object(), "initializer");
}

InitializerSpec JsonType<InitializerSpec>::from_json(const Json& json) {
  return json.is_null() ? InitializerSpec() : InitializerSpec(initializer_table().from_json(json));
}

std::vector<ClassDoc> JsonType<InitializerSpec>::classes() { return initializer_table().docs(); }

}  // namespace systole::keras
