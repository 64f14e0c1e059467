// A strict S3 in memory: path-style URLs, Signature Version 4 and payload hashes checked, multipart
// uploads. For tests.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "systole/base/mutex.h"
#include "systole/io/testing/http_server.h"

namespace systole::testing {

struct S3ServerOptions {
  std::string access_key = "AKIDEXAMPLE";
  std::string secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  std::string session_token;  // "": requests must have none
  std::string region = "us-east-1";
  std::chrono::seconds clock_skew{
      0};                   // of the server's clock; requests must be within 15 minutes of it
  size_t page_size = 1000;  // objects on a page, at most 1000
  size_t min_part_bytes = size_t{5} << 20;
  // Whether writes may be conditional (If-Match, If-None-Match), as S3's may since 2024. If not,
  // the server answers such a write with 501.
  bool conditional_writes = true;
};

// Thread-safe.
class S3Server {
 public:
  explicit S3Server(S3ServerOptions options = {});
  ~S3Server();

  HttpServer& http() { return *http_; }
  std::string url() const { return http_->url(); }
  void put(const std::string& bucket, const std::string& key, std::string contents);
  std::map<std::string, std::string> contents(const std::string& bucket) const;
  // Uploads that were started and neither completed nor aborted.
  size_t open_uploads() const;
  // The session token that requests must have from now on.
  void require_token(const std::string& token);

 private:
  struct Object {
    std::shared_ptr<const std::string> bytes;
    std::string etag;  // with quotes
    int64_t modified = 0;
  };
  struct Upload {
    std::string bucket;
    std::string key;
    std::map<int, Object> parts;
  };
  using Bucket = std::map<std::string, Object>;

  ServerResponse handle(const ServerRequest& request) SYSTOLE_REQUIRES(mutex_);
  // Returns the error of a wrong signature, or status 0.
  ServerResponse check_signature(const ServerRequest& request) const;
  ServerResponse list(const ServerRequest& request, const std::string& name,
                      const Bucket& bucket) const;
  ServerResponse get(const ServerRequest& request, const Object& object) const;
  // Returns the error of a write whose If-Match or If-None-Match does not hold, or status 0.
  ServerResponse check_conditions(const ServerRequest& request, const Bucket& bucket,
                                  const std::string& key) const;
  ServerResponse put_object(const ServerRequest& request, Bucket& bucket, const std::string& key)
      SYSTOLE_REQUIRES(mutex_);
  ServerResponse put_part(const ServerRequest& request) SYSTOLE_REQUIRES(mutex_);
  ServerResponse complete(const ServerRequest& request) SYSTOLE_REQUIRES(mutex_);
  // Finds what x-amz-copy-source names. Returns null and sets `error` if its conditions fail.
  const Object* copy_source(const ServerRequest& request, ServerResponse* error) const
      SYSTOLE_REQUIRES(mutex_);

  S3ServerOptions options_;
  mutable Mutex mutex_;
  std::map<std::string, Bucket> buckets_ SYSTOLE_GUARDED_BY(mutex_);
  std::map<std::string, Upload> uploads_ SYSTOLE_GUARDED_BY(mutex_);
  int issued_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace systole::testing
