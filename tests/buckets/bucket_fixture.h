// A bucket of each service in a server of the test, and a file system over it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "systole/base/testing/temp_folder.h"
#include "systole/io/buckets/bucket_file_system.h"
#include "systole/io/buckets/gcs_store.h"
#include "systole/io/buckets/s3_store.h"
#include "systole/io/testing/gcs_server.h"
#include "systole/io/testing/s3_server.h"

namespace systole::testing {

enum class Service { gs, s3 };

struct BucketSettings {
  buckets::BucketOptions files;
  GcsServerOptions gcs{.authenticate = true};
  S3ServerOptions s3;
  size_t part_bytes = size_t{256} << 10;
};

class Bucket {
 public:
  explicit Bucket(Service service, BucketSettings settings = {}) : service_(service) {
    settings.files.part_bytes = settings.part_bytes;
    http::RetryOptions retries{.attempts = 5,
                               .first_wait = std::chrono::milliseconds(1),
                               .max_wait = std::chrono::milliseconds(4)};
    if (service == Service::gs) {
      gcs_ = std::make_unique<GcsServer>(settings.gcs);
      gcs_->write_key_file(folder_ / "key.json");
      setenv("GOOGLE_APPLICATION_CREDENTIALS", (folder_ / "key.json").c_str(), 1);
      files_ = std::make_unique<buckets::BucketFileSystem>(
          buckets::make_gcs_store({.endpoint = gcs_->url(),
                                   .authenticate = settings.gcs.authenticate,
                                   .retries = retries,
                                   .part_bytes = settings.part_bytes,
                                   .client = &client_}),
          settings.files);
      return;
    }
    settings.s3.min_part_bytes = std::min(settings.s3.min_part_bytes, settings.part_bytes);
    s3_ = std::make_unique<S3Server>(settings.s3);
    setenv("AWS_ACCESS_KEY_ID", settings.s3.access_key.c_str(), 1);
    setenv("AWS_SECRET_ACCESS_KEY", settings.s3.secret_key.c_str(), 1);
    unsetenv("AWS_SESSION_TOKEN");
    files_ = std::make_unique<buckets::BucketFileSystem>(
        buckets::make_s3_store({.endpoint = s3_->url(),
                                .path_style = true,
                                .retries = retries,
                                .part_bytes = settings.part_bytes,
                                .client = &client_}),
        settings.files);
  }

  buckets::BucketFileSystem& files() { return *files_; }
  HttpServer& http() { return gcs_ ? gcs_->http() : s3_->http(); }
  GcsServer& gcs() { return *gcs_; }
  S3Server& s3() { return *s3_; }
  std::string at(const std::string& name) const {
    return (service_ == Service::gs ? "gs://bucket/" : "s3://bucket/") + name;
  }
  void put(const std::string& key, const std::string& contents) {
    if (gcs_) gcs_->put("bucket", key, contents);
    if (s3_) s3_->put("bucket", key, contents);
  }
  std::map<std::string, std::string> contents() const {
    return gcs_ ? gcs_->contents("bucket") : s3_->contents("bucket");
  }
  const TempFolder& folder() const { return folder_; }

 private:
  Service service_;
  const TempFolder folder_;
  std::unique_ptr<GcsServer> gcs_;
  std::unique_ptr<S3Server> s3_;
  http::HttpClient client_;  // ends before the servers, which wait for its connections
  std::unique_ptr<buckets::BucketFileSystem> files_;
};

inline std::string service_name(const ::testing::TestParamInfo<Service>& info) {
  return info.param == Service::gs ? "gs" : "s3";
}

// Bytes that differ everywhere.
inline std::string pattern_bytes(size_t size, uint32_t seed = 1) {
  std::string bytes(size, '\0');
  uint32_t state = seed;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24U);
  }
  return bytes;
}

}  // namespace systole::testing
