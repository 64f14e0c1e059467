#include "systole/estimator/serving.h"

#include "systole/graph/api/array_ops.h"

namespace systole::estimator {
namespace {

Output receiver(const std::string& name, TensorType type, std::optional<int64_t> batch,
                std::source_location where) {
  if (batch && type.shape.rank() > 0) type.shape.set_dim(0, *batch);
  return placeholder(type.dtype, type.shape, name, where);
}

ServingInputReceiver raw_receiver(const Nest<TensorType>& features, std::optional<int64_t> batch,
                                  std::source_location where) {
  ServingInputReceiver result;
  if (features.is_leaf()) {
    result.receiver_tensors["input"] = receiver("input", features.leaf(), batch, where);
    result.features = result.receiver_tensors["input"];
    return result;
  }
  if (!features.is_dict()) {
    throw invalid_argument(
        "build_raw_serving_input_receiver_fn: features, got {}, expected one type or types by name",
        features.to_string());
  }
  std::vector<Nest<Output>::Entry> entries;
  for (const std::string& name : features.names()) {
    result.receiver_tensors[name] = receiver(name, features[name].leaf(), batch, where);
    entries.emplace_back(name, result.receiver_tensors[name]);
  }
  result.features = Nest<Output>::dict(std::move(entries));
  return result;
}

}  // namespace

ServingInputReceiverFn build_raw_serving_input_receiver_fn(
    std::map<std::string, TensorType> features, std::optional<int64_t> default_batch_size,
    std::source_location where) {
  std::vector<Nest<TensorType>::Entry> entries(features.begin(), features.end());
  return build_raw_serving_input_receiver_fn(Nest<TensorType>::dict(std::move(entries)),
                                             default_batch_size, where);
}

ServingInputReceiverFn build_raw_serving_input_receiver_fn(
    Nest<TensorType> features, std::optional<int64_t> default_batch_size,
    std::source_location where) {
  return [features = std::move(features), default_batch_size, where] {
    return raw_receiver(features, default_batch_size, where);
  };
}

ServingInputReceiverFn build_parsing_serving_input_receiver_fn(
    FeatureSpecs feature_spec, std::optional<int64_t> default_batch_size,
    std::source_location where) {
  return [feature_spec = std::move(feature_spec), default_batch_size, where] {
    const Output examples = placeholder(DType::string, {default_batch_size.value_or(kUnknown)},
                                        "input_example_tensor", where);
    return ServingInputReceiver{
        .features = parse_example(systole::Input(examples, where), feature_spec),
        .receiver_tensors = {{"examples", examples}}};
  };
}

}  // namespace systole::estimator
