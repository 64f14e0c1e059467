#include "systole/estimator/config.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "systole/base/error.h"
#include "systole/base/log.h"

namespace systole {
namespace {

void check_positive(std::string_view what, std::optional<int64_t> value) {
  if (value && *value <= 0) throw invalid_argument("{} must be positive, got {}", what, *value);
}

void check_not_negative(std::string_view what, std::optional<int64_t> value) {
  if (value && *value < 0)
    throw invalid_argument("RunConfig: {}, got {}, expected >= 0", what, *value);
}

}  // namespace

void TPUConfig::validate() const {
  if (!(hang_timeout_secs >= 0)) {
    throw invalid_argument("TPUConfig: hang_timeout_secs, got {}, expected >= 0",
                           hang_timeout_secs);
  }
  check_positive("num_shards", num_shards);
  check_positive("experimental_host_call_every_n_steps", experimental_host_call_every_n_steps);
  if (num_cores_per_replica) {
    constexpr std::array<int64_t, 8> kAllowed = {1, 2, 4, 8, 16, 32, 64, 128};
    if (std::ranges::find(kAllowed, *num_cores_per_replica) == kAllowed.end()) {
      throw invalid_argument(
          "TPUConfig: num_cores_per_replica, got {}, expected one of 1, 2, 4, 8, 16, 32, 64, 128",
          *num_cores_per_replica);
    }
    if (*num_cores_per_replica != 1) {
      throw unimplemented(
          "TPUConfig: num_cores_per_replica, got {}, expected 1: a model over several cores is not "
          "built yet",
          *num_cores_per_replica);
    }
  }
  if (per_host_input_for_training == InputPipelineConfig::SLICED) {
    throw invalid_argument(
        "TPUConfig: per_host_input_for_training, got SLICED, expected PER_SHARD_V1, PER_HOST_V1, "
        "PER_HOST_V2 or BROADCAST");
  }
  if (eval_training_input_configuration != InputPipelineConfig::PER_HOST_V1 &&
      eval_training_input_configuration != InputPipelineConfig::SLICED) {
    throw invalid_argument("eval_training_input_configuration could only be PER_HOST_V1 or SLICED");
  }
}

void RunConfig::validate() const {
  tpu_config.validate();
  if (save_checkpoints_steps && save_checkpoints_secs && *save_checkpoints_steps != 0 &&
      *save_checkpoints_secs != 0) {
    throw invalid_argument(
        "Can not provide both save_checkpoints_steps and save_checkpoints_secs.");
  }
  check_not_negative("save_summary_steps", save_summary_steps);
  check_not_negative("save_checkpoints_steps", save_checkpoints_steps);
  check_not_negative("save_checkpoints_secs", save_checkpoints_secs);
  check_not_negative("keep_checkpoint_max", keep_checkpoint_max);
  check_not_negative("log_step_count_steps", log_step_count_steps);
  if (!(keep_checkpoint_every_n_hours > 0)) {
    throw invalid_argument("RunConfig: keep_checkpoint_every_n_hours, got {}, expected > 0",
                           keep_checkpoint_every_n_hours);
  }
}

RunConfig RunConfig::with_environment() const {
  RunConfig config = *this;
  const char* const text = std::getenv("TF_CONFIG");
  if (text == nullptr || *text == '\0') return config;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw invalid_argument("TF_CONFIG: value, got '{}', expected a JSON object", text);
  }
  if (json.contains("cluster") || json.contains("task")) {
    log_once(
        LogLevel::warning,
        "TF_CONFIG: 'cluster' and 'task' are ignored: a launcher (mpirun) starts the processes, "
        "see docs/clusters.md");
  }
  const auto take = [&](const char* key, std::string& field) {
    const auto it = json.find(key);
    if (it == json.end() || !field.empty()) return;
    if (!it->is_string()) {
      throw invalid_argument("TF_CONFIG: '{}', got {}, expected a text", key, it->dump());
    }
    field = it->get<std::string>();
  };
  if (json.contains("model_dir") && !model_dir.empty() && json["model_dir"].is_string() &&
      json["model_dir"].get<std::string>() != model_dir) {
    throw invalid_argument(
        "`model_dir` provided in RunConfig construct, if set, must have the same value as the "
        "model_dir in TF_CONFIG environment variable, got '{}' and '{}'",
        model_dir, json["model_dir"].get<std::string>());
  }
  take("model_dir", config.model_dir);
  take("session_master", config.master);
  take("eval_session_master", config.evaluation_master);
  return config;
}

}  // namespace systole
