#include "systole/estimator/estimator.h"

#include <unistd.h>

#include <cstdlib>
#include <regex>

#include "systole/base/log.h"
#include "systole/estimator/impl.h"
#include "systole/graph/api/tpu_ops.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/session/targets/target.h"
#include "systole/train/dependent_variables.h"
#include "systole/train/loop/share_variables.h"
#include "systole/train/loop/watchdog.h"
#include "systole/train/saver.h"

namespace systole {
namespace {

std::string temporary_folder() {
  const char* const base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr ? base : "/tmp") + "/systole_model_XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    throw make_error(Code::permission_denied, "model_dir: cannot make the folder '{}'", path);
  }
  return path;
}

void check_batch_size(std::string_view name, std::optional<int64_t> value) {
  if (value && *value <= 0) throw invalid_argument("{} must be positive, got {}", name, *value);
}

void check_options(const TPUEstimatorOptions& options, bool plain) {
  if (!options.model_fn) throw invalid_argument("model_fn must be provided to Estimator.");
  for (const char* key : {"batch_size", "context"}) {
    if (plain || !options.params.contains(key)) continue;
    throw invalid_argument("['batch_size', 'context'] are reserved keys but existed in params {}.",
                           options.params.to_string());
  }
  if (options.use_tpu && !options.train_batch_size) {
    throw invalid_argument("`train_batch_size` cannot be `None`");
  }
  check_batch_size("train_batch_size", options.train_batch_size);
  check_batch_size("eval_batch_size", options.eval_batch_size);
  check_batch_size("predict_batch_size", options.predict_batch_size);
  const TPUConfig& tpu = options.config.tpu_config;
  if (!options.use_tpu && tpu.eval_training_input_configuration == InputPipelineConfig::SLICED) {
    throw invalid_argument(
        "`eval_training_input_configuration` SLICED mode only works on use_tpu = True.");
  }
  if (!options.use_tpu && !options.eval_on_tpu) {
    log_warning("eval_on_tpu ignored because use_tpu is false.");
  }
  if (!options.model_dir.empty() && !options.config.model_dir.empty() &&
      options.model_dir != options.config.model_dir) {
    throw invalid_argument(
        "`model_dir` are set both in constructor and `RunConfig`, but with different values. In "
        "constructor: '{}', in `RunConfig`: '{}' ",
        options.model_dir, options.config.model_dir);
  }
}

int64_t count_replicas(const std::string& target) {
  Graph graph;
  const GraphScope scope(graph);
  Session session(target);
  return tpu::Topology::parse(session.run(tpu::initialize_system())).num_cores();
}

// Checks num_shards against the device; 1 selects one core.
int64_t checked_replicas(const RunConfig& config, const std::string& target, int64_t cores,
                         int64_t hosts) {
  const std::optional<int64_t> shards = config.tpu_config.num_shards;
  if (!shards || *shards == cores * hosts) return cores;
  if (hosts > 1 && *shards == hosts) return 1;
  if (*shards == 1 && hosts == 1) {
    log_warning("num_shards = 1: one of the {} cores of '{}' is used", cores, target);
    return 1;
  }
  throw invalid_argument(
      "TPUConfig.num_shards is not set correctly. According to TPU system metadata for Tensorflow "
      "master ({}): num_replicas should be ({}), got ({}). For non-model-parallelism, num_replicas "
      "should be the total num of TPU cores in the system.",
      target, cores * hosts, *shards);
}

std::regex pattern_of(const WarmStartSettings& settings) {
  try {
    return std::regex(settings.vars_to_warm_start);
  } catch (const std::regex_error& error) {
    throw invalid_argument(
        "warm_start_from: vars_to_warm_start, got '{}', expected a regular expression: {}",
        settings.vars_to_warm_start, error.what());
  }
}

// Returns the prefix of a SavedModel's variables if the path is its folder, otherwise the path.
std::string checkpoint_of(const std::string& path) {
  const std::string variables = join_path(path, "variables/variables");
  return bundle_exists(default_file_system(), variables) ? variables : path;
}

}  // namespace

TPUEstimator::Impl::Impl(TPUEstimatorOptions given, bool plain_estimator)
    : options(std::move(given)), plain(plain_estimator) {
  check_options(options, plain);
  config = options.config;
  if (!options.model_dir.empty()) config.model_dir = options.model_dir;
  config = config.with_environment();
  config.validate();
  if (config.model_dir.empty()) {
    config.model_dir = temporary_folder();
    temporary = true;
    log_warning("Using temporary folder as model directory: {}", config.model_dir);
  }
}

TPUEstimator::Impl::~Impl() {
  if (!temporary) return;
  try {
    remove_tree(default_file_system(), config.model_dir);
  } catch (const Error& error) {
    log_warning("{}", error.what());
  }
}

const TPUEstimator::Impl::Place& TPUEstimator::Impl::place(Mode mode) {
  const bool training = mode == Mode::train;
  const bool use_tpu = options.use_tpu && (mode != Mode::eval || options.eval_on_tpu);
  std::string target =
      training || config.evaluation_master.empty() ? config.master : config.evaluation_master;
  if (use_tpu && target.empty()) target = "local";
  // The virtual TPU. Other targets may be used without their cores as a TPU.
  if (!use_tpu && target.substr(0, target.find(':')) == "local") target = "";
  // Every process predicts for itself.
  const bool together = mode != Mode::predict;
  runtime::ProcessGroup* const processes = together ? runtime::process_group() : nullptr;
  if (processes != nullptr && processes->size() > 1 && !use_tpu) {
    throw unimplemented(
        "{}: use_tpu, got false in one of {} processes, expected true: cores of a TPU (target "
        "'local:N') are what processes train on together. SYSTOLE_MPI=0 runs each alone",
        training ? "train" : "evaluate", processes->size());
  }
  Place& found = places[fmt::format("{} {} {}", use_tpu, target, together)];
  if (found.target.empty() && use_tpu) {
    found = {.target = target,
             .replicas = checked_replicas(
                 config, target, count_replicas(target),
                 runtime::process_group() == nullptr ? 1 : runtime::process_group()->size()),
             .use_tpu = true,
             .core_memory = resolve_target(target, config.session_config.backend).memory_per_core,
             .processes = processes};
  } else if (!use_tpu) {
    found = {.target = target, .replicas = 1, .use_tpu = false};
  }
  return found;
}

estimator::InputOptions TPUEstimator::Impl::input_options(Mode mode) {
  const TPUConfig& tpu = config.tpu_config;
  const Place& where = place(mode);
  const bool sliced =
      mode != Mode::train && tpu.eval_training_input_configuration == InputPipelineConfig::SLICED;
  return {.mode = mode,
          .config = sliced ? InputPipelineConfig::SLICED : tpu.per_host_input_for_training,
          .replicas = where.replicas,
          .hosts = where.hosts(),
          .host = where.host(),
          .use_tpu = where.use_tpu,
          .batch_size = mode == Mode::train  ? options.train_batch_size
                        : mode == Mode::eval ? options.eval_batch_size
                                             : options.predict_batch_size,
          .params = options.params};
}

estimator::Input TPUEstimator::Impl::make_input(const InputFn& input_fn, Mode mode) {
  using train::Heartbeat;
  const auto input = std::make_shared<estimator::Input>();
  train::run_watched(config.tpu_config.hang_timeout_secs, kHangOption,
                     [input, input_fn, wanted = input_options(mode)](Heartbeat& heartbeat) {
                       const Heartbeat::Visit visit(heartbeat, "input_fn");
                       *input = estimator::make_input(input_fn, wanted);
                     });
  return std::move(*input);
}

estimator::Model TPUEstimator::Impl::trace(const estimator::Input& input, Mode mode) {
  const Place& where = place(mode);
  return estimator::trace(options.model_fn, input,
                          {.mode = mode,
                           .replicas = where.all_replicas(),
                           .hosts = where.hosts(),
                           .use_tpu = where.use_tpu,
                           .params = options.params,
                           .seed = config.tf_random_seed});
}

std::optional<uint64_t> TPUEstimator::Impl::entropy() const {
  if (config.session_config.entropy || !config.tf_random_seed) return config.session_config.entropy;
  return static_cast<uint64_t>(*config.tf_random_seed);
}

std::unique_ptr<Session> TPUEstimator::Impl::make_session(const estimator::Model& model,
                                                          const std::string& target) {
  SessionConfig session_config = config.session_config;
  session_config.graph = model.graph.get();
  session_config.entropy = entropy();
  auto session = std::make_unique<Session>(target, session_config);
  const GraphScope scope(*model.graph);
  session->run({variables_initializer(local_variables())});
  return session;
}

Scaffold TPUEstimator::Impl::ask_scaffold(const estimator::Model& model) {
  if (!model.spec.scaffold_fn) return {};
  const GraphScope scope(*model.graph);
  return model.spec.scaffold_fn();
}

std::string TPUEstimator::Impl::checkpoint_for(const std::string& given) const {
  if (!given.empty()) {
    if (bundle_exists(default_file_system(), given)) return given;
    std::string there = systole::latest_checkpoint(given);
    if (there.empty()) there = systole::latest_checkpoint(parent_path(given));
    throw not_found("checkpoint_path: checkpoint, got '{}', expected the prefix of one{}", given,
                    there.empty() ? "" : fmt::format(": the latest there is '{}'", there));
  }
  std::string latest = systole::latest_checkpoint(config.model_dir);
  if (!latest.empty() || !options.warm_start_from.ckpt_to_initialize_from.empty()) return latest;
  throw not_found(
      "Could not find trained model in model_dir: {}: train first, or give checkpoint_path",
      config.model_dir);
}

void TPUEstimator::Impl::restore(const estimator::Model& model, Session& session,
                                 const std::string& given) const {
  const Saver saver({.var_list = model.variables(graph_keys::global_variables)});
  if (!given.empty()) {
    log_info("Restoring parameters from {}", given);
    saver.restore(session, given);
    return;
  }
  const RestoredCheckpoint found =
      saver.restore_latest(session, config.model_dir, {.variables_only = true});
  if (!found.prefix.empty()) {
    log_info("Restoring parameters from {}", found.prefix);
    return;
  }
  log_info("Could not find trained model in model_dir: {}, running initialization.",
           config.model_dir);
  initialize(model, session, {});
}

void TPUEstimator::Impl::require_checkpoint(const std::string& given, Mode mode) {
  if (place(mode).host() == 0) static_cast<void>(checkpoint_for(given));
}

void TPUEstimator::Impl::shared_restore(const estimator::Model& model, Session& session,
                                        const std::string& given, Mode mode) {
  const Place& where = place(mode);
  if (where.host() == 0) restore(model, session, given);
  if (where.hosts() == 1) return;
  train::share_variables(session, model.variables(graph_keys::global_variables), *where.processes);
}

void TPUEstimator::Impl::warm_start(const estimator::Model& model, Session& session) const {
  const WarmStartSettings& settings = options.warm_start_from;
  if (settings.ckpt_to_initialize_from.empty()) return;
  const std::regex wanted = pattern_of(settings);
  AssignmentMap map;
  std::vector<Variable> started;
  for (const Variable& variable : model.variables(graph_keys::trainable_variables)) {
    // Matches from the start of the name, as Python's re.match.
    if (!std::regex_search(variable.name(), wanted, std::regex_constants::match_continuous)) {
      continue;
    }
    const auto previous = settings.var_name_to_prev_var_name.find(variable.name());
    started.push_back(variable);
    map.emplace_back(
        previous == settings.var_name_to_prev_var_name.end() ? variable.name() : previous->second,
        variable.name());
  }
  if (map.empty()) {
    throw invalid_argument(
        "warm_start_from: vars_to_warm_start, got '{}', expected a pattern of the "
        "name of a trainable variable",
        settings.vars_to_warm_start);
  }
  const std::string checkpoint = checkpoint_of(settings.ckpt_to_initialize_from);
  const int count = [&] {
    try {
      return init_from_checkpoint(session, checkpoint, map);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("warm_start_from: '{}': {}",
                                            settings.ckpt_to_initialize_from, error.message()));
    }
  }();
  initialize_dependents(session, started);
  log_info("Warm-starting {} variables from {}", count, checkpoint);
}

void TPUEstimator::Impl::initialize(const estimator::Model& model, Session& session,
                                    const Scaffold& scaffold) const {
  const GraphScope scope(*model.graph);
  session.run({global_variables_initializer()});
  warm_start(model, session);
  if (scaffold.init_fn) scaffold.init_fn(session);
}

std::optional<IterationsPerLoop> TPUEstimator::Impl::iterations_per_loop() {
  const auto& chosen = config.tpu_config.iterations_per_loop;
  return chosen || !place(Mode::train).use_tpu ? chosen : IterationsPerLoop(2);
}

TPUEstimator::TPUEstimator(TPUEstimatorOptions options)
    : impl_(std::make_unique<Impl>(std::move(options), false)) {}
TPUEstimator::TPUEstimator(TPUEstimatorOptions options, Plain)
    : impl_(std::make_unique<Impl>(std::move(options), true)) {}
TPUEstimator::~TPUEstimator() = default;
TPUEstimator::TPUEstimator(TPUEstimator&&) noexcept = default;
TPUEstimator& TPUEstimator::operator=(TPUEstimator&&) noexcept = default;

TPUEstimator& TPUEstimator::train(const InputFn& input_fn, const TrainOptions& options) {
  impl_->train(input_fn, options);
  return *this;
}

Evaluation TPUEstimator::evaluate(const InputFn& input_fn, const EvaluateOptions& options) {
  return impl_->evaluate(input_fn, options);
}

PredictionRange TPUEstimator::predict(const InputFn& input_fn, const PredictOptions& options) {
  return impl_->predict(input_fn, options);
}

CheckReport TPUEstimator::check(const InputFn& input_fn, Mode mode) {
  return impl_->check(input_fn, mode);
}

std::string TPUEstimator::export_saved_model(
    const std::string& export_dir_base, const ServingInputReceiverFn& serving_input_receiver_fn,
    const ExportSavedModelOptions& options) {
  return impl_->export_saved_model(export_dir_base, serving_input_receiver_fn, options);
}

const std::string& TPUEstimator::model_dir() const { return impl_->config.model_dir; }
const RunConfig& TPUEstimator::config() const { return impl_->config; }
const Params& TPUEstimator::params() const { return impl_->options.params; }

std::string TPUEstimator::latest_checkpoint() const {
  return systole::latest_checkpoint(impl_->config.model_dir);
}

std::vector<std::string> TPUEstimator::get_variable_names() const {
  BundleReader reader(default_file_system(), impl_->checkpoint_for(""));
  return reader.keys();
}

Tensor TPUEstimator::get_variable_value(const std::string& name) const {
  BundleReader reader(default_file_system(), impl_->checkpoint_for(""));
  return reader.read(name);
}

Estimator::Estimator(EstimatorOptions options)
    : TPUEstimator({.model_fn = std::move(options.model_fn),
                    .model_dir = std::move(options.model_dir),
                    .config = std::move(options.config),
                    .params = std::move(options.params),
                    .use_tpu = false,
                    .warm_start_from = std::move(options.warm_start_from)},
                   Plain()) {}

}  // namespace systole
