#include "systole/base/log.h"
#include "systole/base/number_text.h"
#include "systole/estimator/impl.h"
#include "systole/estimator/modes/host_calls.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/train/loop/model_dir_lock.h"
#include "systole/train/loop/signals.h"
#include "systole/train/loop/train_loop.h"

namespace systole {
namespace {

using estimator::Model;
using train::Heartbeat;
using train::TrainLoop;

void check_steps(const TrainOptions& options, bool use_tpu) {
  if (options.steps && options.max_steps) {
    throw invalid_argument("Can not provide both steps and max_steps.");
  }
  if (options.steps && *options.steps <= 0) {
    throw invalid_argument("Must specify steps > 0, given: {}", *options.steps);
  }
  if (options.max_steps && *options.max_steps <= 0) {
    throw invalid_argument("Must specify max_steps > 0, given: {}", *options.max_steps);
  }
  if (use_tpu && !options.steps && !options.max_steps) {
    throw invalid_argument(
        "For TPU training, one of `steps` or `max_steps` must be set. Cannot be both `None`.");
  }
}

// `lock` may be null.
train::TrainRecords records_of(const RunConfig& config, const TrainOptions& options,
                               std::shared_ptr<const ModelDirLock> lock) {
  train::TrainRecords records{
      .directory = config.model_dir,
      .saver = {.max_to_keep = static_cast<int>(config.keep_checkpoint_max),
                .keep_checkpoint_every_n_hours = config.keep_checkpoint_every_n_hours,
                .write_meta_graph = config.checkpoint_save_graph_def},
      .restore = {.allow_weights_only = config.allow_weights_only},
      .listeners = options.saving_listeners,
      .save_summary_steps = config.save_summary_steps,
      .log_step_count_steps = config.log_step_count_steps};
  const int64_t steps = config.save_checkpoints_steps.value_or(0);
  const int64_t secs = config.save_checkpoints_secs.value_or(0);
  const bool by_default = !config.save_checkpoints_steps && !config.save_checkpoints_secs;
  if (steps > 0) {
    records.save_checkpoints_steps = steps;
  } else if (secs > 0 || by_default) {
    records.save_checkpoints_secs = by_default ? 600 : static_cast<double>(secs);
  }
  if (lock != nullptr) records.before_save = [lock = std::move(lock)] { lock->check(); };
  return records;
}

train::TrainStep step_of(const Model& model, const estimator::Input& input,
                         const runtime::ProgramOptions& program, runtime::ProcessGroup* processes) {
  return {.inputs = model.inputs,
          .input_names = model.input_names,
          .loss = model.spec.loss,
          .each_step = estimator::host_call_fetches(model.spec.host_call, {}),
          .replicas = input.replicas,
          .program = program,
          .processes = processes};
}

std::vector<TensorType> batch_types(const estimator::Input& input) {
  std::vector<TensorType> types = input.features.flatten();
  const std::vector<TensorType> labels = input.labels.flatten();
  types.insert(types.end(), labels.begin(), labels.end());
  return types;
}

// The train_op, and the updates of moving averages, which the model_fn may have forgotten.
std::vector<Operation> targets_of(const Model& model) {
  std::vector<Operation> all = {model.spec.train_op};
  for (const Operation& update : model.graph->collection<Operation>(graph_keys::update_ops)) {
    all.push_back(update);
  }
  return all;
}

// Calls the host_call for the steps of each launch; null without one.
std::function<void(const train::StepValues&, Heartbeat&)> caller_of(const HostCall& host_call,
                                                                    const estimator::Input& input,
                                                                    int64_t every) {
  if (!host_call) return nullptr;
  const bool first_replica = input.layout == estimator::Layout::broadcast;
  return [host_call, first_replica, every](const train::StepValues& steps, Heartbeat& heartbeat) {
    estimator::run_host_calls(host_call, steps.values,
                              {.first = steps.first,
                               .steps = steps.steps,
                               .in_loop = steps.in_loop,
                               .every = every,
                               .first_replica = first_replica},
                              heartbeat);
  };
}

std::shared_ptr<SessionRunHook> capture_hook(ProfileOptions options, const std::string& model_dir) {
  if (options.output_dir.empty()) options.output_dir = model_dir;
  return std::make_shared<CaptureHook>(std::move(options));
}

void log_end(const TrainLoop& loop, TrainLoop::End end) {
  const char* const signal = StopSignals::received();
  if (end == TrainLoop::End::stopped && signal != nullptr) {
    log_warning("{}: training stops after step {}, which is saved", signal, loop.global_step());
  }
  if (end == TrainLoop::End::input && loop.last_step() != INT64_MAX) {
    log_warning("input: ended after step {} of {}, expected as many batches, or repeat()",
                loop.global_step(), loop.last_step());
  }
}

// `reports`: of several processes one says the loss.
void run(TrainLoop& loop, bool reports, Heartbeat& heartbeat) {
  const TrainLoop::End end = loop.run_until(loop.last_step(), heartbeat);
  if (end == TrainLoop::End::input && loop.steps_run() == 0) {
    throw invalid_argument(
        "input_fn: batches, got none, expected at least one: the input is empty, all of it is "
        "filtered out, or drop_remainder drops all because a batch is larger than the input");
  }
  log_end(loop, end);
  loop.finish(heartbeat);
  if (const auto loss = loop.last_loss(); loss && reports) {
    log_info("Loss for final step: {}.", number_text(Tensor(static_cast<float>(*loss))));
  }
}

}  // namespace

void TPUEstimator::Impl::train(const InputFn& input_fn, const TrainOptions& given) {
  const Place& where = place(Mode::train);
  check_steps(given, where.use_tpu);
  default_file_system().make_directories(config.model_dir);
  // A thread that hangs keeps the folder locked. Of several processes the first writes.
  const auto lock = where.host() == 0 ? std::make_shared<const ModelDirLock>(config.model_dir)
                                      : std::shared_ptr<const ModelDirLock>();
  const estimator::Input input = make_input(input_fn, Mode::train);
  const Model model = trace(input, Mode::train);
  check(model, Mode::train);
  HookList hooks = given.hooks;
  hooks.insert(hooks.end(), model.spec.training_hooks.begin(), model.spec.training_hooks.end());
  if (given.profile) hooks.push_back(capture_hook(*given.profile, config.model_dir));
  const auto scaffold = std::make_shared<Scaffold>();
  const TPUConfig& tpu = config.tpu_config;
  const auto loop = std::make_shared<TrainLoop>(train::TrainLoopOptions{
      .graph = model.graph,
      .step = step_of(model, input, program_options(), where.processes),
      .complete_graph =
          [&] {
            *scaffold = ask_scaffold(model);
            return targets_of(model);
          },
      .make_session = [&] { return make_session(model, where.target); },
      .initialize = [&](Session& session) { initialize(model, session, *scaffold); },
      .input = estimator::step_source(input, /*pad=*/false),
      .batch = batch_types(input),
      .fixed_batch = where.use_tpu,
      .entropy = entropy(),
      .steps = given.steps,
      .max_steps = given.max_steps,
      .iterations_per_loop = iterations_per_loop(),
      .hooks = std::move(hooks),
      .records = records_of(config, given, lock),
      .on_steps =
          caller_of(model.spec.host_call, input,
                    where.use_tpu ? tpu.experimental_host_call_every_n_steps.value_or(1) : 1)});
  if (given.max_steps && loop->global_step() >= *given.max_steps) {
    log_info("Skipping training since max_steps has already saved.");
    return;
  }
  const StopSignals signals(
      "finishing the steps under way and saving; again to stop without saving");
  train::run_watched(tpu.hang_timeout_secs, kHangOption,
                     [lock, loop, reports = where.host() == 0](Heartbeat& heartbeat) {
                       run(*loop, reports, heartbeat);
                     });
}

}  // namespace systole
