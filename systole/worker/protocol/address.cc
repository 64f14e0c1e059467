#include "systole/worker/protocol/address.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "systole/base/error.h"

namespace systole::worker {
namespace {

constexpr std::string_view kScheme = "grpc://";

bool is_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

std::string parse_address(std::string_view text) {
  const std::string_view address = text.starts_with(kScheme) ? text.substr(kScheme.size()) : text;
  const auto colon = address.rfind(':');
  const bool complete = colon != std::string_view::npos && colon > 0 &&
                        is_port(address.substr(colon + 1)) &&
                        address.find('/') == std::string_view::npos;
  const std::string_view host = address.substr(0, complete ? colon : 0);
  const bool ipv6 = host.starts_with('[') && host.ends_with(']');
  if (!complete || (!ipv6 && host.find(':') != std::string_view::npos)) {
    throw invalid_argument("worker: address, got '{}', expected '{}host:port'", text,
                           text.starts_with(kScheme) ? kScheme : "");
  }
  return std::string(address);
}

}  // namespace

std::vector<std::string> parse_addresses(std::string_view target) {
  std::vector<std::string> addresses;
  while (true) {
    const auto comma = target.find(',');
    addresses.push_back(parse_address(target.substr(0, comma)));
    if (comma == std::string_view::npos) return addresses;
    target.remove_prefix(comma + 1);
  }
}

bool is_loopback(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  // A name such as 127.example.com is not on this machine.
  return host.starts_with("127.") && std::ranges::count(host, '.') == 3 &&
         std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

}  // namespace systole::worker
