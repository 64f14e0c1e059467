#include "apps/board/connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "systole/base/error.h"
#include "systole/base/mutex.h"

namespace systole::board {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kEndOfHeaders = "\r\n\r\n";
constexpr int kAcceptsAtOnce = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Returns the rest of a line that begins with `name` in any case; nullopt for another line.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  if (line.size() < name.size()) return std::nullopt;
  for (size_t i = 0; i < name.size(); ++i) {
    if (lower(line[i]) != name[i]) return std::nullopt;
  }
  line.remove_prefix(name.size());
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  return line;
}

struct Framing {
  uint64_t body_bytes = 0;
  bool is_plain = true;  // one length or none: the next request begins after the body
};

// Reads how long the body is. Chunks are not taken: no page sends them.
Framing framing_of(std::string_view headers) {
  Framing framing;
  int lengths = 0;
  while (!headers.empty()) {
    const std::string_view line = headers.substr(0, headers.find("\r\n"));
    headers.remove_prefix(std::min(headers.size(), line.size() + 2));
    if (value_of(line, "transfer-encoding:")) framing.is_plain = false;
    const auto length = value_of(line, "content-length:");
    if (!length) continue;
    const auto parsed =
        std::from_chars(length->data(), length->data() + length->size(), framing.body_bytes);
    if (++lengths > 1 || parsed.ec != std::errc() ||
        parsed.ptr != length->data() + length->size()) {
      framing.is_plain = false;
    }
  }
  if (!framing.is_plain) framing.body_bytes = 0;
  return framing;
}

}  // namespace

Connections::Connections(ConnectionLimits limits, std::function<void(IncomingRequest)> on_request)
    : limits_(limits),
      on_request_(std::move(on_request)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) {
    throw make_error(Code::resource_exhausted,
                     "board: event descriptor, got error {}, expected one", errno);
  }
}

Connections::~Connections() {
  for (auto& [number, connection] : connections_) ::close(connection.socket);
  ::close(wake_);
}

void Connections::stop() {
  {
    const MutexLock hold(mutex_);
    stopped_ = true;
  }
  const uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof(one)));
}

void Connections::respond(uint64_t connection, std::string response, bool keep) {
  {
    const MutexLock hold(mutex_);
    answers_.push_back({connection, std::move(response), keep});
  }
  const uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof(one)));
}

void Connections::serve(int listener) {
  std::vector<pollfd> polled;
  std::vector<uint64_t> numbers;
  while (true) {
    {
      const MutexLock hold(mutex_);
      if (stopped_) break;
    }
    const bool accepts = Clock::now() >= accept_again_;
    polled = {{.fd = wake_, .events = POLLIN, .revents = 0},
              {.fd = accepts ? listener : -1, .events = POLLIN, .revents = 0}};
    numbers.clear();
    for (const auto& [number, connection] : connections_) {
      const int16_t events = connection.state == State::reading   ? POLLIN
                             : connection.state == State::writing ? POLLOUT
                             : *connection.left                   ? 0
                                                                  : POLLRDHUP;
      polled.push_back({.fd = connection.socket, .events = events, .revents = 0});
      numbers.push_back(number);
    }
    if (::poll(polled.data(), polled.size(), poll_timeout()) < 0 && errno != EINTR) {
      throw make_error(Code::unavailable, "board: poll, got error {}", errno);
    }
    uint64_t count = 0;
    if (polled[0].revents != 0) static_cast<void>(::read(wake_, &count, sizeof(count)));
    take_answers();
    // Connections that have sent something come before new ones, which may take their place.
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (polled[i + 2].revents == 0) continue;
      const Entry entry = connections_.find(numbers[i]);
      if (entry == connections_.end()) continue;
      switch (entry->second.state) {
        case State::reading:
          read(entry);
          break;
        case State::writing:
          write(entry);
          break;
        case State::answering:
          // A client that sends no more may still wait; of one that is gone the answer finds no
          // connection.
          *entry->second.left = true;
          if ((polled[i + 2].revents & (POLLERR | POLLHUP)) != 0) close(entry);
          break;
      }
    }
    close_late();
    if (polled[1].revents != 0) accept_from(listener);
  }
  while (!connections_.empty()) close(connections_.begin());
}

void Connections::accept_from(int listener) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED)
        return;
      // No descriptors or no memory: without this pause the loop would spin.
      if (connections_.empty()) accept_again_ = Clock::now() + std::chrono::milliseconds(100);
      make_room();
      return;
    }
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (connections_.size() >= limits_.max_connections) make_room();
    const Entry entry = connections_.emplace(next_++, Connection{.socket = socket}).first;
    entry->second.since = Clock::now();
    read(entry);  // most clients have sent their request
  }
}

// Closes the connection that has waited longest for its client; one that is being answered only if
// there is no other.
void Connections::make_room() {
  const auto rank = [](const auto& item) {
    return std::pair(item.second.state == State::answering, item.second.since);
  };
  const auto oldest = std::ranges::min_element(connections_, {}, rank);
  if (oldest != connections_.end()) close(oldest);
}

size_t Connections::buffered(const Connection& connection) const {
  return connection.in.capacity() + connection.out.capacity();
}

void Connections::bound_buffers(uint64_t except) {
  while (true) {
    size_t total = 0;
    auto most = connections_.end();
    for (auto it = connections_.begin(); it != connections_.end(); ++it) {
      const size_t bytes = buffered(it->second);
      total += bytes;
      if (it->first == except || it->second.state == State::answering) continue;
      if (most == connections_.end() || bytes > buffered(most->second)) most = it;
    }
    if (total <= limits_.max_buffered_bytes || most == connections_.end() ||
        buffered(most->second) == 0) {
      return;
    }
    close(most);
  }
}

void Connections::take_answers() {
  std::vector<Answer> answers;
  {
    const MutexLock hold(mutex_);
    answers.swap(answers_);
  }
  for (Answer& answer : answers) {
    const Entry entry = connections_.find(answer.connection);
    if (entry == connections_.end()) continue;
    Connection& connection = entry->second;
    connection.state = State::writing;
    connection.since = Clock::now();
    connection.out = std::move(answer.bytes);
    connection.sent = 0;
    connection.keep = answer.keep;
    bound_buffers(answer.connection);
    write(entry);
  }
}

void Connections::read(Entry entry) {
  Connection& connection = entry->second;
  const uint64_t number = entry->first;
  std::array<char, 16384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv fills it
  bool ended = false;
  while (!ended && connection.in.size() <= limits_.max_request_bytes) {
    const ssize_t got = ::recv(connection.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) break;
    if (got < 0) return close(entry);
    if (got > 0 && connection.in.empty()) connection.since = Clock::now();
    connection.in.append(buffer.data(), static_cast<size_t>(got));
    ended = got == 0;
  }
  hand_over(entry);
  if (ended && connection.state == State::reading) return close(entry);
  bound_buffers(number);
}

Connections::Extent Connections::next_request(const Connection& connection) const {
  const std::string& in = connection.in;
  const size_t found = in.find(kEndOfHeaders, connection.searched);
  const size_t header_bytes = found == std::string::npos ? in.size() : found + kEndOfHeaders.size();
  // The parser has an answer for a line that is too long, and none for too many lines.
  if (header_bytes > limits_.max_header_bytes) {
    return {.bytes = limits_.max_header_bytes, .last = true};
  }
  if (found == std::string::npos) return {.bytes = in.size() + 1, .headers_end = false};
  const Framing framing = framing_of(std::string_view(in).substr(0, header_bytes));
  if (framing.body_bytes > limits_.max_request_bytes - header_bytes) {
    return {.bytes = header_bytes, .last = true};
  }
  return {.bytes = header_bytes + static_cast<size_t>(framing.body_bytes),
          .last = !framing.is_plain};
}

void Connections::hand_over(Entry entry) {
  Connection& connection = entry->second;
  std::string& in = connection.in;
  const Extent extent = next_request(connection);
  if (extent.bytes > in.size()) {
    // The end of the headers may be cut; once it is there it is found again.
    constexpr size_t kCut = kEndOfHeaders.size() - 1;
    if (!extent.headers_end) connection.searched = in.size() - std::min(in.size(), kCut);
    return;
  }
  ++connection.requests;
  connection.left = std::make_shared<std::atomic<bool>>(false);
  IncomingRequest request{.connection = entry->first,
                          .bytes = in.substr(0, extent.bytes),
                          .last = extent.last || connection.requests >= limits_.max_requests,
                          .left = connection.left};
  in.erase(0, extent.bytes);
  if (in.empty()) in = {};
  connection.searched = 0;
  connection.state = State::answering;
  connection.since = Clock::now();
  on_request_(std::move(request));
}

void Connections::write(Entry entry) {
  Connection& connection = entry->second;
  while (connection.sent < connection.out.size()) {
    const ssize_t sent =
        ::send(connection.socket, connection.out.data() + connection.sent,
               connection.out.size() - connection.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (sent <= 0) return close(entry);
    connection.sent += static_cast<size_t>(sent);
  }
  const bool keep = connection.keep && !connection.out.empty();
  connection.out = {};
  if (!keep) return close(entry);
  connection.state = State::reading;
  connection.since = Clock::now();
  if (!connection.in.empty()) hand_over(entry);
}

Connections::Time Connections::deadline(const Connection& connection) const {
  switch (connection.state) {
    case State::reading:
      return connection.since + std::chrono::seconds(connection.in.empty()
                                                         ? limits_.idle_seconds
                                                         : limits_.request_seconds);
    case State::writing:
      return connection.since + std::chrono::seconds(limits_.response_seconds);
    case State::answering:
      break;
  }
  return Time::max();
}

void Connections::close_late() {
  const Time now = Clock::now();
  for (auto it = connections_.begin(); it != connections_.end();) {
    const Entry entry = it++;
    if (deadline(entry->second) <= now) close(entry);
  }
}

int Connections::poll_timeout() const {
  Time first = Clock::now() + std::chrono::seconds(60);
  if (accept_again_ > Clock::now()) first = std::min(first, accept_again_);
  for (const auto& [number, connection] : connections_)
    first = std::min(first, deadline(connection));
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

void Connections::close(Entry entry) {
  if (entry->second.left) *entry->second.left = true;
  ::shutdown(entry->second.socket, SHUT_RDWR);
  ::close(entry->second.socket);
  connections_.erase(entry);
}

}  // namespace systole::board
