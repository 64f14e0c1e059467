// Addresses of workers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace systole::worker {

// Splits "grpc://a:8470,grpc://b:8470" or "a:8470,b:8470" into "a:8470" and "b:8470". Errors:
// INVALID_ARGUMENT for an address without host or port; an IPv6 host stands in brackets.
std::vector<std::string> parse_addresses(std::string_view target);

// Returns whether only this machine can reach the address: its host is localhost, 127.x.x.x or
// [::1].
bool is_loopback(std::string_view address);

}  // namespace systole::worker
