// What gs:// and s3:// have in common: objects in buckets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/io/http/http_client.h"
#include "systole/io/http/http_retry.h"

namespace systole::buckets {

struct ObjectName {
  std::string bucket;
  std::string key;  // without a leading '/'
};

struct ObjectInfo {
  std::string key;
  uint64_t size = 0;
  std::string version;             // the generation (gs) or the ETag with its quotes (s3)
  int64_t modified_ns = 0;         // since the Unix epoch
  std::optional<uint32_t> crc32c;  // of the whole object, if the store keeps one
};

struct ObjectPage {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> prefixes;  // with a trailing '/'
  std::string next;                   // the token of the next page; "" on the last
};

struct ListRequest {
  std::string bucket;
  std::string prefix;
  bool directory = false;  // stops names at the first '/' after the prefix
  std::string token;       // "" for the first page
  int max_objects = 1000;
};

// The state in which an object must be for a write to happen.
struct Precondition {
  bool any = true;
  std::string version;  // if not `any`: the present version; "" for no object
};

// An object that is written in parts. It appears whole at finish(). Destruction without finish()
// discards it. Not thread-safe.
class ObjectUpload {
 public:
  virtual ~ObjectUpload() = default;
  virtual void write(std::string_view bytes) = 0;
  // Errors: DATA_LOSS if the store's checksum differs from that of the bytes; FAILED_PRECONDITION
  // if the precondition does not hold.
  virtual ObjectInfo finish() = 0;
};

// One service that stores objects. Errors of all methods name "<scheme>://<bucket>/<key>" and have
// the code of the HTTP status (http_client.h). Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  virtual std::string_view scheme() const = 0;
  virtual http::HttpClient& client() = 0;
  virtual const http::RetryOptions& retries() const = 0;

  // Returns nullopt if there is no such object.
  virtual std::optional<ObjectInfo> find(const ObjectName& name) = 0;
  // Returns one page; it may be empty and have a successor. Errors: NOT_FOUND for an unknown
  // bucket.
  virtual ObjectPage list(const ListRequest& request) = 0;
  // Returns a request for bytes [offset, offset + size) of one version. The store answers 206, or
  // 404 or 412 if the object has been replaced or removed.
  virtual http::HttpRequest read_request(const ObjectName& name, const std::string& version,
                                         uint64_t offset, uint64_t size) = 0;
  // Called with a status of 4xx. Returns true if the request can succeed now: the token or the
  // clock was corrected.
  virtual bool recover(const http::HttpResponse& response) = 0;
  // Returns the store's reason in the body of an error, or "".
  using ErrorText = std::string (*)(const std::string& body);
  virtual ErrorText error_text() const = 0;

  // Starts a new object that holds `base`, if not null, and then what is written.
  virtual std::unique_ptr<ObjectUpload> upload(const ObjectName& name,
                                               const Precondition& precondition,
                                               const ObjectInfo* base) = 0;
  // Copies inside the store. Errors: NOT_FOUND; FAILED_PRECONDITION of the target.
  virtual void copy(const ObjectName& from, const ObjectInfo& info, const ObjectName& to,
                    const Precondition& precondition) = 0;
  // Errors: NOT_FOUND, where the store tells.
  virtual void remove(const ObjectName& name) = 0;
};

// "gs://bucket/key".
std::string object_path(const ObjectStore& store, const ObjectName& name);

}  // namespace systole::buckets
