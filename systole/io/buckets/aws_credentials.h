// Keys and settings for Amazon's services.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "systole/base/clock.h"
#include "systole/base/mutex.h"
#include "systole/io/buckets/s3_signature.h"
#include "systole/io/http/http_client.h"

namespace systole::buckets {

// Sections of an INI file as Amazon's tools write it: {"default": {"region": "us-east-1"}}. Skips
// lines that it does not understand.
std::map<std::string, std::map<std::string, std::string>> parse_aws_config(const std::string& text);

// The settings of the profile AWS_PROFILE ("default") in $AWS_CONFIG_FILE, or ~/.aws/config. Empty
// without a file.
std::map<std::string, std::string> aws_profile_settings();

// Where keys come from. The first that is there is used, in Amazon's order:
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
//   2. the profile AWS_PROFILE ("default") in $AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials
//   3. the profile in the configuration file
//   4. the container's service: AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI
//   5. the instance's metadata service (IMDSv2), unless AWS_EC2_METADATA_DISABLED is "true"
// Web identities and single sign-on are not supported. Thread-safe.
class AwsCredentials {
 public:
  // `client` and `clock` outlive it.
  explicit AwsCredentials(http::HttpClient& client, Clock& clock = real_clock());

  // Returns keys that are valid for five minutes at least. Errors: UNAUTHENTICATED if there are
  // none, with all places that were tried. No error shows a key.
  AwsKeys keys();
  // Forgets these keys, which a server has refused as expired. The next keys() reads their source
  // again.
  void forget(const AwsKeys& keys);

 private:
  bool read_environment() SYSTOLE_REQUIRES(mutex_);
  bool read_files(std::string* tried) SYSTOLE_REQUIRES(mutex_);
  bool ask_container(std::string* tried) SYSTOLE_REQUIRES(mutex_);
  bool ask_instance(std::string* tried) SYSTOLE_REQUIRES(mutex_);
  bool take_reply(const std::string& what, const http::HttpResponse& response, std::string* tried)
      SYSTOLE_REQUIRES(mutex_);

  http::HttpClient& client_;
  Clock& clock_;
  Mutex mutex_;
  AwsKeys keys_ SYSTOLE_GUARDED_BY(mutex_);
  std::chrono::system_clock::time_point expires_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::buckets
