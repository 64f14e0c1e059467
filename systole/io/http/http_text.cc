#include <algorithm>
#include <array>
#include <ctime>
#include <limits>

#include "systole/io/http/http_client.h"

namespace systole::http {
namespace {

int hex_digit_value(char c) {
  if ('0' <= c && c <= '9') return c - '0';
  if ('a' <= c && c <= 'f') return c - 'a' + 10;
  if ('A' <= c && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

Code code_of_http_status(int status) {
  switch (status) {
    case 400:
    case 405:
    case 406:
    case 411:
    case 414:
      return Code::invalid_argument;
    case 401:
      return Code::unauthenticated;
    case 403:
    case 407:
      return Code::permission_denied;
    case 404:
    case 410:
      return Code::not_found;
    case 409:
      return Code::aborted;
    case 412:
    case 413:
      return Code::failed_precondition;
    case 416:
      return Code::out_of_range;
    case 499:
      return Code::cancelled;
    case 501:
      return Code::unimplemented;
    case 308:
    case 408:
    case 429:
      return Code::unavailable;
    default:
      break;
  }
  if (status / 100 == 3) return Code::failed_precondition;
  if (status / 100 == 5) return Code::unavailable;
  return Code::unknown;
}

bool is_transient_http_status(int status) {
  return status == 408 || status == 429 || (status / 100 == 5 && status != 501 && status != 505);
}

namespace {

bool is_control(char c) { return (0 <= c && c < 0x20) || c == 0x7f; }

bool is_token(std::string_view text) {
  const auto allowed = [](char c) {
    return is_unreserved(c) || std::string_view("!#$%&'*+^`|").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

}  // namespace

std::string refusal_of(const HttpRequest& request) {
  if (!is_token(request.method)) return "method: got other characters than a token's";
  if (std::ranges::any_of(request.url, [](char c) { return is_control(c) || c == ' '; })) {
    return "URL: got a space or a control character, expected it percent-encoded";
  }
  for (const HttpHeader& header : request.headers) {
    if (!is_token(header.name)) return "name of a header: got other characters than a token's";
    const auto wrong =
        std::ranges::find_if(header.value, [](char c) { return is_control(c) && c != '\t'; });
    if (wrong == header.value.end()) continue;
    return fmt::format("header {}: got the control character {:#04x} at byte {}, expected none",
                       header.name, static_cast<unsigned>(*wrong), wrong - header.value.begin());
  }
  return "";
}

std::string url_host(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return "";
  std::string_view host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (host.find_first_of("@\\ \t") != std::string_view::npos) return "";
  if (std::ranges::any_of(host, is_control)) return "";
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return "";
    host = host.substr(1, end - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  std::string lower(host);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return lower;
}

bool is_loopback_host(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  // A name such as 127.example.com is not on this machine.
  return host.starts_with("127.") && std::ranges::count(host, '.') == 3 &&
         std::ranges::all_of(host, [](char c) { return c == '.' || ('0' <= c && c <= '9'); });
}

bool keeps_secrets(std::string_view url) {
  const std::string host = url_host(url);
  return !host.empty() && (url.starts_with("https://") || is_loopback_host(host));
}

std::string percent_encoded(std::string_view text, bool keep_slash) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || (keep_slash && c == '/')) {
      result += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return result;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_digit_value(text[i + 1]);
      const int low = hex_digit_value(text[i + 2]);
      if (high >= 0 && low >= 0) {
        result += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    result += text[i];
  }
  return result;
}

std::optional<int64_t> parse_http_date(const std::string& text) {
  std::tm time{};
  const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&time);
}

std::optional<int64_t> parse_rfc3339(const std::string& text) {
  std::tm time{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) return std::nullopt;
  int64_t nanoseconds = 0;
  if (*rest == '.') {
    int64_t unit = 100'000'000;
    for (++rest; '0' <= *rest && *rest <= '9'; ++rest, unit /= 10) {
      nanoseconds += unit * (*rest - '0');
    }
  }
  if (std::string_view(rest) != "Z" && std::string_view(rest) != "+00:00") return std::nullopt;
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() / kSecond - 1;
  const int64_t seconds = ::timegm(&time);
  if (seconds > kLast) return std::numeric_limits<int64_t>::max();
  if (seconds < -kLast) return std::numeric_limits<int64_t>::min();
  return seconds * kSecond + nanoseconds;
}

}  // namespace systole::http
