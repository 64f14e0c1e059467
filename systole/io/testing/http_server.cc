#include "systole/io/testing/http_server.h"

#include <httplib.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/io/http/http_client.h"

namespace systole::testing {

std::string ServerRequest::param(const std::string& name) const {
  const auto found = params.find(name);
  return found == params.end() ? "" : found->second;
}

std::string ServerRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string ServerRequest::line() const {
  return method + " " + path + (query.empty() ? "" : "?" + query);
}

class HttpServer::Impl {
 public:
  explicit Impl(Handler handler) : handler_(std::move(handler)) {
    constexpr const char* kAnyPath = R"([\s\S]*)";
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
    };
    server_.Get(kAnyPath, handle);
    server_.Post(kAnyPath, handle);
    server_.Put(kAnyPath, handle);
    server_.Delete(kAnyPath, handle);
    server_.new_task_queue = [] { return new httplib::ThreadPool(24); };
    server_.set_keep_alive_max_count(1'000'000);
    server_.set_keep_alive_timeout(1);  // the destructor waits for idle connections
    server_.set_tcp_nodelay(true);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }

  ~Impl() {
    server_.stop();
    thread_.join();
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int port() const { return port_; }

  Mutex mutex;
  std::vector<ServerFault> faults SYSTOLE_GUARDED_BY(mutex);
  std::vector<std::string> log SYSTOLE_GUARDED_BY(mutex);

 private:
  static ServerRequest converted(const httplib::Request& request) {
    ServerRequest result{.method = request.method, .body = request.body};
    const size_t mark = request.target.find('?');
    result.path = request.target.substr(0, mark);
    if (mark != std::string::npos) result.query = request.target.substr(mark + 1);
    for (size_t begin = 0; begin < result.query.size();) {
      const size_t end = std::min(result.query.find('&', begin), result.query.size());
      const std::string item = result.query.substr(begin, end - begin);
      const size_t equals = std::min(item.find('='), item.size());
      const std::string value = equals < item.size() ? item.substr(equals + 1) : "";
      result.params[http::percent_decoded(item.substr(0, equals))] = http::percent_decoded(value);
      begin = end + 1;
    }
    for (const auto& [name, value] : request.headers) {
      std::string lower = name;
      std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
      // httplib decodes %XX in the values of headers. This header is sent encoded, and signed so.
      const bool encoded = lower == "x-amz-copy-source";
      result.headers[lower] = encoded ? http::percent_encoded(value, true) : value;
    }
    return result;
  }

  std::optional<ServerFault> next_fault(const std::string& line) {
    const MutexLock lock(mutex);
    log.push_back(line);
    for (ServerFault& fault : faults) {
      if (fault.count == 0 || line.find(fault.match) == std::string::npos) continue;
      if (fault.skip > 0) {
        --fault.skip;
        continue;
      }
      --fault.count;
      return fault;
    }
    return std::nullopt;
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    const ServerRequest converted_request = converted(request);
    const auto fault = next_fault(converted_request.line());
    using Kind = ServerFault::Kind;
    if (fault && fault->kind == Kind::delay) std::this_thread::sleep_for(fault->delay);
    ServerResponse result;
    if (!fault || fault->kind != Kind::status) result = handler_(converted_request);
    if (fault && (fault->kind == Kind::status || fault->kind == Kind::late_status)) {
      result = {.status = fault->status, .headers = fault->headers, .body = fault->body};
    }
    const bool ranged = result.contents != nullptr;
    auto contents = ranged ? result.contents : std::make_shared<const std::string>(result.body);
    if (fault && fault->kind == Kind::corrupt && fault->bytes < contents->size()) {
      std::string changed = *contents;
      changed[fault->bytes] = static_cast<char>(changed[fault->bytes] ^ 1);
      contents = std::make_shared<const std::string>(std::move(changed));
    }
    for (const auto& [name, value] : result.headers) response.set_header(name, value);
    if (!ranged) const_cast<httplib::Request&>(request).ranges.clear();
    response.status = ranged && !request.ranges.empty() ? 206 : result.status;
    const bool cut = fault && fault->kind == Kind::cut;
    if (contents->empty() && !cut) return;
    const auto found = result.headers.find("Content-Type");
    const std::string type =
        found == result.headers.end() ? "application/octet-stream" : found->second;
    response.headers.erase("Content-Type");
    // A cut response promises one byte more than it could send.
    response.set_content_provider(
        contents->size() + (cut && contents->empty() ? 1 : 0), type,
        [contents, cut, limit = cut ? fault->bytes : 0, sent = std::make_shared<size_t>(0)](
            size_t offset, size_t length, httplib::DataSink& sink) {
          if (!cut) return sink.write(contents->data() + offset, length);
          const size_t count = std::min(length, limit - std::min(limit, *sent));
          if (count > 0) sink.write(contents->data() + offset, count);
          *sent += count;
          return count > 0 && *sent < limit;
        });
  }

  Handler handler_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

HttpServer::HttpServer(Handler handler) : impl_(std::make_unique<Impl>(std::move(handler))) {}
HttpServer::~HttpServer() = default;

std::string HttpServer::host() const { return "127.0.0.1:" + std::to_string(impl_->port()); }

void HttpServer::inject(ServerFault fault) {
  const MutexLock lock(impl_->mutex);
  impl_->faults.push_back(std::move(fault));
}

void HttpServer::clear_faults() {
  const MutexLock lock(impl_->mutex);
  impl_->faults.clear();
}

std::vector<std::string> HttpServer::log() const {
  const MutexLock lock(impl_->mutex);
  return impl_->log;
}

int HttpServer::count(const std::string& match) const {
  const MutexLock lock(impl_->mutex);
  return static_cast<int>(std::ranges::count_if(
      impl_->log, [&](const std::string& line) { return line.find(match) != std::string::npos; }));
}

void HttpServer::clear_log() {
  const MutexLock lock(impl_->mutex);
  impl_->log.clear();
}

std::string format_utc(int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm broken{};
  ::gmtime_r(&time, &broken);
  std::string text(64, '\0');
  text.resize(std::strftime(text.data(), text.size(), format, &broken));
  return text;
}

}  // namespace systole::testing
