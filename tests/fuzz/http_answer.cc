// Answers of object stores and token endpoints.
#include <cstddef>
#include <cstdint>
#include <string>

#include "systole/base/error.h"
#include "systole/io/buckets/aws_credentials.h"
#include "systole/io/buckets/gcs_internal.h"
#include "systole/io/buckets/s3_internal.h"
#include "systole/io/http/http_retry.h"
#include "systole/io/wire/crypto.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& parse : {buckets::parse_gcs_page, buckets::parse_s3_page}) {
    try {
      for (const auto& object : parse("fuzz", text).objects) {
        if (object.key.size() > 4 * size) __builtin_trap();
      }
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the expected answer to bad input
    }
  }
  try {
    buckets::gcs_object_info("fuzz", text);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
  http::json_error_text(text);
  buckets::xml_error_text(text);
  buckets::parse_aws_config(text);
  http::parse_http_date(text);
  http::parse_rfc3339(text);
  // What is encoded is decoded to the same.
  if (http::percent_decoded(http::percent_encoded(text)) != text) __builtin_trap();
  if (crypto::base64_decoded(crypto::base64(text)) != text) __builtin_trap();
  return 0;
}
