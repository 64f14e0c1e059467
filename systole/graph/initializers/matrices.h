// Matrices of a kind.
#pragma once

#include "systole/graph/initializers/initializer_def.h"

namespace systole {

struct IdentityInitializerOptions {
  double gain = 1;
};
struct OrthogonalInitializerOptions {
  double gain = 1;
  std::optional<int64_t> seed = std::nullopt;
};

namespace rules {

inline constexpr std::array kGainArguments = {RuleArgument{.name = "gain", .usual = 1}};

Output identity_values(const InitializerCall& call);
Output orthogonal_values(const InitializerCall& call);

// Matrices only.
struct Identity : InitializerRule {
  using Options = IdentityInitializerOptions;
  using KerasOptions = Options;
  static constexpr std::tuple kMembers{&Options::gain};
  static constexpr std::tuple kKerasMembers = kMembers;

  static constexpr InitializerDef def{.keras_class = "Identity",
                                      .keras_aliases = "identity",
                                      .doc = "gain on the diagonal of a matrix, else 0.",
                                      .arguments = kGainArguments,
                                      .value = identity_values};
};

// Orthonormal columns or rows, of the matrix [product of all sizes but the last, last size].
// Source: Saxe et al., arXiv 1312.6120.
struct Orthogonal : InitializerRule {
  using Options = OrthogonalInitializerOptions;
  using KerasOptions = Options;
  static constexpr std::tuple kMembers{&Options::gain};
  static constexpr std::tuple kKerasMembers = kMembers;

  static constexpr InitializerDef def{.keras_class = "Orthogonal",
                                      .keras_aliases = "orthogonal",
                                      .doc = "Orthonormal columns or rows, times gain.",
                                      .arguments = kGainArguments,
                                      .seeded = true,
                                      .value = orthogonal_values};
};

}  // namespace rules

inline constexpr InitializerFunction<rules::Identity> identity_initializer;
inline constexpr InitializerFunction<rules::Orthogonal> orthogonal_initializer;

namespace keras::initializers {
// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
inline constexpr InitializerClass<rules::Identity> Identity;
inline constexpr InitializerClass<rules::Orthogonal> Orthogonal;
// NOLINTEND(readability-identifier-naming)
}  // namespace keras::initializers

}  // namespace systole
