#include "systole/worker/network/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "systole/base/error.h"
#include "systole/worker/network/peer.h"

namespace systole::worker {
namespace {

// Connections that wait to be accepted.
constexpr int kBacklog = 4096;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& address) {
  const auto colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure =
      ::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (failure != 0) {
    throw make_error(Code::unavailable, "worker: cannot listen at '{}': {}", address,
                     ::gai_strerror(failure));
  }
  return {found, &::freeaddrinfo};
}

int port_of(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size);
  const auto peer = peer_of(own);
  return peer ? peer->port : 0;
}

// Listens at an address, with another port unless `port` is 0. Returns the socket, or -1.
int listen_at(const addrinfo& info, int port) {
  const int made = ::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  sockaddr_storage address{};
  std::memcpy(&address, info.ai_addr, info.ai_addrlen);
  const int yes = 1;
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  // A small window at first, which can grow: a fixed buffer would bound it for ever.
  const int unlocked = 0;
  ::setsockopt(made, SOL_SOCKET, SO_RCVBUF, &kSmallBuffer, sizeof kSmallBuffer);
  ::setsockopt(made, SOL_SOCKET, kBufferLock, &unlocked, sizeof unlocked);
  if (info.ai_family == AF_INET6) {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
    const int only = IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr) ? 0 : 1;
    ::setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    if (port != 0) ipv6.sin6_port = htons(static_cast<uint16_t>(port));
  } else if (port != 0) {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<uint16_t>(port));
  }
  if (::bind(made, reinterpret_cast<const sockaddr*>(&address), info.ai_addrlen) == 0 &&
      ::listen(made, kBacklog) == 0) {
    return made;
  }
  const int failure = errno;
  ::close(made);
  errno = failure;
  return -1;
}

}  // namespace

Listener::Listener(const std::string& address) {
  const Addresses addresses = resolve(address);
  int failure = 0;
  for (const addrinfo* info = addresses.get(); info != nullptr; info = info->ai_next) {
    const int made = listen_at(*info, port_);
    if (made < 0) {
      failure = errno;
      continue;
    }
    sockets_.push_back(made);
    port_ = worker::port_of(made);
  }
  if (!sockets_.empty()) return;
  throw make_error(
      Code::unavailable,
      "worker: cannot listen at '{}': is the address in use, or not this machine's? {}", address,
      std::strerror(failure));  // NOLINT(concurrency-mt-unsafe)
}

Listener::~Listener() {
  for (const int made : sockets_) ::close(made);
}

}  // namespace systole::worker
