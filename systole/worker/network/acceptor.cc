#include "systole/worker/network/acceptor.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"

namespace systole::worker {
namespace {

constexpr int kCheckEveryMs = 100;
constexpr int kCheckStrangersEveryMs = 4;
// A client waits for an answer to its first bytes.
constexpr int64_t kMaxFirstBytes = 4096;
// Strangers that gRPC has at a time, and how long each of them stays at least.
constexpr size_t kMaxHanded = 4;
constexpr auto kHandedAtLeast = std::chrono::milliseconds(50);
constexpr int kWatchHandedMs = 1;
constexpr int kAcceptedAtOnce = 64;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::string_view kHandshake = "\x16\x03";  // of TLS
// Descriptors that are not connections.
constexpr int64_t kOtherDescriptors = 256;
constexpr int64_t kMinConnections = 8;

// Returns the number of descriptors that the process may have.
int64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur == RLIM_INFINITY ? 1 << 20 : static_cast<int64_t>(limit.rlim_cur);
}

// Bounds the connections, which take two descriptors each, by the descriptors that there are.
ConnectionLimits within_descriptors(ConnectionLimits limits) {
  const int64_t descriptors = raise_descriptor_limit();
  const int64_t most =
      std::max((descriptors - std::min(kOtherDescriptors, descriptors / 2)) / 2, kMinConnections);
  limits.max_strangers = std::min(limits.max_strangers, most / 2);
  limits.max_known = std::min(limits.max_known, most / 2);
  return limits;
}

int open_spare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

bool watch(int events, int descriptor, uint32_t what, int operation) {
  epoll_event event{};
  event.events = what;
  event.data.fd = descriptor;
  return ::epoll_ctl(events, operation, descriptor, &event) == 0;
}

// The address of a listening socket as clients of this machine see it.
sockaddr_storage own_address(int socket, socklen_t& size) {
  sockaddr_storage address{};
  size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
    if (ipv4.sin_addr.s_addr == htonl(INADDR_ANY)) ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
    if (IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr)) ipv6.sin6_addr = in6addr_loopback;
  }
  return address;
}

void set_port(sockaddr_storage& address, uint16_t port) {
  if (address.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
  }
}

}  // namespace

Acceptor::Acceptor(const std::string& address, const ConnectionLimits& limits, bool tls)
    : tls_(tls),
      listener_(address),
      connections_(within_descriptors(limits)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      spare_(open_spare()) {
  bool watched = events_ >= 0 && wake_ >= 0 && watch(events_, wake_, EPOLLIN, EPOLL_CTL_ADD);
  for (const int socket : listener_.sockets()) {
    watched = watched && watch(events_, socket, EPOLLIN, EPOLL_CTL_ADD);
  }
  if (watched) return;
  const int failure = errno;
  for (const int descriptor : {events_, wake_, spare_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
  throw make_error(Code::unavailable, "worker: cannot listen at '{}': {}", address,
                   std::strerror(failure));  // NOLINT(concurrency-mt-unsafe)
}

Acceptor::~Acceptor() {
  stop();
  for (const int descriptor : {events_, wake_, spare_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

void Acceptor::start(Take take, Take take_own) {
  take_ = std::move(take);
  take_own_ = std::move(take_own);
  thread_ = std::thread([this] { run(); });
}

void Acceptor::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof one));
  thread_.join();
  connections_.shut_down_all();
  watched_.clear();
  ready_.clear();
  handed_.clear();
}

void Acceptor::run() {
  std::array<epoll_event, 64> ready{};
  auto checked = Connection::Clock::now();
  while (true) {
    const int every = !handed_.empty()                   ? kWatchHandedMs
                      : connections_.num_strangers() > 0 ? kCheckStrangersEveryMs
                                                         : kCheckEveryMs;
    const int count = ::epoll_wait(events_, ready.data(), static_cast<int>(ready.size()), every);
    for (int i = 0; i < count; ++i) {
      const int descriptor = ready[i].data.fd;
      const uint32_t what = ready[i].events;
      if (descriptor == wake_) return;
      const auto it = watched_.find(descriptor);
      if (it == watched_.end()) {
        accept_all(descriptor);
      } else if ((what & (EPOLLHUP | EPOLLERR)) != 0) {
        forget(std::shared_ptr(it->second));
      } else {
        look_at(std::shared_ptr(it->second));
      }
    }
    hand_on();
    const auto now = Connection::Clock::now();
    if (now - checked < std::chrono::milliseconds(kCheckStrangersEveryMs)) continue;
    checked = now;
    connections_.check(now);
  }
}

void Acceptor::accept_all(int listener) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int descriptor = ::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      const auto peer = peer_of(address);
      if (peer) {
        accepted(descriptor, *peer);
      } else {
        ::close(descriptor);
      }
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return shed();
    } else if (errno != EINTR && errno != ECONNABORTED && errno != EPROTO) {
      return;
    }
  }
}

// Without descriptors: closes connections that wait, and one that may make room.
void Acceptor::shed() {
  log_message_once(LogLevel::warning,
                   "worker: connections, got more than there are descriptors (ulimit -n); they are "
                   "closed");
  const bool evicted = connections_.evict_stranger();
  if (spare_ >= 0) {
    ::close(std::exchange(spare_, -1));
    for (const int listener : listener_.sockets()) {
      const int descriptor = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (descriptor >= 0) ::close(descriptor);
    }
  }
  if (spare_ < 0) spare_ = open_spare();
  // The listener stays ready: others use the time to close what they have.
  if (!evicted || spare_ < 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void Acceptor::accepted(int descriptor, const Peer& peer) {
  const int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const bool own = is_own(peer);
  const auto connection =
      own ? connections_.add_own(descriptor, peer) : connections_.add(descriptor, peer);
  watched_[descriptor] = connection;
  // A stranger keeps the small buffer: the kernel does not adapt it.
  if (!own) ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kSmallBuffer, sizeof kSmallBuffer);
  // By edges: a first byte alone must not keep this thread busy.
  if (!watch(events_, descriptor, EPOLLIN | EPOLLRDHUP | EPOLLET, EPOLL_CTL_ADD)) {
    forget(connection);
  } else if (own) {
    static_cast<void>(hand_over(connection, take_own_));
  }
}

void Acceptor::look_at(const std::shared_ptr<Connection>& connection) {
  const std::string_view expected = tls_ ? kHandshake : kPreface;
  std::array<char, 32> bytes{};
  const ssize_t size =
      ::recv(connection->descriptor(), bytes.data(), expected.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const std::string_view got(bytes.data(), size > 0 ? static_cast<size_t>(size) : 0);
  if (got.empty() || !expected.starts_with(got)) {
    connection->shut_down();
    return forget(connection);
  }
  if (got.size() == expected.size()) ready_.push_back(connection);
}

// gRPC takes much memory and time for calls that it refuses, so it gets few connections of
// strangers at a time. One that was shut down counts until gRPC
// has closed it.
void Acceptor::hand_on() {
  std::erase_if(handed_, [](const Handed& handed) {
    return handed.connection->known() || !handed.connection->has_descriptor(handed.descriptor);
  });
  for (const Handed& handed : handed_) {
    if (!handed.connection->is_shut_down()) connections_.check_bytes(*handed.connection);
  }
  while (!ready_.empty() && handed_.size() < kMaxHanded) {
    const std::shared_ptr<Connection> newest = std::move(ready_.back());
    ready_.pop_back();
    if (!watched_.contains(newest->descriptor()) || newest->is_shut_down()) continue;
    if (newest->waiting_bytes() > kMaxFirstBytes) {
      newest->shut_down();
      continue;
    }
    const int handed = hand_over(newest, take_);
    if (handed >= 0) handed_.push_back({newest, handed, Connection::Clock::now()});
  }
  if (ready_.empty() || Connection::Clock::now() - handed_.front().since < kHandedAtLeast) return;
  const auto oldest = std::ranges::find_if(
      handed_, [](const Handed& handed) { return !handed.connection->is_shut_down(); });
  if (oldest != handed_.end()) oldest->connection->shut_down();
}

int Acceptor::hand_over(const std::shared_ptr<Connection>& connection, const Take& take) {
  const int handed = ::fcntl(connection->descriptor(), F_DUPFD_CLOEXEC, 0);
  // gRPC reads the connection from now on; this descriptor is watched for its end alone.
  if (handed < 0 || !watch(events_, connection->descriptor(), 0, EPOLL_CTL_MOD)) {
    if (handed >= 0) ::close(handed);
    connection->shut_down();
    forget(connection);
    return -1;
  }
  take(handed);
  return handed;
}

void Acceptor::forget(const std::shared_ptr<Connection>& connection) {
  ::epoll_ctl(events_, EPOLL_CTL_DEL, connection->descriptor(), nullptr);
  connection->shut_down();
  watched_.erase(connection->descriptor());
  connections_.remove(*connection);
}

bool Acceptor::is_own(const Peer& peer) {
  const MutexLock lock(own_mutex_);
  const auto it = own_.find(peer);
  if (it == own_.end()) return false;
  it->second = true;
  return true;
}

std::optional<int> Acceptor::connect_own(double seconds) {
  const auto end = Connection::Clock::now() + std::chrono::duration<double>(seconds);
  socklen_t size = 0;
  const sockaddr_storage target = own_address(listener_.sockets().front(), size);
  sockaddr_storage source = target;
  set_port(source, 0);
  const int socket = ::socket(target.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::nullopt;
  std::optional<Peer> peer;
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&source), size) == 0) {
    socklen_t source_size = sizeof source;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&source), &source_size);
    peer = peer_of(source);
  }
  bool arrived = false;
  if (peer) {
    {
      const MutexLock lock(own_mutex_);
      own_[*peer] = false;
    }
    const bool begun = ::connect(socket, reinterpret_cast<const sockaddr*>(&target), size) == 0 ||
                       errno == EINPROGRESS;
    while (begun && !arrived && Connection::Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const MutexLock lock(own_mutex_);
      arrived = own_[*peer];
    }
    const MutexLock lock(own_mutex_);
    own_.erase(*peer);
  }
  if (arrived) return socket;
  ::close(socket);
  return std::nullopt;
}

}  // namespace systole::worker
