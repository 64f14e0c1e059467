#include "apps/board/server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "apps/board/routes.h"
#include "systole/base/error.h"

namespace systole::board {
namespace {

using Clock = std::chrono::steady_clock;

// Waits until a socket is ready for `events`. Returns false at the deadline or after an error.
bool wait_for(int socket, int16_t events, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd entry{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
    if (ready > 0) return (entry.revents & (events | POLLHUP)) != 0;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// A connection during one request: limits its bytes and its time.
class ConnectionStream final : public httplib::Stream {
 public:
  ConnectionStream(int socket, const ServerLimits& limits) : socket_(socket), limits_(limits) {}

  void begin_request() {
    read_ = 0;
    in_header_ = true;
    read_deadline_ = Clock::now() + std::chrono::seconds(limits_.request_seconds);
    write_deadline_ =
        Clock::now() + std::chrono::seconds(limits_.request_seconds + limits_.response_seconds);
  }
  void end_header() { in_header_ = false; }
  bool has_buffered() const { return begin_ < end_; }

  bool is_readable() const override {
    return has_buffered() || wait_for(socket_, POLLIN, read_deadline_);
  }
  bool is_writable() const override { return wait_for(socket_, POLLOUT, write_deadline_); }

  ssize_t read(char* out, size_t size) override {
    const size_t most = in_header_ ? limits_.max_header_bytes : limits_.max_request_bytes;
    if (read_ >= most) return -1;
    if (begin_ == end_) {
      if (!wait_for(socket_, POLLIN, read_deadline_)) return -1;
      const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (got <= 0) return got;
      begin_ = 0;
      end_ = static_cast<size_t>(got);
    }
    const size_t count = std::min({size, end_ - begin_, most - read_});
    std::memcpy(out, buffer_.data() + begin_, count);
    begin_ += count;
    read_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* bytes, size_t size) override {
    for (size_t done = 0; done < size;) {
      const ssize_t sent = ::send(socket_, bytes + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) {
        done += static_cast<size_t>(sent);
      } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        return -1;
      } else if (!is_writable()) {
        return -1;
      }
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return socket_; }

 private:
  int socket_;
  const ServerLimits& limits_;
  std::array<char, 16384> buffer_{};
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t read_ = 0;  // bytes of this request
  bool in_header_ = true;
  Clock::time_point read_deadline_;
  Clock::time_point write_deadline_;
};

// A request in memory.
class MemoryStream final : public httplib::Stream {
 public:
  MemoryStream(std::string_view request, size_t most) : request_(request.substr(0, most)) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* out, size_t size) override {
    const size_t count = std::min(size, request_.size());
    std::memcpy(out, request_.data(), count);
    request_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    response.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return -1; }

  std::string response;

 private:
  std::string_view request_;
};

void answer(const Board& board, const httplib::Request& from, httplib::Response& to) {
  Request request{.method = from.method,
                  .path = from.path,
                  .params = {from.params.begin(), from.params.end()},
                  .host = from.get_header_value("Host"),
                  .cookie = from.get_header_value("Cookie"),
                  .body = from.body};
  Response response = board.handle(request);
  to.status = response.status;
  for (const auto& [name, value] : response.headers) to.set_header(name, value);
  to.body = std::move(response.body);
  to.set_header("Content-Type", response.content_type);
}

// The library's server with connections of our own.
class HttpServer final : public httplib::Server {
 public:
  HttpServer(const Board& board, const ServerLimits& limits) : limits_(limits) {
    // Without regular expressions over the path.
    set_pre_routing_handler([&board](const httplib::Request& request, httplib::Response& response) {
      if (request.method == "POST") return HandlerResponse::Unhandled;
      answer(board, request, response);
      return HandlerResponse::Handled;
    });
    const auto post = [&board](const httplib::Request& request, httplib::Response& response) {
      answer(board, request, response);
    };
    for (const std::string& path : post_paths()) Post(path, post);
    set_payload_max_length(board.options().max_body_bytes);
    // Not SO_REUSEPORT, the library's choice: two boards would share a port.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    set_tcp_nodelay(true);
    new_task_queue = [&limits] {
      return new httplib::ThreadPool(static_cast<size_t>(limits.threads));
    };
  }

  // Answers one request. Returns whether the connection can take another one.
  template <class Header>
  bool process(httplib::Stream& stream, bool last, const Header& at_header) {
    bool closed = false;
    const bool answered = process_request(stream, last, closed, [&](httplib::Request& request) {
      // The library would compress answers with brotli's slowest level, and expand bodies.
      for (const char* header : {"Accept-Encoding", "Content-Encoding", "Range", "Expect"}) {
        request.headers.erase(header);
      }
      at_header();
    });
    return answered && !closed;
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    constexpr int kMaxRequests = 1000;
    ConnectionStream stream(socket, limits_);
    for (int i = 0; i < kMaxRequests; ++i) {
      const auto idle = Clock::now() + std::chrono::seconds(limits_.idle_seconds);
      if (!stream.has_buffered() && !wait_for(socket, POLLIN, idle)) break;
      stream.begin_request();
      if (!process(stream, i + 1 == kMaxRequests, [&] { stream.end_header(); })) break;
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  const ServerLimits& limits_;
};

}  // namespace

struct Server::Impl {
  Impl(const Board& board, ServerLimits given) : limits(given), http(board, limits) {}
  const ServerLimits limits;
  HttpServer http;
};

Server::Server(const Board& board, ServerLimits limits)
    : impl_(std::make_unique<Impl>(board, limits)) {}

Server::~Server() = default;

int Server::bind(const std::string& host, int port) {
  const int bound = port == 0                              ? impl_->http.bind_to_any_port(host)
                    : impl_->http.bind_to_port(host, port) ? port
                                                           : -1;
  if (bound < 0) {
    throw make_error(Code::unavailable,
                     "board: address {}:{}, got '{}', expected a free port of this machine; "
                     "--port 0 chooses one",
                     host, port, std::strerror(errno));
  }
  return bound;
}

void Server::serve() { impl_->http.listen_after_bind(); }

void Server::stop() { impl_->http.stop(); }

std::string answer_bytes(const Board& board, std::string_view request, ServerLimits limits) {
  HttpServer http(board, limits);
  MemoryStream stream(request, limits.max_request_bytes);
  http.process(stream, /*last=*/true, [] {});
  return std::move(stream.response);
}

}  // namespace systole::board
