// A strict Google Cloud Storage in memory: JSON API, token endpoint and metadata server. It answers
// 400 to what the documentation does not allow. For tests.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "systole/base/mutex.h"
#include "systole/io/testing/http_server.h"

namespace systole::testing {

struct GcsServerOptions {
  bool authenticate = false;  // requires tokens of token_url() or of the metadata server
  int token_uses = -1;        // requests after which a token has expired; -1: none
  size_t page_size = 1000;    // objects on a page, at most 1000
  std::chrono::seconds clock_skew{
      0};  // of the server's clock; claims must be within 5 minutes of it
};

// Thread-safe.
class GcsServer {
 public:
  explicit GcsServer(GcsServerOptions options = {});
  ~GcsServer();

  HttpServer& http() { return *http_; }
  std::string url() const { return http_->url(); }
  // Writes a service account's key file with a new key, which the token endpoint then accepts.
  void write_key_file(const std::string& path);
  // Writes a file with a refresh token that the token endpoint accepts.
  void write_refresh_file(const std::string& path) const;

  void put(const std::string& bucket, const std::string& key, std::string contents);
  std::map<std::string, std::string> contents(const std::string& bucket) const;
  // Answers the API of other services below a path, before anything else. Status 0 passes the
  // request on.
  HttpServer::Handler other_api;

 private:
  struct Object {
    std::shared_ptr<const std::string> bytes;
    int64_t generation = 0;
    int64_t modified = 0;  // seconds since the Unix epoch
  };
  struct Session {
    std::string bucket;
    std::string key;
    std::string precondition;
    std::string bytes;
    bool done = false;
    ServerResponse response;
  };
  using Bucket = std::map<std::string, Object>;

  ServerResponse handle(const ServerRequest& request) SYSTOLE_REQUIRES(mutex_);
  ServerResponse token(const ServerRequest& request) SYSTOLE_REQUIRES(mutex_);
  ServerResponse metadata(const ServerRequest& request) SYSTOLE_REQUIRES(mutex_);
  ServerResponse list(const ServerRequest& request, const Bucket& bucket) const;
  ServerResponse object(const ServerRequest& request, const std::string& bucket,
                        const std::string& key) SYSTOLE_REQUIRES(mutex_);
  ServerResponse compose(const ServerRequest& request, const std::string& bucket,
                         const std::string& key) SYSTOLE_REQUIRES(mutex_);
  ServerResponse rewrite(const ServerRequest& request, const std::string& bucket,
                         const std::string& key, const std::string& target)
      SYSTOLE_REQUIRES(mutex_);
  ServerResponse upload(const ServerRequest& request, const std::string& bucket)
      SYSTOLE_REQUIRES(mutex_);
  ServerResponse session(const ServerRequest& request) SYSTOLE_REQUIRES(mutex_);
  ServerResponse finish(const std::string& bucket, const std::string& key,
                        const std::string& precondition, std::string bytes)
      SYSTOLE_REQUIRES(mutex_);
  bool verify_claims(const std::string& assertion, std::string* why) const SYSTOLE_REQUIRES(mutex_);

  const GcsServerOptions options_;
  mutable Mutex mutex_;
  std::map<std::string, Bucket> buckets_ SYSTOLE_GUARDED_BY(mutex_);
  std::map<std::string, Session> sessions_ SYSTOLE_GUARDED_BY(mutex_);
  std::map<std::string, int> tokens_ SYSTOLE_GUARDED_BY(mutex_);  // uses left
  std::map<std::string, int> rewrites_ SYSTOLE_GUARDED_BY(mutex_);
  std::string public_key_ SYSTOLE_GUARDED_BY(mutex_);
  int64_t generation_ SYSTOLE_GUARDED_BY(mutex_) = 1000;
  int issued_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace systole::testing
