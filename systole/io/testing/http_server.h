// An HTTP server on the loopback interface that fails on demand. For tests.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace systole::testing {

struct ServerRequest {
  std::string method;
  std::string path;                            // as sent: percent-encoded, without the query
  std::string query;                           // as sent
  std::map<std::string, std::string> params;   // of the query, decoded
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // Returns "" if there is none.
  std::string param(const std::string& name) const;
  std::string header(const std::string& name) const;
  // Returns "GET /path?query".
  std::string line() const;
};

struct ServerResponse {
  int status = 200;
  std::map<std::string, std::string> headers;
  std::string body;
  // If not null, replaces `body`: the server sends the range that the request asks for with 206.
  std::shared_ptr<const std::string> contents;
};

// What goes wrong with requests whose line contains `match`.
struct ServerFault {
  enum class Kind {
    status,       // answers `status` without handling the request
    late_status,  // handles the request, then answers `status`: the client cannot know that it was
                  // done
    cut,          // sends the headers and `bytes` bytes of the body, then closes the connection
    corrupt,      // changes the byte at `bytes` of the body
    delay,        // waits `delay` before it answers
  };
  Kind kind = Kind::status;
  std::string match;
  int status = 503;
  size_t bytes = 0;
  int skip = 0;   // matching requests that pass before
  int count = 1;  // matching requests that fail
  std::chrono::milliseconds delay{0};
  std::map<std::string, std::string> headers;
  std::string body;
};

// Formats seconds since the Unix epoch as strftime() does, in UTC.
std::string format_utc(int64_t seconds, const char* format);

// Starts listening on construction and stops on destruction. Thread-safe.
class HttpServer {
 public:
  using Handler = std::function<ServerResponse(const ServerRequest&)>;
  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string host() const;  // "127.0.0.1:12345"
  std::string url() const { return "http://" + host(); }

  void inject(ServerFault fault);
  void clear_faults();
  // The lines of all requests so far.
  std::vector<std::string> log() const;
  int count(const std::string& match) const;
  void clear_log();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace systole::testing
