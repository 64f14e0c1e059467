#include "systole/estimator/input.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "systole/base/log.h"
#include "systole/data/nodes.h"
#include "systole/graph/core/graph.h"

namespace systole {

Dataset InputFnResult::dataset() const {
  if (dataset_.valid()) return dataset_;
  if (labels_.empty()) return dataset_of(features_);
  return dataset_of(Nest<Output>::tuple({features_, labels_}));
}

namespace estimator {
namespace {

std::string_view name_of(Mode mode) { return mode == Mode::predict ? "predict" : to_string(mode); }

// "120 or 128" for 125 and 8 replicas.
std::string nearest(int64_t batch, int64_t replicas) {
  const int64_t below = batch / replicas * replicas;
  return below == 0 ? fmt::format("{}", below + replicas)
                    : fmt::format("{} or {}", below, below + replicas);
}

// Returns the configuration that applies: PER_SHARD_V1 is for training only.
InputPipelineConfig effective(const InputOptions& options) {
  if (options.mode != Mode::train && options.config == InputPipelineConfig::PER_SHARD_V1) {
    return InputPipelineConfig::PER_HOST_V1;
  }
  if (options.config == InputPipelineConfig::SLICED) return InputPipelineConfig::PER_HOST_V1;
  return options.config;
}

Layout layout_of(InputPipelineConfig config) {
  if (config == InputPipelineConfig::PER_HOST_V1) return Layout::split;
  return config == InputPipelineConfig::BROADCAST ? Layout::broadcast : Layout::per_replica;
}

void check_batch_size(const InputOptions& options, Layout layout) {
  if (!options.use_tpu) return;
  const std::string_view mode = name_of(options.mode);
  if (!options.batch_size) {
    throw invalid_argument(
        "{}_batch_size in TPUEstimator constructor cannot be `None` if .{} is running on TPU.",
        mode, options.mode == Mode::eval ? "evaluate" : mode);
  }
  const int64_t replicas = options.replicas * options.hosts;
  if (layout != Layout::broadcast && *options.batch_size % replicas != 0) {
    throw invalid_argument("{} batch size {} must be divisible by number of replicas {}: use {}",
                           mode, *options.batch_size, replicas,
                           nearest(*options.batch_size, replicas));
  }
}

// Returns the type of a replica's part of a component.
TensorType replica_type(const TensorType& type, const Input& input) {
  TensorType result = type;
  if (result.shape.rank() == 0 || input.layout != Layout::split) return result;
  const int64_t batch = result.shape[0];
  if (batch != kUnknown) result.shape.set_dim(0, batch / input.replicas);
  return result;
}

// Sets the batch dimension of all components.
void set_batch(ElementSpec& spec, int64_t batch) {
  spec = spec.map([&](const TensorType& type) {
    TensorType result = type;
    if (result.shape.rank() > 0) result.shape.set_dim(0, batch);
    return result;
  });
}

// `path`: the position of `spec` in the features or labels, "['x'][0]".
void check_static(const ElementSpec& spec, std::string_view what, const std::string& path = "") {
  if (!spec.is_leaf()) {
    for (size_t i = 0; i < spec.size(); ++i) {
      const std::string key =
          spec.is_dict() ? fmt::format("'{}'", spec.names()[i]) : fmt::format("{}", i);
      check_static(spec[i], what, fmt::format("{}[{}]", path, key));
    }
    return;
  }
  const TensorType& type = spec.leaf();
  if (type.is_static()) return;
  const bool batch_alone = [&] {
    if (type.shape.rank() == 0) return false;
    Shape rest = type.shape;
    rest.set_dim(0, 1);
    return rest.is_static();
  }();
  throw invalid_argument(
      "The {} to the model returned by input_fn must have static shape. Tensor: {}{}; {}", what,
      path.empty() ? "" : fmt::format("{}{} of ", what, path), type,
      batch_alone ? "batch(batch_size, drop_remainder = true) or set_shape() gives the batch a "
                    "known size"
                  : "set_shape() or padded_batch() gives it a known shape");
}

std::vector<TensorType> types_of(const Input& input) {
  std::vector<TensorType> types = input.features.flatten();
  const std::vector<TensorType> labels = input.labels.flatten();
  types.insert(types.end(), labels.begin(), labels.end());
  return types;
}

// Rows of an example in each component, for batches that are not split: one, but for components
// without a batch dimension of their own, as flat images are. Empty where each has the batch that
// was told, or none has.
std::vector<int64_t> rows_of_examples(const Input& input, std::optional<int64_t> told) {
  if (input.layout != Layout::per_replica || !told) return {};
  std::vector<int64_t> rows;
  bool flat = false;
  bool batched = false;
  for (const TensorType& type : types_of(input)) {
    if (!type.is_static() || type.shape.rank() == 0 || type.shape[0] % *told != 0) return {};
    rows.push_back(type.shape[0] / *told);
    (rows.back() == 1 ? batched : flat) = true;
  }
  return flat && batched ? rows : std::vector<int64_t>();
}

std::optional<int64_t> common_batch(const Input& input) {
  std::set<int64_t> sizes;
  for (const TensorType& type : types_of(input)) {
    if (type.shape.rank() > 0) sizes.insert(type.shape[0]);
  }
  sizes.erase(kUnknown);
  if (sizes.size() > 1) {
    throw invalid_argument(
        "input_fn: first dimension of features and labels, got {}, expected one batch size; "
        "without "
        "batch() elements are single examples",
        fmt::join(sizes, " and "));
  }
  if (sizes.empty()) return std::nullopt;
  return *sizes.begin();
}

// Throws if elements are single examples: labels are scalars, or all components are.
void check_batched(const ElementSpec& labels, const ElementSpec& all) {
  const auto is_scalar = [](const TensorType& type) { return type.shape.rank() == 0; };
  const std::vector<TensorType> of_labels = labels.flatten();
  const std::vector<TensorType> of_all = all.flatten();
  if (!std::ranges::any_of(of_labels, is_scalar) && !std::ranges::all_of(of_all, is_scalar)) return;
  throw invalid_argument(
      "input_fn: elements, got {}, which are single examples, expected batches: add "
      "batch(params[\"batch_size\"], /*drop_remainder=*/true)",
      all.to_string());
}

// Compares the batch size of the elements, if known, with the one that the input_fn was told.
void check_told_batch(const ElementSpec& spec, int64_t told, const Input& input) {
  const std::vector<TensorType> types = spec.flatten();
  const auto has_batch = [&](const TensorType& type) {
    return type.shape.rank() > 0 && type.shape[0] == told;
  };
  if (std::ranges::any_of(types, has_batch)) return;
  for (const TensorType& type : types) {
    if (type.shape.rank() == 0 || type.shape[0] == kUnknown || type.shape[0] == told) continue;
    const std::string text = fmt::format(
        "input_fn: batch, got {} examples ({}), expected params[\"batch_size\"] = {}: is it "
        "batch(params[\"batch_size\"]), and is batch() there?",
        type.shape[0], type, told);
    const bool fits = input.layout != Layout::split || type.shape[0] % input.replicas == 0;
    if (!fits) throw invalid_argument("{}", text);
    log_warning("{}", text);
    return;
  }
}

void read_spec(Input& input) {
  const ElementSpec& spec = input.datasets.front().element_spec();
  if (spec.is_tuple() && spec.size() != 2) {
    throw invalid_argument(
        "input_fn should return (features, labels) as a len 2 tuple, got one of {}: features may "
        "be a tuple in it",
        spec.size());
  }
  const bool pair = spec.is_tuple();
  const auto of_replica = [&](const TensorType& type) { return replica_type(type, input); };
  for (const TensorType& type : spec.flatten()) {
    if (input.layout != Layout::split || type.shape.rank() == 0 || type.shape[0] == kUnknown ||
        type.shape[0] % input.replicas == 0) {
      continue;
    }
    throw invalid_argument(
        "input_fn: tensor {} cannot be sharded {} ways along dimension 0: batch {} must be "
        "divisible by number of replicas {}: use {}",
        type, input.replicas, type.shape[0], input.replicas,
        nearest(type.shape[0], input.replicas));
  }
  input.features = (pair ? spec[0] : spec).map(of_replica);
  if (pair) input.labels = spec[1].map(of_replica);
}

}  // namespace

Input make_input(const InputFn& input_fn, const InputOptions& options) {
  if (!input_fn) throw invalid_argument("input_fn: function, got none, expected one");
  const InputPipelineConfig config = effective(options);
  Input input{.datasets = {},
              .layout = layout_of(config),
              .replicas = options.replicas,
              .features = {},
              .labels = {},
              .replica_batch = {}};
  check_batch_size(options, input.layout);
  Params params = options.params;
  std::optional<int64_t> replica_batch = options.batch_size;
  if (options.batch_size) {
    const bool broadcast = input.layout == Layout::broadcast;
    const int64_t of_host = *options.batch_size / (broadcast ? 1 : options.hosts);
    replica_batch = broadcast ? of_host : of_host / options.replicas;
    params.set("batch_size", input.layout == Layout::per_replica ? *replica_batch : of_host);
  }
  // BROADCAST has one input for all; the hosts read it each for itself.
  const int64_t hosts = input.layout == Layout::broadcast ? 1 : options.hosts;
  const int64_t host = hosts == 1 ? 0 : options.host;
  const int64_t calls = config == InputPipelineConfig::PER_SHARD_V1 ? options.replicas : 1;
  for (int64_t i = 0; i < calls; ++i) {
    const auto graph = std::make_shared<Graph>();  // of the ops that get_next() makes
    const GraphScope scope(*graph);
    if (options.use_tpu) {
      params.set("context", std::any(TPUContext(options.replicas * options.hosts,
                                                TPUContext::Deployment{
                                                    .device = TPUContext::host_device(options.host),
                                                    .invocation_index = host * calls + i,
                                                    .total_invocations = hosts * calls,
                                                    .replicas_consumed = options.replicas / calls},
                                                options.hosts, options.host)));
    }
    input.datasets.push_back(input_fn(params).dataset());
    data::check_no_parameters("input_fn", input.datasets.back().parameters());
  }
  if (options.use_tpu) {
    const ElementSpec& spec = input.datasets.front().element_spec();
    const bool pair = spec.is_tuple() && spec.size() == 2;
    check_batched(pair ? spec[1] : ElementSpec(), spec);
    if (options.batch_size) check_told_batch(spec, params["batch_size"], input);
  }
  read_spec(input);
  input.rows = rows_of_examples(input, replica_batch);
  input.replica_batch = input.rows.empty() ? common_batch(input) : replica_batch;
  const bool padded = options.mode != Mode::train;
  if (!input.replica_batch && padded && replica_batch) {
    input.replica_batch = replica_batch;
    set_batch(input.features, *replica_batch);
    set_batch(input.labels, *replica_batch);
  }
  if (options.use_tpu) {
    check_static(input.features, "features");
    check_static(input.labels, "labels");
  }
  return input;
}

data::StepSource step_source(const Input& input, bool pad) {
  return {.datasets = input.datasets,
          .layout = input.layout,
          .replicas = input.replicas,
          .replica_batch = input.replica_batch,
          .rows = input.rows,
          .pad = pad,
          .name = "input_fn"};
}

}  // namespace estimator
}  // namespace systole
