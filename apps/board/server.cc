#include "apps/board/server.h"

#include <fcntl.h>
#include <httplib.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "apps/board/routes.h"
#include "systole/base/error.h"

namespace systole::board {
namespace {

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
  to.headers.clear();  // the safety headers, which every response of the board has
  to.status = response.status;
  for (const auto& [name, value] : response.headers) to.set_header(name, value);
  to.body = std::move(response.body);
  to.set_header("Content-Type", response.content_type);
}

// The library's parser and writer, without its connections.
class HttpServer final : public httplib::Server {
 public:
  explicit HttpServer(const Board& board) {
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
    const auto& safety = safety_headers();
    set_default_headers({safety.begin(), safety.end()});
    set_payload_max_length(board.options().max_body_bytes);
    // Not SO_REUSEPORT, the library's choice: two boards would share a port.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
  }

  // Answers one request. Returns whether the connection can take another one.
  bool process(httplib::Stream& stream, bool last) {
    bool closed = false;
    const bool answered = process_request(stream, last, closed, [&](httplib::Request& request) {
      // The library would compress answers with brotli's slowest level, and expand bodies.
      for (const char* header : {"Accept-Encoding", "Content-Encoding", "Range", "Expect"}) {
        request.headers.erase(header);
      }
    });
    return answered && !closed;
  }

  // The socket that bind_to_port() has made. The library listens with a backlog of five: more
  // clients at a time would wait for a second.
  int listener() {
    constexpr int kBacklog = 1024;
    ::listen(svr_sock_, kBacklog);
    ::fcntl(svr_sock_, F_SETFL, ::fcntl(svr_sock_, F_GETFL) | O_NONBLOCK);
    return svr_sock_;
  }
};

// Returns the decoded path of a request.
std::string path_of(std::string_view request) {
  std::string_view line = request.substr(0, request.find("\r\n"));
  line.remove_prefix(std::min(line.size(), line.find(' ') + 1));
  line = line.substr(0, line.find_first_of(" ?#"));
  return httplib::detail::decode_url(std::string(line), /*convert_plus_to_space=*/false);
}

// Threads for one kind of work.
class Workers {
 public:
  explicit Workers(int threads) {
    try {
      queue_.emplace(static_cast<size_t>(threads));
    } catch (const std::system_error& error) {
      throw make_error(Code::resource_exhausted, "board: threads, got '{}', expected {} of them",
                       error.what(), threads);
    }
  }
  ~Workers() { queue_->shutdown(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  void add(std::function<void()> job) { queue_->enqueue(std::move(job)); }

 private:
  std::optional<httplib::ThreadPool> queue_;
};

}  // namespace

struct Server::Impl {
  Impl(const Board& board, const ServerLimits& given)
      : limits(given),
        http(board),
        connections(limits.connections,
                    [this](IncomingRequest request) { enqueue(std::move(request)); }) {}
  ~Impl() {
    if (listener >= 0) ::close(listener);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void enqueue(IncomingRequest request) {
    const Work work = work_of(path_of(request.bytes));
    // std::function copies its callable.
    auto shared = std::make_shared<IncomingRequest>(std::move(request));
    workers[static_cast<size_t>(work)]->add([this, shared, work] {
      if (stopping) return;
      if (work == Work::heavy && *shared->left)
        return connections.respond(shared->connection, "", false);
      MemoryStream stream(shared->bytes, shared->bytes.size());
      const bool keep = http.process(stream, shared->last);
      const bool was_large = work == Work::heavy || stream.response.size() > kLargeResponse;
      connections.respond(shared->connection, std::move(stream.response), keep);
      if (was_large) ::malloc_trim(0);
    });
  }

  static constexpr size_t kLargeResponse = 1U << 20U;
  const ServerLimits limits;
  HttpServer http;
  Connections connections;
  int listener = -1;
  std::atomic<bool> stopping = false;
  std::array<std::optional<Workers>, 3> workers;  // by Work, while serving
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
  impl_->listener = impl_->http.listener();
  return bound;
}

void Server::serve() {
  constexpr int kMedium = 2;
  constexpr int kHeavy = 1;
  const std::array<int, 3> threads = {impl_->limits.threads, kMedium, kHeavy};
  for (size_t i = 0; i < threads.size(); ++i) impl_->workers[i].emplace(threads[i]);
  impl_->connections.serve(impl_->listener);
  impl_->stopping = true;
  for (auto& workers : impl_->workers) workers.reset();
}

void Server::stop() { impl_->connections.stop(); }

std::string answer_bytes(const Board& board, std::string_view request, ServerLimits limits) {
  HttpServer http(board);
  MemoryStream stream(request, limits.connections.max_request_bytes);
  http.process(stream, /*last=*/true);
  return std::move(stream.response);
}

}  // namespace systole::board
