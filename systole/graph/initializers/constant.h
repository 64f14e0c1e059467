// Values that do not depend on chance.
#pragma once

#include "systole/graph/initializers/initializer_def.h"

namespace systole {

namespace keras::initializers {
struct ConstantOptions {
  double value = 0;
};
}  // namespace keras::initializers

namespace rules {

struct Zeros : InitializerRule {
  using Options = NoInitializerOptions;
  using KerasOptions = NoInitializerOptions;
  static constexpr InitializerDef def{
      .keras_class = "Zeros",
      .keras_aliases = "zeros zero",
      .doc = "0.",
      .value = [](const InitializerCall& call) { return zeros(call.shape, call.dtype); }};
};

struct Ones : InitializerRule {
  using Options = NoInitializerOptions;
  using KerasOptions = NoInitializerOptions;
  static constexpr InitializerDef def{
      .keras_class = "Ones",
      .keras_aliases = "ones one",
      .doc = "1.",
      .value = [](const InitializerCall& call) { return ones(call.shape, call.dtype); }};
};

struct Constant : InitializerRule {
  using KerasOptions = keras::initializers::ConstantOptions;
  static constexpr std::tuple kKerasMembers{&KerasOptions::value};
  static constexpr std::array kArguments = {RuleArgument{.name = "value", .usual = 0}};

  static constexpr InitializerDef def{
      .keras_class = "Constant",
      .keras_aliases = "constant",
      .doc = "One value for all elements.",
      .arguments = kArguments,
      .value = [](const InitializerCall& call) {
        return constant(Tensor(static_cast<float>(call.arguments.number("value"))),
                        {.dtype = call.dtype, .shape = call.shape});
      }};
};

}  // namespace rules

inline constexpr InitializerFunction<rules::Zeros> zeros_initializer;
inline constexpr InitializerFunction<rules::Ones> ones_initializer;
// One value for all elements, or a tensor with as many elements as the variable, taken in row-major
// order.
inline Initializer constant_initializer(Tensor value) {
  return [value = std::move(value)](const Shape& shape, DType dtype) {
    return constant(value, {.dtype = dtype, .shape = shape});
  };
}

namespace keras::initializers {
// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
inline constexpr InitializerClass<rules::Zeros> Zeros;
inline constexpr InitializerClass<rules::Ones> Ones;
inline constexpr InitializerClass<rules::Constant> Constant;
// NOLINTEND(readability-identifier-naming)
}  // namespace keras::initializers

}  // namespace systole
