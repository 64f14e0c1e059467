#include "systole/cluster/tpu_cluster_resolver.h"

#include <nlohmann/json.hpp>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/number_text.h"
#include "systole/cluster/cloud_tpu.h"
#include "systole/session/targets/target.h"

namespace systole {
namespace {

constexpr std::string_view kGrpc = "grpc://";
constexpr const char* kSources =
    "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS, TPU_NAME, TPU_CONFIG and COLAB_TPU_ADDR are not set";

std::string one_name(const char* argument, const TPUNames& names) {
  if (names.names().empty() && names.is_list()) {
    throw invalid_argument("TPUClusterResolver: {}, got an empty list, expected a name", argument);
  }
  if (names.names().size() > 1) {
    throw unimplemented("TPUClusterResolver: {}, got a list of {} TPUs, expected one", argument,
                        names.names().size());
  }
  return names.names().empty() ? "" : names.names().front();
}

// "", given as the name.
bool is_this_machine(const TPUNames& names) {
  return !names.is_list() && names.names().size() == 1 && names.names()[0].empty();
}

struct TpuConfig {
  std::string name;
  std::string project;
  std::string zone;
};

TpuConfig parse_tpu_config(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto field = [&](const char* name) -> std::string {
    if (!json.is_object() || !json.contains(name) || !json[name].is_string()) return "";
    return json[name].get<std::string>();
  };
  TpuConfig config{field("tpu_node_name"), field("project"), field("zone")};
  if (config.name.empty()) {
    throw invalid_argument(
        "TPU_CONFIG: value, got '{}', expected JSON such as "
        "{{\"tpu_node_name\": \"n\", \"project\": \"p\", \"zone\": \"z\"}}",
        text);
  }
  return config;
}

std::string without_grpc(std::string_view address) {
  if (address.starts_with(kGrpc)) address.remove_prefix(kGrpc.size());
  return std::string(address);
}

// Whether the text is "host:port" of a worker without its scheme.
bool is_bare_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() &&
         text.find_first_not_of("0123456789", colon + 1) == std::string_view::npos &&
         text.find('/') == std::string_view::npos;
}

// Errors: INVALID_ARGUMENT for text that is no "host:port".
void check_address(const std::string& address, const std::string& name, const std::string& source) {
  const size_t colon = address.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : parse_number<int64_t>(std::string_view(address).substr(colon + 1));
  if (colon != 0 && port && *port > 0 && *port < 65536) return;
  throw invalid_argument("TPUClusterResolver: tpu, got '{}', expected grpc://host:port ({})", name,
                         source);
}

bool may_come_back(const CloudTpuNode& node) {
  return is_recoverable(node) && node.state != "STOPPED" && node.state != "DELETING" &&
         node.state != "HIDDEN";
}

// Throws unless the node can be used now.
void check_ready(const std::string& source, const std::string& tpu, const CloudTpuNode& node) {
  const Code code = may_come_back(node) ? Code::unavailable : Code::failed_precondition;
  if (node.state != "READY") {
    throw make_error(code, "TPUClusterResolver: TPU \"{}\" is not yet ready; state: \"{}\" ({})",
                     tpu, node.state, source);
  }
  if (!node.health.empty() && node.health != "HEALTHY" && node.health != "HEALTH_UNSPECIFIED") {
    throw make_error(code, "TPUClusterResolver: TPU \"{}\" is unhealthy: \"{}\" ({})", tpu,
                     node.health, source);
  }
  if (node.endpoints.empty()) {
    throw make_error(code, "TPUClusterResolver: TPU \"{}\" has no network endpoints ({})", tpu,
                     source);
  }
}

}  // namespace

TPUClusterResolver::TPUClusterResolver(const TPUClusterResolverOptions& options)
    : project_(options.project), zone_(options.zone), job_name_(options.job_name) {
  find_name(options);
  resolve(options);
  log_info("TPUClusterResolver: {} from {}", all_workers(), source_);
}

void TPUClusterResolver::find_name(const TPUClusterResolverOptions& options) {
  name_ = one_name("tpu", options.tpu);
  source_ = "the argument tpu";
  const std::string old_name = one_name("tpu_names", options.tpu_names);
  if (!old_name.empty()) {
    if (!name_.empty()) {
      throw invalid_argument("TPUClusterResolver: got both tpu and tpu_names, expected one");
    }
    log_warning("TPUClusterResolver: tpu_names is the name of TensorFlow before 1.8; use tpu");
    name_ = old_name;
    source_ = "the argument tpu_names";
  }
  if (!name_.empty() || is_this_machine(options.tpu)) return;
  for (const char* variable : {"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME"}) {
    name_ = environment_value(variable);
    source_ = variable;
    if (!name_.empty()) return;
  }
  source_ = "TPU_CONFIG";
  if (const std::string config = environment_value("TPU_CONFIG"); !config.empty()) {
    const TpuConfig parsed = parse_tpu_config(config);
    name_ = parsed.name;
    if (project_.empty()) project_ = parsed.project;
    if (zone_.empty()) zone_ = parsed.zone;
    return;
  }
  source_ = "COLAB_TPU_ADDR";
  name_ = environment_value("COLAB_TPU_ADDR");
  if (!name_.empty()) {
    if (!name_.starts_with(kGrpc)) name_ = std::string(kGrpc) + name_;
    return;
  }
  throw not_found(
      "TPUClusterResolver: no TPU named, expected .tpu (not given; \"\" is this machine) or the "
      "environment ({}): {}",
      kSources, target_forms());
}

void TPUClusterResolver::resolve(const TPUClusterResolverOptions& options) {
  if (name_.starts_with("localhost:")) name_ = std::string(kGrpc) + name_;
  if (name_.starts_with(kGrpc)) {
    std::vector<std::string> addresses;
    for (const std::string& part : split_addresses(name_)) addresses.push_back(without_grpc(part));
    if (addresses.empty()) addresses.emplace_back();
    for (const std::string& address : addresses) check_address(address, name_, source_);
    return set_workers(addresses, options);
  }
  if (name_.empty() || has_target_scheme(name_)) {
    master_ = name_;
    environment_ = "google";
    return;
  }
  if (is_bare_address(name_)) {
    throw invalid_argument(
        "TPUClusterResolver: tpu, got '{0}' from {1}, expected grpc://{0}: grpc:// is missing",
        name_, source_);
  }
  ask_cloud(options);
}

void TPUClusterResolver::ask_cloud(const TPUClusterResolverOptions& options) {
  try {
    cloud_ = std::make_shared<CloudTpu>(CloudTpuOptions{.tpu = name_,
                                                        .project = project_,
                                                        .zone = zone_,
                                                        .discovery_url = options.discovery_url,
                                                        .credentials = options.credentials});
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    throw invalid_argument(
        "TPUClusterResolver: tpu, got '{}' from {}, expected {}, or the name of a cloud TPU with "
        ".project and .zone ({})",
        name_, source_, target_forms(), error.message());
  }
  source_ += ": the Cloud TPU API, " + cloud_->full_name();
  CloudTpuNode node;
  try {
    node = cloud_->node();
  } catch (const Error& error) {
    throw Error(error.code(), "TPUClusterResolver: " + error.message() + " (" + source_ + ")");
  }
  check_ready(source_, name_, node);
  set_workers(node.endpoints, options);
}

void TPUClusterResolver::set_workers(const std::vector<std::string>& addresses,
                                     const TPUClusterResolverOptions& options) {
  master_ = std::string(kGrpc) + addresses.front();
  cluster_ = ClusterSpec{{options.job_name, addresses}};
  if (options.coordinator_name.empty()) return;
  if (options.coordinator_address.empty()) {
    throw invalid_argument(
        "TPUClusterResolver: coordinator_name, got '{}' without an address, expected "
        "coordinator_address, too",
        options.coordinator_name);
  }
  (*cluster_)[options.coordinator_name] = {without_grpc(options.coordinator_address)};
}

std::string TPUClusterResolver::all_workers() const {
  if (!cluster_) return master_;
  std::string text(kGrpc);
  for (const std::string& address : cluster_->at(job_name_)) {
    text += (text.size() == kGrpc.size() ? "" : ",") + address;
  }
  return text;
}

std::optional<std::string> TPUClusterResolver::rpc_layer() const {
  return cluster_ ? std::optional<std::string>("grpc") : std::nullopt;
}

std::optional<std::string> TPUClusterResolver::get_job_name() const {
  return cloud_ != nullptr ? std::optional(job_name_) : std::nullopt;
}

int TPUClusterResolver::num_accelerators() const {
  const HostEnvironment system = resolve_target(master_, "").environment;
  if (system.num_cores % system.num_hosts != 0) {
    throw failed_precondition("TPU cores on each device is not the same: {} cores on {} hosts",
                              system.num_cores, system.num_hosts);
  }
  return system.num_cores / system.num_hosts;
}

CloudTpuNode TPUClusterResolver::node() const {
  if (cloud_ == nullptr) {
    throw failed_precondition("TPUClusterResolver: got '{}', expected a cloud TPU", name_);
  }
  return cloud_->node();
}

bool TPUClusterResolver::recoverable() const {
  return cloud_ == nullptr || is_recoverable(cloud_->node());
}

void TPUClusterResolver::wait_for_healthy(std::chrono::seconds timeout,
                                          std::chrono::seconds interval, Clock& clock) const {
  if (cloud_ == nullptr) return;
  const auto end = clock.steady_now() + timeout;
  while (true) {
    const CloudTpuNode now = cloud_->node();
    const bool healthy = now.health.empty() || now.health == "HEALTHY";
    if (now.state == "READY" && healthy) return;
    if (!may_come_back(now)) {
      throw failed_precondition("TPU \"{}\" reached an unrecoverable state \"{}\"", name_,
                                now.state);
    }
    if (clock.steady_now() + interval > end) {
      throw make_error(Code::deadline_exceeded,
                       "TPU \"{}\": state \"{}\" and health \"{}\" after {} s, expected READY and "
                       "HEALTHY",
                       name_, now.state, now.health, timeout.count());
    }
    log_info("TPU \"{}\": state \"{}\", health \"{}\"; waiting", name_, now.state, now.health);
    clock.sleep(interval);
  }
}

}  // namespace systole
