#include "systole/cluster/tf_config_cluster_resolver.h"

#include <nlohmann/json.hpp>

#include "systole/base/environment.h"
#include "systole/base/error.h"

namespace systole {
namespace {

constexpr const char* kTfConfig = "TF_CONFIG";

// Returns null if the field is absent. Errors: INVALID_ARGUMENT for another kind of value.
const nlohmann::json* tf_config_field(const nlohmann::json& json, const char* name,
                                      nlohmann::json::value_t kind, const char* expected) {
  if (!json.contains(name)) return nullptr;
  const auto& value = json[name];
  const bool number = kind == nlohmann::json::value_t::number_integer && value.is_number_integer();
  if (value.type() != kind && !number) {
    throw invalid_argument("{}: '{}', got {}, expected {}", kTfConfig, name, value.dump(),
                           expected);
  }
  return &value;
}

std::string tf_config_text(const nlohmann::json& json, const char* name) {
  const auto* value = tf_config_field(json, name, nlohmann::json::value_t::string, "a text");
  return value == nullptr ? "" : value->get<std::string>();
}

ClusterSpec parse_cluster(const nlohmann::json& json) {
  ClusterSpec cluster;
  for (const auto& [job, tasks] : json.items()) {
    bool texts = tasks.is_array();
    for (size_t i = 0; texts && i < tasks.size(); ++i) texts = tasks[i].is_string();
    if (!texts) {
      throw invalid_argument("{}: job '{}', got {}, expected a list of \"host:port\"", kTfConfig,
                             job, tasks.dump());
    }
    cluster[job] = tasks.get<std::vector<std::string>>();
  }
  return cluster;
}

}  // namespace

TFConfigClusterResolver::TFConfigClusterResolver(const Options& options) {
  using Kind = nlohmann::json::value_t;
  const std::string text = environment_value(kTfConfig);
  const auto json =
      text.empty() ? nlohmann::json::object() : nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    throw invalid_argument("{}: value, got '{}', expected a JSON object", kTfConfig, text);
  }
  if (const auto* cluster = tf_config_field(json, "cluster", Kind::object, "an object of jobs")) {
    cluster_ = parse_cluster(*cluster);
  }
  if (const auto* task = tf_config_field(json, "task", Kind::object, "an object")) {
    task_type_ = tf_config_text(*task, "type");
    const auto* index = tf_config_field(*task, "index", Kind::number_integer, "a number");
    if (index != nullptr) task_id_ = index->get<int>();
  }
  rpc_layer_ = tf_config_text(json, "rpc_layer");
  environment_ = tf_config_text(json, "environment");
  session_master_ = tf_config_text(json, "session_master");
  if (options.task_type) task_type_ = *options.task_type;
  if (options.task_id) task_id_ = *options.task_id;
  if (options.rpc_layer) rpc_layer_ = *options.rpc_layer;
  if (options.environment) environment_ = *options.environment;
  if (rpc_layer_.empty()) rpc_layer_ = "grpc";
}

std::string TFConfigClusterResolver::master() const {
  if (!session_master_.empty()) return session_master_;
  size_t tasks = 0;
  for (const auto& [job, addresses] : cluster_) tasks += addresses.size();
  return tasks <= 1 ? "" : master(task_type_, task_id_);
}

std::string TFConfigClusterResolver::master(const std::string& task_type, int task_id) const {
  return rpc_layer_ + "://" + task_address("TFConfigClusterResolver", cluster_, task_type, task_id);
}

}  // namespace systole
