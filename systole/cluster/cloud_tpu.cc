#include "systole/cluster/cloud_tpu.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/base/escape.h"
#include "systole/cluster/cluster_spec.h"
#include "systole/io/buckets/google_credentials.h"

namespace systole {
namespace {

using Json = nlohmann::json;

constexpr const char* kTpuApi = "https://tpu.googleapis.com/";
constexpr std::chrono::seconds kRecentSymptom{90};
// States by number, as old versions of the API write them.
constexpr const char* kStates[] = {"STATE_UNSPECIFIED", "CREATING", "READY",     "RESTARTING",
                                   "REIMAGING",         "DELETING", "REPAIRING", "",
                                   "STOPPED",           "STOPPING", "STARTING",  "PREEMPTED",
                                   "TERMINATED",        "HIDING",   "HIDDEN",    "UNHIDING"};
constexpr const char* kHealths[] = {"HEALTH_UNSPECIFIED",   "HEALTHY",
                                    "DEPRECATED_UNHEALTHY", "TIMEOUT",
                                    "UNHEALTHY_TENSORFLOW", "UNHEALTHY_MAINTENANCE"};

std::string json_text(const Json& json, const char* field) {
  if (!json.is_object() || !json.contains(field)) return "";
  const Json& value = json[field];
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? value.dump() : "";
}

// A name of an enumeration, or its number.
template <size_t kCount>
std::string enum_text(const Json& json, const char* field, const char* const (&names)[kCount]) {
  if (!json.contains(field) || !json[field].is_number_unsigned()) return json_text(json, field);
  const auto number = json[field].get<size_t>();
  return number < kCount ? names[number] : json[field].dump();
}

const Json* json_list(const Json& json, const char* field) {
  return json.contains(field) && json[field].is_array() ? &json[field] : nullptr;
}

}  // namespace

class CloudTpu::Tokens {
 public:
  Tokens(http::HttpClient& client, const http::RetryOptions& retries, std::string given)
      : credentials_(client, retries), given_(std::move(given)) {}

  std::string token() { return given_ == "default" ? credentials_.token() : given_; }
  // Returns whether another token may be accepted.
  bool renew() {
    if (given_ != "default") return false;
    credentials_.forget(credentials_.token());
    return true;
  }

 private:
  buckets::GoogleCredentials credentials_;
  const std::string given_;
};

CloudTpu::CloudTpu(const CloudTpuOptions& options)
    : options_(options),
      client_(options.client == nullptr ? http::shared_http_client() : *options.client),
      tokens_(std::make_unique<Tokens>(client_, options.retries, options.credentials)) {
  if (options_.tpu.starts_with("projects/")) {
    full_name_ = options_.tpu;
  } else {
    const auto given_or_asked = [&](const std::string& given, const char* path) {
      if (!given.empty()) return given;
      const std::string value = buckets::metadata_value(client_, path);
      return value.substr(value.rfind('/') + 1);  // "projects/123/zones/us-central1-b"
    };
    const std::string project = given_or_asked(options_.project, "project/project-id");
    const std::string zone = given_or_asked(options_.zone, "instance/zone");
    full_name_ = fmt::format("projects/{}/locations/{}/nodes/{}", project, zone, options_.tpu);
  }
  std::string discovery = environment_value("TPU_API_DISCOVERY_URL");
  if (discovery.empty()) discovery = options_.discovery_url;
  base_ = discovery.empty() ? kTpuApi : discovered_base(discovery);
}

CloudTpu::~CloudTpu() = default;

std::string CloudTpu::discovered_base(const std::string& url) {
  const std::string what = url + ": cannot read the discovery document";
  const auto response = http::send_retried(
      client_, options_.retries,
      {.what = what, .make = [&](int) { return http::HttpRequest{.url = url}; }});
  if (response.status != 200) throw http::http_error(what, response);
  const Json json = Json::parse(response.body, nullptr, false);
  const std::string root = json_text(json, "rootUrl");
  if (root.empty()) {
    throw make_error(Code::data_loss, "{}, got no rootUrl in it, expected a text", what);
  }
  if (!http::keeps_secrets(root)) {
    throw invalid_argument("{}, got the rootUrl '{}', expected https", what,
                           escaped(root, {.ascii = true}));
  }
  const std::string base = root + json_text(json, "servicePath");
  return base.ends_with('/') ? base : base + "/";
}

CloudTpuNode CloudTpu::node() {
  const std::string url = base_ + "v1/" + http::percent_encoded(full_name_, true);
  const std::string what = fmt::format("TPU '{}': cannot get {}", options_.tpu, url);
  const auto response = http::send_retried(
      client_, options_.retries,
      {.what = what,
       .make =
           [&](int) {
             return http::HttpRequest{.url = url,
                                      .headers = {{"Authorization", "Bearer " + tokens_->token()}},
                                      .timeout = std::chrono::seconds(60)};
           },
       .recover =
           [&](const http::HttpResponse& answer) {
             return answer.status == 401 && tokens_->renew();
           }});
  if (response.status != 200) {
    throw http::http_error(what, response, http::json_error_text(response.body));
  }
  return parse_cloud_tpu_node(what, response.body);
}

CloudTpuNode parse_cloud_tpu_node(const std::string& what, const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  CloudTpuNode node;
  if (!json.is_object()) throw make_error(Code::data_loss, "{}, got no JSON object", what);
  node.name = json_text(json, "name");
  node.state = enum_text(json, "state", kStates);
  node.health = enum_text(json, "health", kHealths);
  node.accelerator_type = json_text(json, "acceleratorType");
  node.runtime_version = json_text(json, "tensorflowVersion");
  if (node.state.empty()) throw make_error(Code::data_loss, "{}, got no state of the node", what);
  if (json.contains("schedulingConfig") && json["schedulingConfig"].is_object()) {
    node.preemptible = json["schedulingConfig"].value("preemptible", false);
  }
  if (const Json* endpoints = json_list(json, "networkEndpoints")) {
    for (const Json& endpoint : *endpoints) {
      const std::string port = json_text(endpoint, "port");
      node.endpoints.push_back(json_text(endpoint, "ipAddress") + ":" +
                               (port.empty() ? "8470" : port));
    }
  } else if (!json_text(json, "ipAddress").empty()) {
    // Before networkEndpoints there was one address.
    node.endpoints.push_back(json_text(json, "ipAddress") + ":" + json_text(json, "port"));
  }
  if (const Json* symptoms = json_list(json, "symptoms")) {
    for (const Json& symptom : *symptoms) {
      node.symptoms.push_back(
          {.type = json_text(symptom, "symptomType"),
           .created_ns = http::parse_rfc3339(json_text(symptom, "createTime")).value_or(0)});
    }
  }
  return node;
}

bool is_recoverable(const CloudTpuNode& node, Clock& clock) {
  if (node.state == "TERMINATED" || node.state == "PREEMPTED") return false;
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock.now().time_since_epoch());
  for (const CloudTpuSymptom& symptom : node.symptoms) {
    const bool memory = symptom.type == "OUT_OF_MEMORY" || symptom.type == "HBM_OUT_OF_MEMORY";
    if (memory && now - std::chrono::nanoseconds(symptom.created_ns) < kRecentSymptom) return false;
  }
  return true;
}

}  // namespace systole
