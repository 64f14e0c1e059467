// The class behind make_s3_store(), for the files that implement it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "systole/base/mutex.h"
#include "systole/io/buckets/aws_credentials.h"
#include "systole/io/buckets/s3_store.h"
#include "systole/io/buckets/xml.h"

namespace systole::buckets {

class S3Store final : public ObjectStore {
 public:
  explicit S3Store(const S3Options& options);

  std::string_view scheme() const override { return "s3"; }
  http::HttpClient& client() override { return client_; }
  const http::RetryOptions& retries() const override { return options_.retries; }
  const S3Options& options() const { return options_; }
  std::optional<ObjectInfo> find(const ObjectName& name) override;
  ObjectPage list(const ListRequest& list) override;
  http::HttpRequest read_request(const ObjectName& name, const std::string& version,
                                 uint64_t offset, uint64_t size) override;
  bool recover(const http::HttpResponse& response) override;
  ErrorText error_text() const override { return &xml_error_text; }
  std::unique_ptr<ObjectUpload> upload(const ObjectName& name, const Precondition& precondition,
                                       const ObjectInfo* base) override;
  void copy(const ObjectName& from, const ObjectInfo& info, const ObjectName& to,
            const Precondition& precondition) override;
  void remove(const ObjectName& name) override;

  // Makes a request; `query` has no '?'. sign() must follow, after the last header and the body.
  http::HttpRequest request(const std::string& method, const ObjectName& name,
                            const std::string& query = "") const;
  http::HttpRequest sign(http::HttpRequest request);
  // Signs and sends a request, and repeats it after transient errors. Returns the response with the
  // status `expected`. Errors: the error of any other status; UNAVAILABLE or FAILED_PRECONDITION
  // for a response of that status whose body is an error.
  http::HttpResponse send(const std::string& what, const http::HttpRequest& request,
                          int expected = 200);
  // `attempts`, if not null, counts the requests that were sent.
  http::HttpResponse send_any(const std::string& what, const http::HttpRequest& request,
                              int* attempts = nullptr);
  // As send() for a request that writes an object under a precondition, of which `etag` is what the
  // object's ETag would be, "" if that is not known. Returns nullopt if an earlier attempt, whose
  // answer was lost, has written it. Errors: FAILED_PRECONDITION if the precondition does not hold.
  // A service without conditional writes (501 NotImplemented) is asked without the precondition
  // from then on, with a warning.
  std::optional<http::HttpResponse> send_write(const std::string& what, const ObjectName& name,
                                               http::HttpRequest request,
                                               const Precondition& precondition,
                                               const std::string& etag);

 private:
  const S3Options options_;
  http::HttpClient& client_;
  Clock& clock_;
  AwsCredentials credentials_;
  std::atomic<bool> conditional_ = true;  // whether the service has conditional writes
  Mutex mutex_;
  std::chrono::seconds skew_ SYSTOLE_GUARDED_BY(mutex_){0};  // the server's clock minus this one's
  std::string region_ SYSTOLE_GUARDED_BY(mutex_);            // as the server has corrected it
};

// Parses a page of a list. Errors: DATA_LOSS for another text; `what` starts the message.
ObjectPage parse_s3_page(const std::string& what, const std::string& body);

// "/bucket/key", encoded, for x-amz-copy-source.
std::string copy_source(const ObjectName& name);

std::unique_ptr<ObjectUpload> make_s3_upload(S3Store& store, ObjectName name,
                                             Precondition precondition, const ObjectInfo* base);

}  // namespace systole::buckets
