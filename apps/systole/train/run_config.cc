// The sections run_config and run_config.tpu_config.
#include "apps/systole/train/training_config.h"
#include "systole/session/target.h"

namespace systole::app {
namespace {

constexpr ConfigKey kRunConfigKeys[] = {
    {"model_dir", "text", "required", "The folder of checkpoints and summaries; or --model_dir."},
    {"master", "text", "", "`local` (a virtual TPU v2-8), `local:v3-8`, `grpc://host:port`."},
    {"evaluation_master", "text", "",
     "The same for evaluation and prediction; master when absent."},
    {"tf_random_seed", "integer", "", "Equal seeds, equal runs."},
    {"save_summary_steps", "integer", "100", "Steps between summaries; 0: none."},
    {"save_checkpoints_steps", "integer", "", "Steps between checkpoints."},
    {"save_checkpoints_secs", "integer", "600",
     "Seconds between them; one of the two. 0: no checkpoints."},
    {"keep_checkpoint_max", "integer", "5", "The newest that are kept; 0: all."},
    {"keep_checkpoint_every_n_hours", "number", "10000", "One that is kept for good."},
    {"checkpoint_save_graph_def", "boolean", "true", "The graph beside each, `model.ckpt-N.meta`."},
    {"allow_weights_only", "boolean", "false",
     "Continues with the weights alone if what lies beside them (input position, random numbers) "
     "is "
     "damaged."},
    {"log_step_count_steps", "integer", "100", "Steps between lines of the log; 0: none."},
    {"cache_folder", "text", "",
     "Where compiled code is kept for the next process; `SYSTOLE_CACHE_DIR` or `~/.cache/systole` "
     "by "
     "default."},
    {"tpu_config", "map", "", "How the cores of a TPU are used."}};

constexpr ConfigKey kTpuConfigKeys[] = {
    {"iterations_per_loop", "integer or time", "",
     "Steps of one loop, or `30s`; 2 by default with use_tpu, otherwise as many as no hook needs "
     "to "
     "see."},
    {"num_shards", "integer", "", "The number of cores, to be compared with what there is."},
    {"num_cores_per_replica", "integer", "", "1."},
    {"per_host_input_for_training", "text", "PER_HOST_V1",
     "How batches are split: PER_HOST_V1, PER_HOST_V2, PER_SHARD_V1 or BROADCAST."},
    {"eval_training_input_configuration", "text", "PER_HOST_V1", "PER_HOST_V1 or SLICED."},
    {"check", "text", "",
     "What is done with what a TPU would refuse: `error` (the default with use_tpu), `warn`, "
     "`off`."},
    {"precision", "text", "full",
     "`tpu`: inputs of products are rounded to bf16, as a TPU does by default."},
    {"hang_timeout_secs", "number", "1800",
     "After so long, an input_fn, input, a launch or a host_call that hangs is an error; 0: "
     "never."}};

constexpr std::pair<const char*, InputPipelineConfig> kInputs[] = {
    {"PER_HOST_V1", InputPipelineConfig::PER_HOST_V1},
    {"PER_HOST_V2", InputPipelineConfig::PER_HOST_V2},
    {"PER_SHARD_V1", InputPipelineConfig::PER_SHARD_V1},
    {"BROADCAST", InputPipelineConfig::BROADCAST},
    {"SLICED", InputPipelineConfig::SLICED}};
constexpr std::pair<const char*, Check> kChecks[] = {
    {"error", Check::error}, {"warn", Check::warn}, {"off", Check::off}};
constexpr std::pair<const char*, Precision> kPrecisions[] = {{"full", Precision::full},
                                                             {"tpu", Precision::tpu}};

IterationsPerLoop iterations_of(const ConfigSection& s) {
  const std::string text = s.text("iterations_per_loop");
  try {
    return std::string_view(text);
  } catch (const Error&) {
    throw s.error("iterations_per_loop", "'" + text + "'", "a positive integer, or 30s, 2m, 1h");
  }
}

TPUConfig parse_tpu_config(const ConfigSection& s) {
  TPUConfig config;
  if (s.has("iterations_per_loop")) config.iterations_per_loop = iterations_of(s);
  config.num_shards = s.optional_integer("num_shards", 1);
  config.num_cores_per_replica = s.optional_integer("num_cores_per_replica", 1);
  config.per_host_input_for_training = s.choice<InputPipelineConfig>(
      "per_host_input_for_training", kInputs, InputPipelineConfig::PER_HOST_V1);
  config.eval_training_input_configuration = s.choice<InputPipelineConfig>(
      "eval_training_input_configuration", kInputs, InputPipelineConfig::PER_HOST_V1);
  if (s.has("check")) config.check = s.choice<Check>("check", kChecks, Check::error);
  config.precision = s.choice<Precision>("precision", kPrecisions, Precision::full);
  config.hang_timeout_secs = s.number("hang_timeout_secs", config.hang_timeout_secs);
  return config;
}

// What a TPU is called, for which there must be one.
std::string target_of(const ConfigSection& s, const std::string& key) {
  std::string target = s.text(key);
  try {
    if (!target.empty()) resolve_target(target, "");
  } catch (const Error& error) {
    throw s.find(key).placed(error);
  }
  return target;
}

}  // namespace

std::span<const ConfigKey> run_config_keys() { return kRunConfigKeys; }
std::span<const ConfigKey> tpu_config_keys() { return kTpuConfigKeys; }

RunConfig parse_run_config(const ConfigNode& node) {
  const ConfigSection s("run_config", node, kRunConfigKeys);
  const RunConfig defaults;
  RunConfig config{
      .master = target_of(s, "master"),
      .model_dir = s.text("model_dir"),
      .evaluation_master = target_of(s, "evaluation_master"),
      .tf_random_seed = s.optional_integer("tf_random_seed"),
      .save_summary_steps = s.integer("save_summary_steps", defaults.save_summary_steps, 0),
      .save_checkpoints_steps = s.optional_integer("save_checkpoints_steps", 0),
      .save_checkpoints_secs = s.optional_integer("save_checkpoints_secs", 0),
      .keep_checkpoint_max = s.integer("keep_checkpoint_max", defaults.keep_checkpoint_max, 0),
      .keep_checkpoint_every_n_hours =
          s.number("keep_checkpoint_every_n_hours", defaults.keep_checkpoint_every_n_hours),
      .checkpoint_save_graph_def =
          s.flag("checkpoint_save_graph_def", defaults.checkpoint_save_graph_def),
      .allow_weights_only = s.flag("allow_weights_only", defaults.allow_weights_only),
      .log_step_count_steps = s.integer("log_step_count_steps", defaults.log_step_count_steps, 0),
      .tpu_config = parse_tpu_config(
          ConfigSection("run_config.tpu_config", s.find("tpu_config"), kTpuConfigKeys))};
  config.session_config.cache_folder = s.text("cache_folder");
  try {
    config.validate();
  } catch (const Error& error) {
    throw node.placed(error);
  }
  return config;
}

}  // namespace systole::app
