// The class behind make_gcs_store(), for the files that implement it.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "systole/io/buckets/gcs_store.h"

namespace systole::buckets {

class GcsStore final : public ObjectStore {
 public:
  explicit GcsStore(const GcsOptions& options);

  std::string_view scheme() const override { return "gs"; }
  http::HttpClient& client() override { return client_; }
  const http::RetryOptions& retries() const override { return options_.retries; }
  std::optional<ObjectInfo> find(const ObjectName& name) override;
  ObjectPage list(const ListRequest& list) override;
  http::HttpRequest read_request(const ObjectName& name, const std::string& version,
                                 uint64_t offset, uint64_t size) override;
  bool recover(const http::HttpResponse& response) override;
  ErrorText error_text() const override { return &http::json_error_text; }
  std::unique_ptr<ObjectUpload> upload(const ObjectName& name, const Precondition& precondition,
                                       const ObjectInfo* base) override;
  void copy(const ObjectName& from, const ObjectInfo& info, const ObjectName& to,
            const Precondition& precondition) override;
  void remove(const ObjectName& name) override;

  // Makes "the object, then the part" the new contents of the object.
  ObjectInfo compose(const ObjectName& name, const ObjectInfo& base, const ObjectName& part,
                     const ObjectInfo& added);

  // Parts of requests.
  std::string object_url(const ObjectName& name) const;
  std::string upload_url(const ObjectName& name, const std::string& type,
                         const Precondition& precondition) const;
  static std::string precondition_query(const Precondition& precondition);
  http::HttpRequest request(const std::string& method, std::string url);
  http::HttpResponse send(const std::string& what,
                          const std::function<http::HttpRequest(int)>& make);
  static Error error(const std::string& what, const http::HttpResponse& response);
  // Returns the description of a written object from the response, after comparing its size and
  // checksum. `retried`: whether an earlier attempt may have written it.
  ObjectInfo settle(const std::string& what, const ObjectName& name,
                    const http::HttpResponse& response, bool retried, uint64_t size, uint32_t crc);

 private:
  const GcsOptions options_;
  http::HttpClient& client_;
  GoogleCredentials credentials_;
};

// Uploads small objects in one request and larger ones in parts (a resumable upload).
std::unique_ptr<ObjectUpload> make_gcs_upload(GcsStore& store, ObjectName name,
                                              Precondition precondition, size_t part_bytes);
// Uploads an object ".systole.part..." beside, appends it with compose and removes it.
std::unique_ptr<ObjectUpload> make_gcs_append(GcsStore& store, ObjectName name, ObjectInfo base,
                                              size_t part_bytes);

std::string crc32c_as_base64(uint32_t crc);  // of the four bytes, big-endian
ObjectInfo gcs_object_info(const std::string& path, const std::string& body);
ObjectInfo gcs_object_info(const std::string& path, const nlohmann::json& json);
// Parses a page of a list. Errors: DATA_LOSS for another text, naming `path`.
ObjectPage parse_gcs_page(const std::string& path, const std::string& body);

}  // namespace systole::buckets
