// The sections run_config and run_config.tpu_config.
#include "apps/systole/train/training_config.h"
#include "systole/session/targets/target.h"

namespace systole::app {
namespace {

constexpr ConfigKey kRunConfigKeys[] = {
    {"model_dir", "text", "required",
     "Folder of checkpoints and summaries; --model_dir overrides it."},
    {"master", "text", "",
     "`local` (a virtual TPU v2-8), `local:v3-8`, `grpc://host:port`; by default the TPU that the "
     "environment names (`TPU_NAME`), or `local`."},
    {"evaluation_master", "text", "", "The same for evaluation and prediction; by default master."},
    {"tf_random_seed", "integer", "", "Equal seeds give equal runs."},
    {"save_summary_steps", "integer", "100", "Steps between summaries; 0 for none."},
    {"save_checkpoints_steps", "integer", "", "Steps between checkpoints."},
    {"save_checkpoints_secs", "integer", "600",
     "Seconds between checkpoints; give one of the two. 0 for none."},
    {"keep_checkpoint_max", "integer", "5", "Number of newest checkpoints to keep; 0 for all."},
    {"keep_checkpoint_every_n_hours", "number", "10000",
     "Keep one checkpoint of each such period."},
    {"checkpoint_save_graph_def", "boolean", "true",
     "Write the graph with each checkpoint, `model.ckpt-N.meta`."},
    {"allow_weights_only", "boolean", "false",
     "Continue with the weights alone if the input position and random numbers are damaged."},
    {"log_step_count_steps", "integer", "100", "Steps between lines of the log; 0 for none."},
    {"cache_folder", "text", "",
     "Folder of the cache of compiled code; by default `SYSTOLE_CACHE_DIR` or `~/.cache/systole`."},
    {"tpu_config", "map", "", "Use of the TPU's cores."}};

constexpr ConfigKey kTpuConfigKeys[] = {
    {"iterations_per_loop", "integer or time", "",
     "Steps in one launch, or a time: `30s`; by default 2 with use_tpu, else as many as no hook "
     "needs to see."},
    {"num_shards", "integer", "", "Expected number of cores; another number is an error."},
    {"num_cores_per_replica", "integer", "", "1."},
    {"per_host_input_for_training", "text", "PER_HOST_V1",
     "How to split batches: PER_HOST_V1, PER_HOST_V2, PER_SHARD_V1 or BROADCAST."},
    {"eval_training_input_configuration", "text", "PER_HOST_V1", "PER_HOST_V1 or SLICED."},
    {"check", "text", "",
     "Treatment of findings that a TPU would refuse: `error` (the default with use_tpu), `warn`, "
     "`off`."},
    {"precision", "text", "full",
     "`tpu` rounds operands of products to bf16, as a TPU does by default."},
    {"hang_timeout_secs", "number", "1800",
     "Time after which a hanging input_fn, input, launch or host_call is an error; 0 for never."}};

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

// The name of a session target. Errors: no such target.
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
