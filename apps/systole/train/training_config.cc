#include "apps/systole/train/training_config.h"

#include "apps/systole/data/pipeline_spec.h"
#include "systole/base/log.h"
#include "systole/cluster/find_tpu.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::app {
namespace {

constexpr ConfigKey kRootKeys[] = {
    {"model", "map", "required", "The network."},
    {"loss", "name and arguments", "required",
     "The loss; it decides the meaning of the last layer."},
    {"optimizer", "name and arguments", "required",
     "The optimizer; averages gradients over all cores."},
    {"metrics", "list of names and arguments", "", "Metrics of an evaluation."},
    {"data", "map", "required", "Examples for training, evaluation and prediction."},
    {"estimator", "map", "", "Device and batch sizes."},
    {"run_config", "map", "required", "Files of the run and use of the TPU."},
    {"train", "map", "", "Length of the training."},
    {"evaluate", "map", "", "Extent of an evaluation."}};
constexpr ConfigKey kDataKeys[] = {
    {"train", "pipeline", "", "Single examples; `repeat` for more than one epoch."},
    {"eval", "pipeline", "", "Single examples, once."},
    {"predict", "pipeline", "", "The same; by default those of eval."},
    {"labels", "text", "", "Feature to predict."},
    {"dir", "text", "",
     "Folder of relative file names; itself relative to this file, also in `--set`."}};
constexpr ConfigKey kEstimatorKeys[] = {
    {"use_tpu", "boolean", "true",
     "Run on a TPU, virtual or real; otherwise on this machine's CPU."},
    {"train_batch_size", "integer", "required", "Batch size over all cores."},
    {"eval_batch_size", "integer", "", "By default train_batch_size."},
    {"predict_batch_size", "integer", "", "By default train_batch_size."},
    {"eval_on_tpu", "boolean", "true", "Also evaluate on the TPU."},
    {"warm_start_from", "text", "", "A checkpoint or model_dir with initial values of variables."}};
constexpr ConfigKey kTrainKeys[] = {
    {"max_steps", "integer", "", "Train up to this global step."},
    {"steps", "integer", "", "Train so many more steps; give one of the two."}};
constexpr ConfigKey kEvaluateKeys[] = {
    {"steps", "integer", "", "Number of batches; by default all of the data."},
    {"name", "text", "", "Write summaries to eval_<name>."},
    {"checkpoint_path", "text", "", "By default the latest."}};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Single examples of one of the sections train, eval and predict.
Dataset examples_of(const ConfigSection& data, const std::string& part, const std::string& folder) {
  const ConfigNode node = data.find(part);
  const Pipeline pipeline = parse_pipeline(node, folder);
  if (pipeline.batched) {
    throw node.error(data.what(part), "a batch stage",
                     "single examples: the estimator's batch sizes make batches");
  }
  return pipeline.dataset;
}

// {image, label} -> (image, label): the features (a single one without its name) and, if wanted,
// the labels.
template <class T>
Nest<T> split(const Nest<T>& element, const std::string& labels, bool with_labels) {
  const Nest<T>* const label = labels.empty() ? nullptr : element.find(labels);
  if (label == nullptr) return element;
  std::vector<typename Nest<T>::Entry> features;
  for (const std::string& name : element.names()) {
    if (name != labels) features.emplace_back(name, *element.find(name));
  }
  const Nest<T> rest = Nest<T>::dict(std::move(features));
  return with_labels ? Nest<T>::tuple({rest, *label}) : rest;
}

struct InputOptions {
  std::string labels;
  bool with_labels = true;
  bool drop_remainder = false;
  bool per_replica = false;  // batches are of one replica, although a call feeds all of a host
};

// The batches of one call of an input_fn. The calls for a step share the examples that one call for
// all of them would read, in its order.
Dataset batches_of_call(const Dataset& examples, const Params& params,
                        const InputOptions& options) {
  const int64_t batch_size = params["batch_size"];
  TPUContext::Deployment call;
  if (params.contains("context")) {
    call = params["context"].as<TPUContext>().current_input_fn_deployment();
  }
  if (call.total_invocations == 1) return examples.batch(batch_size, options.drop_remainder);
  const int64_t step_size = batch_size * (options.per_replica ? call.replicas_consumed : 1);
  const Dataset own = examples.batch(step_size, options.drop_remainder)
                          .shard(call.total_invocations, call.invocation_index);
  return step_size == batch_size ? own : own.unbatch().batch(batch_size, options.drop_remainder);
}

InputFn batched_input(const Dataset& examples, const InputOptions& options) {
  return [examples, options](const Params& params) -> InputFnResult {
    return batches_of_call(examples, params, options).map([options](const Nest<Output>& batch) {
      return split(batch, options.labels, options.with_labels);
    });
  };
}

void check_labels(const ConfigSection& data, const std::string& part, const Dataset& examples) {
  const std::string labels = data.text("labels");
  if (labels.empty() || part == "predict") return;
  const ElementSpec& spec = examples.element_spec();
  if (spec.find(labels) == nullptr) {
    throw data.error(
        "labels", "'" + labels + "'",
        fmt::format("a feature of data {}: {}", part, expected_names(labels, spec.names())));
  }
}

void add_data(const ConfigNode& root, TrainingConfig& config) {
  const ConfigSection data("data", root["data"], kDataKeys);
  const std::string beside = folder_of(root.file());
  const std::string dir = data.text("dir");
  const std::string folder = dir.empty() ? beside : join_path(beside, dir);
  const std::string labels = data.text("labels");
  const auto add = [&](const std::string& part, const InputOptions& options, InputFn& input) {
    if (!data.has(part)) return;
    const Dataset examples = examples_of(data, part, folder);
    check_labels(data, part, examples);
    input = batched_input(examples, options);
    config.features = split(examples.element_spec(), labels, false);
  };
  const TPUConfig& tpu = config.estimator.config.tpu_config;
  const bool per_replica = tpu.per_host_input_for_training == InputPipelineConfig::PER_HOST_V2;
  const bool sliced = tpu.eval_training_input_configuration == InputPipelineConfig::SLICED;
  add("train", {.labels = labels, .drop_remainder = true, .per_replica = per_replica},
      config.train_input);
  add("eval", {.labels = labels, .per_replica = per_replica && !sliced}, config.eval_input);
  const InputOptions predict{.labels = labels, .with_labels = false};
  add(data.has("predict") ? "predict" : "eval", predict, config.predict_input);
  if (!config.train_input && !config.eval_input && !config.predict_input) {
    throw data.node().error("data", "none of train, eval and predict", "at least one of them");
  }
}

void add_estimator(const ConfigNode& root, TrainingConfig& config) {
  const ConfigSection s("estimator", root["estimator"], kEstimatorKeys);
  TPUEstimatorOptions& options = config.estimator;
  options.use_tpu = s.flag("use_tpu", true);
  options.eval_on_tpu = s.flag("eval_on_tpu", true);
  options.train_batch_size = s.integer_from("train_batch_size", 1);
  options.eval_batch_size = s.integer("eval_batch_size", *options.train_batch_size, 1);
  options.predict_batch_size = s.integer("predict_batch_size", *options.train_batch_size, 1);
  options.warm_start_from = WarmStartSettings(s.text("warm_start_from"));
}

// Sets the target to the TPU that the environment names, unless the file names one.
void find_target(TrainingConfig& config) {
  TPUEstimatorOptions& options = config.estimator;
  const std::string variable = tpu_variable();
  if (variable.empty()) return;
  if (!options.use_tpu) {
    log_warning("{}: ignored, because estimator.use_tpu is false", variable);
  } else if (!options.config.master.empty()) {
    log_warning("{}: ignored, because run_config.master is '{}'", variable, options.config.master);
  } else {
    options.config.master = find_tpu();
  }
}

void add_steps(const ConfigNode& root, const TrainingOverrides& overrides, TrainingConfig& config) {
  const ConfigSection train("train", root["train"], kTrainKeys);
  config.train.steps = train.optional_integer("steps", 1);
  config.train.max_steps = train.optional_integer("max_steps", 1);
  if (config.train.steps && config.train.max_steps) {
    throw train.error("max_steps", "steps beside it", "one of the two");
  }
  if (overrides.steps) {
    config.train.steps = overrides.steps;
    config.train.max_steps.reset();
  }
  const ConfigSection evaluate("evaluate", root["evaluate"], kEvaluateKeys);
  config.evaluate.steps = evaluate.optional_integer("steps", 1);
  config.evaluate.name = evaluate.text("name");
  config.evaluate.checkpoint_path = evaluate.text("checkpoint_path");
}

constexpr ConfigPart kParts[] = {{"", kRootKeys},
                                 {"data", kDataKeys},
                                 {"estimator", kEstimatorKeys},
                                 {"train", kTrainKeys},
                                 {"evaluate", kEvaluateKeys}};

}  // namespace

std::span<const ConfigPart> training_config_parts() { return kParts; }

std::vector<std::pair<std::string, std::string>> assignments_of(
    const TrainingOverrides& overrides) {
  std::vector<std::pair<std::string, std::string>> assignments;
  for (const std::string& text : overrides.set) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw invalid_argument("--set: assignment, got '{}', expected a path, = and a value", text);
    }
    assignments.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return assignments;
}

TrainingConfig parse_training_config(ConfigNode root, const TrainingOverrides& overrides) {
  for (const auto& [path, value] : assignments_of(overrides)) root.set(path, value);
  const ConfigSection checked("config", root, kRootKeys);
  if (!root.is_map()) throw root.error("config", root.shown(), "the keys model, loss, data, ...");
  TrainingConfig config;
  config.estimator.model_fn = parse_model(root);
  config.estimator.config = parse_run_config(root["run_config"]);
  if (overrides.model_dir) {
    // An empty name is refused, because an unset variable of a script would overwrite the folder of
    // the file.
    if (overrides.model_dir->empty()) {
      throw invalid_argument("--model_dir: got '', expected the name of a folder");
    }
    config.estimator.config.model_dir = *overrides.model_dir;
  }
  if (config.estimator.config.model_dir.empty()) {
    throw root.error("run_config", "no model_dir", "a folder, here or as --model_dir");
  }
  add_estimator(root, config);
  find_target(config);
  add_steps(root, overrides, config);
  add_data(root, config);
  config.text = root.text();
  return config;
}

TrainingConfig read_training_config(const std::string& path, const TrainingOverrides& overrides) {
  assignments_of(overrides);  // reports errors of the command before errors of the file
  return parse_training_config(ConfigNode::parse(read_file(default_file_system(), path), path),
                               overrides);
}

}  // namespace systole::app
