// Sums of absolute values and of squares.
#pragma once

#include "systole/train/regularizers/regularizer_def.h"

namespace systole {

namespace layers {
struct ScaleOptions {
  double scale = 0;
};
struct L1L2Options {
  double scale_l1 = 1;
  double scale_l2 = 1;
};
}  // namespace layers

namespace keras::regularizers {
struct L1L2Options {
  double l1 = 0;
  double l2 = 0;
};
struct L1AndL2Options {
  double l1 = 0.01;
  double l2 = 0.01;
};
struct FactorOptions {
  double l = 0.01;
};
}  // namespace keras::regularizers

namespace rules {

// l1 * sum|w| + l2 * sum w^2.
inline Output l1_l2_penalty(const Output& weight, double l1, double l2) {
  Output total;
  if (l1 != 0) total = reduce_sum(abs(weight)) * l1;
  if (l2 != 0) {
    const Output squares = reduce_sum(square(weight)) * l2;
    total = total.valid() ? total + squares : squares;
  }
  return total.valid() ? total : reduce_sum(weight) * 0.0F;
}

struct L1L2 : RegularizerRule {
  using Options = layers::L1L2Options;
  using KerasOptions = keras::regularizers::L1L2Options;
  static constexpr std::tuple kMembers{&Options::scale_l1, &Options::scale_l2};
  static constexpr std::tuple kKerasMembers{&KerasOptions::l1, &KerasOptions::l2};
  static constexpr std::array kArguments = {
      RuleArgument{.name = "scale_l1", .keras_name = "l1", .usual = 1, .keras_usual = 0},
      RuleArgument{.name = "scale_l2", .keras_name = "l2", .usual = 1, .keras_usual = 0}};

  static constexpr RegularizerDef def{
      .keras_class = "L1L2",
      .doc = "l1 times the sum of absolute values plus l2 times the sum of squares.",
      .arguments = kArguments,
      .value =
          [](const RuleValues& v, const Output& weight) {
            return reduce_sum(abs(weight)) * v.number("scale_l1") +
                   l2_loss(weight) * v.number("scale_l2");
          },
      .keras_value =
          [](const RuleValues& v, const Output& weight) {
            return l1_l2_penalty(weight, v.number("scale_l1"), v.number("scale_l2"));
          }};
};

// L1L2 with other defaults. Keras's function makes an L1L2, as do l1 and l2.
struct L1AndL2 : RegularizerRule {
  using KerasObject = L1L2;
  using KerasOptions = keras::regularizers::L1AndL2Options;
  static constexpr std::tuple kKerasMembers{&KerasOptions::l1, &KerasOptions::l2};
  static constexpr std::array kArguments = {
      RuleArgument{.name = "scale_l1", .keras_name = "l1", .keras_usual = 0.01},
      RuleArgument{.name = "scale_l2", .keras_name = "l2", .keras_usual = 0.01}};
  static L1L2::KerasOptions keras_object(const KerasOptions& o) { return {.l1 = o.l1, .l2 = o.l2}; }

  static constexpr RegularizerDef def{.keras_class = "l1_l2",
                                      .doc = "The same with other defaults.",
                                      .arguments = kArguments,
                                      .keras_value = L1L2::def.keras_value};
};

// The one argument.
inline constexpr std::array kScaleArguments = {
    RuleArgument{.name = "scale", .keras_name = "l", .keras_usual = 0.01}};

struct L1 : RegularizerRule {
  using Options = layers::ScaleOptions;
  using KerasObject = L1L2;
  using KerasOptions = keras::regularizers::FactorOptions;
  static constexpr std::tuple kMembers{&Options::scale};
  static constexpr std::tuple kKerasMembers{&KerasOptions::l};
  static L1L2::KerasOptions keras_object(const KerasOptions& o) { return {.l1 = o.l}; }

  static constexpr RegularizerDef def{.keras_class = "l1",
                                      .doc = "l times the sum of absolute values.",
                                      .arguments = kScaleArguments,
                                      .value = [](const RuleValues& v, const Output& weight) {
                                        return reduce_sum(abs(weight)) * v.number("scale");
                                      }};
};

struct L2 : RegularizerRule {
  using Options = layers::ScaleOptions;
  using KerasObject = L1L2;
  using KerasOptions = keras::regularizers::FactorOptions;
  static constexpr std::tuple kMembers{&Options::scale};
  static constexpr std::tuple kKerasMembers{&KerasOptions::l};
  static L1L2::KerasOptions keras_object(const KerasOptions& o) { return {.l2 = o.l}; }

  static constexpr RegularizerDef def{
      .keras_class = "l2",
      .doc = "l times the sum of squares.",
      .arguments = kScaleArguments,
      .value = [](const RuleValues& v,
                  const Output& weight) { return l2_loss(weight) * v.number("scale"); },
      .keras_value =
          [](const RuleValues& v, const Output& weight) {
            return l1_l2_penalty(weight, 0, v.number("scale"));
          }};
};

}  // namespace rules

namespace layers {
// scale * sum(|w|), scale * sum(w^2) / 2, and both.
inline constexpr RegularizerFunction<rules::L1> l1_regularizer;
inline constexpr RegularizerFunction<rules::L2> l2_regularizer;
inline constexpr RegularizerFunction<rules::L1L2> l1_l2_regularizer;
}  // namespace layers

namespace keras::regularizers {
// l1 * sum|w| + l2 * sum w^2.
// NOLINTNEXTLINE(readability-identifier-naming): the name of Keras.
inline constexpr RegularizerClass<rules::L1L2> L1L2;
inline constexpr RegularizerClass<rules::L1AndL2> l1_l2;
inline constexpr RegularizerClass<rules::L1> l1;
inline constexpr RegularizerClass<rules::L2> l2;
}  // namespace keras::regularizers

}  // namespace systole
