// Nodes of the Cloud TPU API (google/cloud/tpu/v1/cloud_tpu.proto).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/clock.h"
#include "systole/io/http/http_client.h"
#include "systole/io/http/http_retry.h"

namespace systole {

struct CloudTpuSymptom {
  std::string type;        // "OUT_OF_MEMORY"
  int64_t created_ns = 0;  // since the Unix epoch
};

struct CloudTpuNode {
  std::string name;    // "projects/p/locations/z/nodes/n"
  std::string state;   // "READY"
  std::string health;  // "HEALTHY"; "" if the API has none
  std::string accelerator_type;
  std::string runtime_version;
  bool preemptible = false;
  std::vector<std::string> endpoints;  // "10.0.0.2:8470"
  std::vector<CloudTpuSymptom> symptoms;
};

struct CloudTpuOptions {
  std::string tpu;            // the name of the node, or "projects/p/locations/z/nodes/n"
  std::string project;        // "": the metadata server's
  std::string zone;           // "": the metadata server's
  std::string discovery_url;  // "": TPU_API_DISCOVERY_URL, or none: https://tpu.googleapis.com
  // "default": Google's order (io/buckets/google_credentials.h); otherwise an access token.
  std::string credentials = "default";
  http::RetryOptions retries;
  http::HttpClient* client = nullptr;  // null: shared_http_client()
};

// Asks the API about one node. Thread-safe.
class CloudTpu {
 public:
  // Errors: NOT_FOUND if project or zone are not given and no metadata server tells them; those of
  // the discovery document.
  explicit CloudTpu(const CloudTpuOptions& options);
  ~CloudTpu();

  // "projects/p/locations/z/nodes/n".
  const std::string& full_name() const { return full_name_; }
  // Errors: NOT_FOUND for an unknown node; UNAUTHENTICATED; those of the request (io/http).
  CloudTpuNode node();

 private:
  std::string discovered_base(const std::string& url);

  const CloudTpuOptions options_;
  http::HttpClient& client_;
  class Tokens;
  std::unique_ptr<Tokens> tokens_;
  std::string full_name_;
  std::string base_;  // with a trailing '/'
};

// Parses an answer of the API. Errors: DATA_LOSS for another text. `what` starts the message.
CloudTpuNode parse_cloud_tpu_node(const std::string& what, const std::string& json);

// Whether a node in this state will work again: not TERMINATED and not PREEMPTED, and no symptom
// OUT_OF_MEMORY or HBM_OUT_OF_MEMORY of the last 90 s.
bool is_recoverable(const CloudTpuNode& node, Clock& clock = real_clock());

}  // namespace systole
