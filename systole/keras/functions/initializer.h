// Initializers of weights by name or as objects. (tf.keras.initializers)
#pragma once

#include <optional>
#include <string>

#include "systole/graph/functions/initializers.h"
#include "systole/keras/base/configured.h"

namespace systole::keras {

template <class T>
struct JsonType;

// "glorot_uniform", initializers::RandomNormal({.stddev = 0.1}), or a function of the graph API,
// which cannot be saved. Without a seed, values depend on the seed of the current graph
// (set_random_seed) and on the order in which weights are made.
class InitializerSpec {
 public:
  InitializerSpec() = default;                                                     // none
  InitializerSpec(const char* name) : InitializerSpec(std::string(name)) {}        // NOLINT
  InitializerSpec(const std::string& name);                                        // NOLINT
  InitializerSpec(Initializer function) : object_{"", {}, std::move(function)} {}  // NOLINT
  explicit InitializerSpec(Configured<Initializer> object) : object_(std::move(object)) {}

  explicit operator bool() const { return object_.function != nullptr; }
  const Configured<Initializer>& object() const { return object_; }
  // For one weight, with the seed that it gets here where the object has none.
  Initializer for_weight() const;

 private:
  Configured<Initializer> object_;
};

void register_initializer(const std::string& class_name, ClassTable<Initializer>::Make make);

// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
namespace initializers {

struct SeedOptions {
  std::optional<int64_t> seed = std::nullopt;
};
struct RandomNormalOptions {
  double mean = 0;
  double stddev = 0.05;
  std::optional<int64_t> seed = std::nullopt;
};
struct RandomUniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
  std::optional<int64_t> seed = std::nullopt;
};
struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";          // or "fan_out", "fan_avg"
  std::string distribution = "normal";  // truncated; or "uniform", "untruncated_normal"
  std::optional<int64_t> seed = std::nullopt;
};
struct OrthogonalOptions {
  double gain = 1;
  std::optional<int64_t> seed = std::nullopt;
};

InitializerSpec Zeros();
InitializerSpec Ones();
InitializerSpec Constant(double value = 0);
// Matrices only.
InitializerSpec Identity(double gain = 1);
InitializerSpec RandomNormal(const RandomNormalOptions& options = {});
InitializerSpec TruncatedNormal(const RandomNormalOptions& options = {});
InitializerSpec RandomUniform(const RandomUniformOptions& options = {});
InitializerSpec VarianceScaling(const VarianceScalingOptions& options = {});
// Orthonormal columns or rows, of the matrix [product of all sizes but the last, last size].
// Source: Saxe et al., arXiv 1312.6120.
InitializerSpec Orthogonal(const OrthogonalOptions& options = {});
InitializerSpec glorot_uniform(const SeedOptions& options = {});
InitializerSpec glorot_normal(const SeedOptions& options = {});
InitializerSpec he_uniform(const SeedOptions& options = {});
InitializerSpec he_normal(const SeedOptions& options = {});
InitializerSpec lecun_uniform(const SeedOptions& options = {});
InitializerSpec lecun_normal(const SeedOptions& options = {});

}  // namespace initializers
// NOLINTEND(readability-identifier-naming)

template <>
struct JsonType<InitializerSpec> {
  static constexpr std::string_view name = "the name or configuration of an initializer";
  static constexpr ArgumentKind kind = ArgumentKind::object;
  static std::vector<ClassDoc> classes();
  static Json to_json(const InitializerSpec& initializer);
  static InitializerSpec from_json(const Json& json);
};

}  // namespace systole::keras
