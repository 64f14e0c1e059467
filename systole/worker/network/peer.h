// The address of the other end of a connection.
#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace systole::worker {

// An IPv4 address is the IPv6 address that stands for it.
struct Peer {
  std::array<uint8_t, 16> address{};
  uint16_t port = 0;
  auto operator<=>(const Peer&) const = default;  // NOLINT(modernize-use-nullptr): its zero
};

// Returns nullopt for addresses that are neither IPv4 nor IPv6.
std::optional<Peer> peer_of(const sockaddr_storage& address);
// Reads what gRPC calls a peer: "ipv4:127.0.0.1:4711", "ipv6:%5B::1%5D:4711".
std::optional<Peer> parse_peer(std::string_view text);

}  // namespace systole::worker
