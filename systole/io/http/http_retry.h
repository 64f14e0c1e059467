// Requests that are repeated after transient errors.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "systole/base/clock.h"
#include "systole/io/http/http_client.h"

namespace systole::http {

struct RetryOptions {
  int attempts = 8;  // in all
  // The wait after attempt n is between half of and all of first_wait * 2^n, at most max_wait. A
  // server's Retry-After replaces it, up to max_wait.
  std::chrono::milliseconds first_wait{1'000};
  std::chrono::milliseconds max_wait{32'000};
  // No attempt starts later than so long after the first.
  std::chrono::milliseconds total{900'000};
  Clock* clock = nullptr;  // null: real_clock()
};

// The waits between the attempts of one operation. Each is logged as a warning before it begins, so
// that a program that waits does not seem to hang. Not thread-safe.
class Backoff {
 public:
  // `what` names the operation in the log: "gs://b/a: cannot read".
  Backoff(const RetryOptions& options, std::string what);

  // Waits until the next attempt and returns true, or returns false at once if none is left.
  // `response` is that of the failed attempt, null if there was none. `reason` says in the log why
  // the attempt failed; if empty, the status of the response does.
  bool wait(const HttpResponse* response, std::string_view reason = "");
  // Attempts so far; 1 before the first wait.
  int attempts() const { return attempts_; }

 private:
  Clock& clock() const;

  RetryOptions options_;
  std::string what_;
  std::chrono::steady_clock::time_point started_;
  int attempts_ = 1;
};

// Returns "message" of a body {"error": {"message": ...}} or {"error": ..., "error_description":
// ...}, as Google's servers write it, or "".
std::string json_error_text(const std::string& body);

// How to send a request again and again.
struct RetriedRequest {
  // Names the file or resource and what fails, for errors: "gs://b/a: cannot read".
  std::string what;
  // Makes the request of each attempt, so that it is signed with the current time. `attempt` starts
  // at 1.
  std::function<HttpRequest(int attempt)> make;
  // Called for a status of 4xx that is not transient. Returns true if it removed the cause, such as
  // a token that has expired: the request is then sent again at once, two times at most.
  std::function<bool(const HttpResponse&)> recover;
  // Returns the server's reason in the body of an error, or "".
  std::string (*error_text)(const std::string& body) = &json_error_text;
};

// Sends the request until it has a response whose status is not transient, and returns that
// response. Errors: that of the last attempt, with the number of attempts. REQUIRES: a request that
// may be sent twice, because an attempt without a response may have been carried out.
HttpResponse send_retried(HttpClient& client, const RetryOptions& options,
                          const RetriedRequest& request);

// Returns the error of a response whose status is an error: "<what>, got HTTP 403 '<detail>'".
// Without a detail the error has the start of the body.
Error http_error(const std::string& what, const HttpResponse& response,
                 const std::string& detail = "");

}  // namespace systole::http
