// The inputs of an exported model. (tf.estimator.export)
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <source_location>
#include <string>

#include "systole/base/nest.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/core/graph.h"

namespace systole {

// features: the argument of the model_fn. receiver_tensors: the inputs of the signature by name,
// from which the features are computed.
struct ServingInputReceiver {
  Nest<Output> features;
  std::map<std::string, Output> receiver_tensors;
};

// Called once for each export, while the graph to be exported is current.
using ServingInputReceiverFn = std::function<ServingInputReceiver()>;

namespace estimator {

// Returns a function whose inputs are the features. `features`: types by name, or one type, whose
// input is named "input". Unknown dimensions are kUnknown. default_batch_size replaces the first
// dimension of each; errors of the model name the line `where`. Errors when called:
// INVALID_ARGUMENT for a tuple of types.
//   build_raw_serving_input_receiver_fn({{"x", {st::DType::f32, {st::kUnknown, 4}}}})
ServingInputReceiverFn build_raw_serving_input_receiver_fn(
    std::map<std::string, TensorType> features,
    std::optional<int64_t> default_batch_size = std::nullopt,
    std::source_location where = std::source_location::current());
ServingInputReceiverFn build_raw_serving_input_receiver_fn(
    Nest<TensorType> features, std::optional<int64_t> default_batch_size = std::nullopt,
    std::source_location where = std::source_location::current());

// Returns a function whose input "examples" is serialised tf.Examples, which the graph parses.
ServingInputReceiverFn build_parsing_serving_input_receiver_fn(
    FeatureSpecs feature_spec, std::optional<int64_t> default_batch_size = std::nullopt,
    std::source_location where = std::source_location::current());

}  // namespace estimator
}  // namespace systole
