// Amazon S3 and servers that speak its protocol (https://docs.aws.amazon.com/AmazonS3/latest/API).
#pragma once

#include <memory>
#include <string>

#include "systole/base/clock.h"
#include "systole/io/buckets/object_store.h"

namespace systole::buckets {

struct S3Options {
  std::string endpoint;  // without a path; "": Amazon's of the region
  std::string region = "us-east-1";
  // Whether URLs are <endpoint>/<bucket>/<key> rather than <bucket>.<endpoint>/<key>.
  bool path_style = false;
  http::RetryOptions retries;
  size_t part_bytes = size_t{8} << 20;  // of a multipart upload: at least 5 MiB
  int parallel_parts = 4;
  http::HttpClient* client = nullptr;  // null: shared_http_client()
};

// The endpoint is AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, S3_ENDPOINT (of TensorFlow 1) or
// endpoint_url in the configuration file, unless AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is "true". The
// region is AWS_REGION, AWS_DEFAULT_REGION, S3_REGION or region in that file. An endpoint of one's
// own has path-style URLs; SYSTOLE_S3_PATH_STYLE=0 or 1 overrides this. Errors: INVALID_ARGUMENT
// for an endpoint that is no URL.
S3Options s3_options_from_environment();

// Preconditions are If-Match and If-None-Match, which Amazon S3 has since 2024 (for copies since
// 2025). Services that answer 501 to them write unconditionally: the last writer of an object wins.
std::unique_ptr<ObjectStore> make_s3_store(const S3Options& options);

}  // namespace systole::buckets
