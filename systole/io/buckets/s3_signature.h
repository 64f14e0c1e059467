// Signature Version 4 of Amazon (AWS General Reference, "Signing AWS API requests").
#pragma once

#include <chrono>
#include <string>

#include "systole/io/http/http_client.h"

namespace systole::buckets {

struct AwsKeys {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // of temporary keys
};

// Adds x-amz-date, x-amz-content-sha256, x-amz-security-token (if there is a session token) and
// Authorization. Signs the method, the URL, all headers that the request has, the host and the hash
// of the body. The path of the URL is percent-encoded once. REQUIRES: a URL with a host.
void sign_s3_request(http::HttpRequest& request, const AwsKeys& keys, const std::string& region,
                     std::chrono::system_clock::time_point time);

}  // namespace systole::buckets
