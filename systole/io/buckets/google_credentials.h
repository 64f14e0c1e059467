// Access tokens for Google's services.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "systole/base/clock.h"
#include "systole/base/mutex.h"
#include "systole/io/http/http_client.h"
#include "systole/io/http/http_retry.h"

namespace systole::buckets {

// Where tokens come from. The first that is there is used, in Google's order:
//   1. the file that GOOGLE_APPLICATION_CREDENTIALS names
//   2. application_default_credentials.json in $CLOUDSDK_CONFIG, or in ~/.config/gcloud
//   3. the metadata server of a virtual machine: GCE_METADATA_HOST, GCE_METADATA_IP or
//      metadata.google.internal
// A file holds a service account's key (a JWT signed with RS256 is exchanged for a token) or a
// refresh token. Thread-safe.
class GoogleCredentials {
 public:
  // `client` and `clock` outlive it.
  GoogleCredentials(http::HttpClient& client, http::RetryOptions retries,
                    Clock& clock = real_clock());
  ~GoogleCredentials();

  // Returns a token that is valid for at least a minute. Asks for a new one when needed. Errors:
  // UNAUTHENTICATED if there are no credentials, with all places that were tried, or if the server
  // refuses them; INVALID_ARGUMENT for a file with other contents; those of the request. No error
  // shows a key or a token.
  std::string token();
  // Forgets this token, which a server has refused.
  void forget(const std::string& token);
  // "the service account a@b in /x/key.json", once token() has returned.
  std::string source() const;

 private:
  struct Reply;
  void find_source() SYSTOLE_REQUIRES(mutex_);
  Reply request_token() SYSTOLE_REQUIRES(mutex_);
  Reply exchange(const std::string& form) SYSTOLE_REQUIRES(mutex_);
  std::string signed_claims() SYSTOLE_REQUIRES(mutex_);

  http::HttpClient& client_;
  const http::RetryOptions retries_;
  Clock& clock_;
  mutable Mutex mutex_;
  struct Source;
  std::unique_ptr<Source> source_ SYSTOLE_GUARDED_BY(mutex_);
  std::string token_ SYSTOLE_GUARDED_BY(mutex_);
  std::chrono::system_clock::time_point expires_ SYSTOLE_GUARDED_BY(mutex_);
  std::chrono::seconds skew_ SYSTOLE_GUARDED_BY(mutex_){0};  // the server's clock minus this one's
};

// Returns the URL of the metadata server, with `path` such as "instance/zone".
std::string metadata_url(const std::string& path);
// Asks the metadata server. Errors: NOT_FOUND if this is no virtual machine of Google (no answer
// within three seconds), or for an unknown path.
std::string metadata_value(http::HttpClient& client, const std::string& path);

}  // namespace systole::buckets
