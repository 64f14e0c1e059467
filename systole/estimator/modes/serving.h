// What a served model is fed: how export_saved_model begins the graph that it writes.
// (tf.estimator.export)
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "systole/base/nest.h"
#include "systole/graph/api/graph.h"
#include "systole/graph/api/parsing_ops.h"

namespace systole {

// features: what the model_fn is given. receiver_tensors: what the signature takes, by name; the
// features are made of them.
struct ServingInputReceiver {
  Nest<Output> features;
  std::map<std::string, Output> receiver_tensors;
};

// Called once an export, while the graph that is to be served is the current one.
using ServingInputReceiverFn = std::function<ServingInputReceiver()>;

namespace estimator {

// The features are fed as they are. Types by name, or one type, whose input is called "input"; a
// dimension that is not known is kUnknown. default_batch_size: the first dimension of all of them.
// Errors when called: INVALID_ARGUMENT for a tuple of types, which has no names.
//   build_raw_serving_input_receiver_fn({{"x", {st::DType::f32, {st::kUnknown, 4}}}})
ServingInputReceiverFn build_raw_serving_input_receiver_fn(
    std::map<std::string, TensorType> features,
    std::optional<int64_t> default_batch_size = std::nullopt);
ServingInputReceiverFn build_raw_serving_input_receiver_fn(
    Nest<TensorType> features, std::optional<int64_t> default_batch_size = std::nullopt);

// Serialized tf.Examples are fed, under the name "examples", and parsed by the graph.
ServingInputReceiverFn build_parsing_serving_input_receiver_fn(
    FeatureSpecs feature_spec, std::optional<int64_t> default_batch_size = std::nullopt);

}  // namespace estimator
}  // namespace systole
