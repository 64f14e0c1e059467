#include "systole/cluster/kubernetes_cluster_resolver.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/base/text.h"
#include "systole/io/local/local_file_system.h"

namespace systole {
namespace {

std::string nested_text(const nlohmann::json& json, const char* outer, const char* inner) {
  if (!json.is_object() || !json.contains(outer) || !json[outer].is_object()) return "";
  const auto& object = json[outer];
  if (!object.contains(inner) || !object[inner].is_string()) return "";
  return object[inner].get<std::string>();
}

}  // namespace

KubernetesClusterResolver::KubernetesClusterResolver(Options options)
    : options_(std::move(options)) {
  if (!options_.api_server.empty()) return;
  const std::string host = environment_value("KUBERNETES_SERVICE_HOST");
  const std::string port = environment_value("KUBERNETES_SERVICE_PORT");
  if (host.empty()) {
    throw not_found(
        "KubernetesClusterResolver: KUBERNETES_SERVICE_HOST is not set, expected a process in a "
        "pod");
  }
  options_.api_server =
      fmt::format("https://{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]",
                  port.empty() ? "443" : port);
}

std::vector<std::string> KubernetesClusterResolver::addresses(const std::string& selector) const {
  const std::string scope =
      options_.name_space.empty()
          ? "pods"
          : "namespaces/" + http::percent_encoded(options_.name_space) + "/pods";
  const std::string url = fmt::format("{}/api/v1/{}?labelSelector={}", options_.api_server, scope,
                                      http::percent_encoded(selector));
  const std::string what = "KubernetesClusterResolver: cannot list pods at " + url;
  FileSystem& disk = local_file_system();
  const std::string token = options_.service_account + "/token";
  const std::string ca_file = options_.service_account + "/ca.crt";
  const auto response = http::send_retried(
      http::shared_http_client(), options_.retries,
      {.what = what, .make = [&](int) {
         http::HttpRequest request{.url = url, .timeout = std::chrono::seconds(60)};
         request.direct = true;
         // Kubernetes replaces the token about once an hour.
         if (disk.exists(token)) {
           const std::string file = read_file(disk, token);
           const std::string text(without_blanks(file, " \t\r\n"));
           request.headers = {{"Authorization", "Bearer " + text}};
         }
         if (disk.exists(ca_file)) request.ca_file = ca_file;
         return request;
       }});
  if (response.status != 200) {
    const auto json = nlohmann::json::parse(response.body, nullptr, false);
    const bool status = json.is_object() && json.contains("message") && json["message"].is_string();
    throw http::http_error(what, response, status ? json["message"].get<std::string>() : "");
  }
  return parse_kubernetes_pods(what, response.body, options_.tf_server_port);
}

std::vector<std::string> parse_kubernetes_pods(const std::string& what, const std::string& text,
                                               int port) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("items") || !json["items"].is_array()) {
    throw make_error(Code::data_loss, "{}, got no list of items", what);
  }
  std::vector<std::pair<std::string, std::string>> pods;
  for (const auto& pod : json["items"]) {
    const std::string name = nested_text(pod, "metadata", "name");
    const std::string phase = nested_text(pod, "status", "phase");
    if (phase != "Running") {
      throw make_error(Code::unavailable,
                       "KubernetesClusterResolver: pod \"{}\" is not running; phase: \"{}\"", name,
                       phase);
    }
    pods.emplace_back(name, fmt::format("{}:{}", nested_text(pod, "status", "hostIP"), port));
  }
  std::ranges::sort(pods);
  std::vector<std::string> result;
  for (auto& [name, address] : pods) result.push_back(std::move(address));
  return result;
}

ClusterSpec KubernetesClusterResolver::cluster_spec() const {
  ClusterSpec cluster;
  for (const auto& [job, selectors] : options_.job_to_label_mapping) {
    for (const std::string& selector : selectors) {
      std::ranges::move(addresses(selector), std::back_inserter(cluster[job]));
    }
  }
  return cluster;
}

std::string KubernetesClusterResolver::master(const std::string& task_type, int task_id) const {
  return options_.rpc_layer + "://" +
         task_address("KubernetesClusterResolver", cluster_spec(), task_type, task_id);
}

}  // namespace systole
