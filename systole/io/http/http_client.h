// HTTP requests by libcurl. One thread serves all requests of a client; connections are kept and
// reused.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/error.h"

namespace systole::http {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<HttpHeader> headers;
  std::string body;
  // Where the body of a 2xx response goes, if not null; otherwise, and for all other statuses, it
  // goes to HttpResponse::body. A body of more than `buffer_bytes` fails the request with
  // DATA_LOSS.
  std::shared_ptr<char[]> buffer;
  size_t buffer_bytes = 0;
  // A longer body fails the request with RESOURCE_EXHAUSTED.
  size_t max_body_bytes = size_t{64} << 20;
  std::chrono::milliseconds connect_timeout{10'000};
  // The request fails if no byte moves for so long. 0: no limit. In whole seconds.
  std::chrono::seconds idle_timeout{60};
  // For the whole request, from its start. 0: no limit.
  std::chrono::milliseconds timeout{0};
  // The request also fails if it takes longer than `patience` plus a second for each
  // `min_bytes_per_second` that it has moved: a server cannot hold it by sending a byte now and
  // then. 0: no limit.
  std::chrono::milliseconds patience{300'000};
  int64_t min_bytes_per_second = 16 << 10;
  // Never through a proxy: for hosts of the local network, such as metadata servers.
  bool direct = false;
  // The certificates to trust for this request; "": CURL_CA_BUNDLE, or the system's.
  std::string ca_file;
};

struct HttpResponse {
  int status = 0;                              // 0: no status line was received
  std::map<std::string, std::string> headers;  // names in lower case; the last of equal names
  std::string body;
  size_t buffered = 0;  // bytes written to HttpRequest::buffer

  // Returns the value, or "" without such a header. `name` is in lower case.
  const std::string& header(const std::string& name) const;
};

// Why a request has no complete response. UNAVAILABLE (no connection, connection lost),
// DEADLINE_EXCEEDED, CANCELLED, FAILED_PRECONDITION (TLS, an option that this libcurl does not
// have), INVALID_ARGUMENT (URL, method or header that could be read as more than one), DATA_LOSS
// and RESOURCE_EXHAUSTED (too long a body).
struct HttpFailure {
  Code code = Code::unavailable;
  std::string message;
};

// A request under way. Thread-safe. Destruction cancels it.
class HttpCall {
 public:
  class State;
  explicit HttpCall(std::shared_ptr<State> state);
  ~HttpCall();
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  bool done() const;
  // Ends the request; wait() then returns soon. Does nothing after the end.
  void cancel();
  // Waits for the end.
  void wait() const;
  // REQUIRES: wait() or done(). The response holds what was received, also after a failure.
  const HttpResponse& response() const;
  const std::optional<HttpFailure>& failure() const;

 private:
  std::shared_ptr<State> state_;
};

struct CurlApi;

// Thread-safe.
class HttpClient {
 public:
  // Runs at most `max_requests` at a time; others wait in order.
  explicit HttpClient(int max_requests = 64);
  // With other functions than curl_api(), which must outlive the client. For tests.
  HttpClient(int max_requests, const CurlApi& api);
  // Cancels all requests.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Errors: those of loading libcurl.
  std::unique_ptr<HttpCall> start(HttpRequest request);
  // Starts a request and waits. Errors: HttpFailure as an Error, without the name of a file.
  HttpResponse send(HttpRequest request);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

// The client that all parts of a program share. It is never destroyed.
HttpClient& shared_http_client();

// Returns the code of a status that is an error:
//   400 405 406 411 414 INVALID_ARGUMENT     401 UNAUTHENTICATED    403 407 PERMISSION_DENIED
//   404 410 NOT_FOUND                        409 ABORTED            3xx 412 413 FAILED_PRECONDITION
//   416 OUT_OF_RANGE                         499 CANCELLED          501 UNIMPLEMENTED
//   308 408 429 5xx UNAVAILABLE              others UNKNOWN
Code code_of_http_status(int status);

// Returns whether a request that ended with this status may succeed later: 408, 429, 5xx but 501
// and 505.
bool is_transient_http_status(int status);

// Returns a reason why a request must not be sent, or "": its method or the name of a header has
// other characters than HTTP's tokens; a value or the URL has a control character, such as the end
// of a line, behind which a server would read another header. Does not show values, which may be
// secrets.
std::string refusal_of(const HttpRequest& request);

// Returns the host of a URL in lower case: "a.b" of "https://a.b:80/c", "::1" of "http://[::1]/";
// "" if it has none, or a user, a backslash, white space or a control character, which clients read
// in different ways.
std::string url_host(std::string_view url);
// Returns whether a host is this machine: localhost, 127.0.0.0/8 or ::1, and no name that looks
// like one.
bool is_loopback_host(std::string_view host);
// Returns whether secrets may be sent to a URL: it has https, or its host is loopback.
bool keeps_secrets(std::string_view url);

// Percent-encodes all but letters, digits and "-._~" (RFC 3986), and '/' if `keep_slash`.
std::string percent_encoded(std::string_view text, bool keep_slash = false);
// Decodes %XX. Keeps a '%' without two hexadecimal digits.
std::string percent_decoded(std::string_view text);

// Parses the time of a Date header, "Sun, 06 Nov 1994 08:49:37 GMT", to seconds since the Unix
// epoch.
std::optional<int64_t> parse_http_date(const std::string& text);
// Parses "2024-05-01T10:20:30.123Z" (RFC 3339, UTC) to nanoseconds since the Unix epoch. Times
// that 64 bits cannot hold give the largest number (after the year 2262) or the smallest (before
// 1678).
std::optional<int64_t> parse_rfc3339(const std::string& text);

}  // namespace systole::http
