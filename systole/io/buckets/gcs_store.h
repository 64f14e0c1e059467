// Google Cloud Storage by its JSON API (https://cloud.google.com/storage/docs/json_api).
#pragma once

#include <memory>
#include <string>

#include "systole/io/buckets/google_credentials.h"
#include "systole/io/buckets/object_store.h"

namespace systole::buckets {

struct GcsOptions {
  // Without a path: "https://storage.googleapis.com".
  std::string endpoint = "https://storage.googleapis.com";
  bool authenticate = true;
  http::RetryOptions retries;
  size_t part_bytes = size_t{8} << 20;  // of a resumable upload: a multiple of 256 KiB
  http::HttpClient* client = nullptr;   // null: shared_http_client()
};

// STORAGE_EMULATOR_HOST replaces the endpoint and switches authentication off;
// CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE only replaces the endpoint. Errors: INVALID_ARGUMENT for
// a text that is no URL.
GcsOptions gcs_options_from_environment();

std::unique_ptr<ObjectStore> make_gcs_store(const GcsOptions& options);

}  // namespace systole::buckets
