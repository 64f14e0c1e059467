#include "systole/worker/network/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <string>

namespace systole::worker {
namespace {

Peer of_ipv4(const in_addr& address, uint16_t port) {
  Peer peer{.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, .port = port};
  std::memcpy(peer.address.data() + 12, &address, sizeof address);
  return peer;
}

Peer of_ipv6(const in6_addr& address, uint16_t port) {
  Peer peer{.port = port};
  std::memcpy(peer.address.data(), &address, sizeof address);
  return peer;
}

}  // namespace

std::optional<Peer> peer_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address, sizeof ipv4);
    return of_ipv4(ipv4.sin_addr, ntohs(ipv4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address, sizeof ipv6);
    return of_ipv6(ipv6.sin6_addr, ntohs(ipv6.sin6_port));
  }
  return std::nullopt;
}

std::optional<Peer> parse_peer(std::string_view text) {
  constexpr std::string_view kIpv4 = "ipv4:";
  constexpr std::string_view kIpv6 = "ipv6:";
  const bool is_ipv4 = text.starts_with(kIpv4);
  if (!is_ipv4 && !text.starts_with(kIpv6)) return std::nullopt;
  const auto colon = text.rfind(':');
  if (colon < kIpv4.size()) return std::nullopt;
  const std::string_view port_text = text.substr(colon + 1);
  uint16_t port = 0;
  if (std::from_chars(port_text.data(), port_text.data() + port_text.size(), port).ec !=
      std::errc()) {
    return std::nullopt;
  }
  std::string host(text.substr(kIpv4.size(), colon - kIpv4.size()));
  if (is_ipv4) {
    in_addr address{};
    if (inet_pton(AF_INET, host.c_str(), &address) != 1) return std::nullopt;
    return of_ipv4(address, port);
  }
  // Brackets are percent-encoded; what follows a percent sign within them is the scope.
  for (const std::string_view bracket : {"%5B", "["}) {
    if (host.starts_with(bracket)) host.erase(0, bracket.size());
  }
  host = host.substr(0, host.find_first_of("%]"));
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return std::nullopt;
  return of_ipv6(address, port);
}

}  // namespace systole::worker
