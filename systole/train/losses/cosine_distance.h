// The angle between vectors: 1 - cosine in tf.losses, -cosine in Keras.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace losses {
struct CosineDistanceOptions {
  Input labels;
  Input predictions;
  int64_t axis;  // required
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
}  // namespace losses

namespace rules {

struct CosineDistance : LossRule {
  using Options = losses::CosineDistanceOptions;
  static constexpr std::tuple kMembers{&Options::axis};
  static constexpr bool kByPosition = false;
  static constexpr std::array kArguments = {RuleArgument{.name = "axis",
                                                         .kind = RuleArgumentKind::integer,
                                                         .doc = "Axis of the vectors.",
                                                         .fronts = RuleFronts::train}};

  static Output value(const RuleValues& arguments, const Output& labels,
                      const Output& predictions) {
    const Output similarity =
        reduce_sum(labels * predictions, {.axis = arguments.integer("axis"), .keepdims = true});
    return 1.0 - similarity;
  }
  static Output keras_value(const RuleValues&, const Output& labels, const Output& predictions) {
    const auto normal = [](const Output& x) {
      return x * rsqrt(maximum(reduce_sum(square(x), {.axis = -1, .keepdims = true}), 1e-12));
    };
    return negative(sum_last(normal(labels) * normal(predictions)));
  }

  static constexpr LossDef def{.name = "cosine_distance",
                               .keras_name = "cosine_proximity",
                               .keras_aliases = "cosine cosine_similarity",
                               .keras_class = "CosineSimilarity",
                               .doc = "For vectors of length 1.",
                               .scope = "cosine_distance_loss",
                               .head = LossHead::regression,
                               .arguments = kArguments,
                               .value = value,
                               .keras_value = keras_value};
};

}  // namespace rules

namespace losses {
// 1 - sum(labels * predictions) over `axis`, which is kept with size 1: 1 - the cosine if both have
// length 1 along `axis`, which is not checked.
inline constexpr LossFunction<rules::CosineDistance> cosine_distance;
}  // namespace losses

namespace keras::losses {
inline constexpr LossClass<rules::CosineDistance>
    CosineSimilarity;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
