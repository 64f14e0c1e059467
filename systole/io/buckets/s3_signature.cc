#include "systole/io/buckets/s3_signature.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>

#include "systole/io/wire/crypto.h"

namespace systole::buckets {
namespace {

std::string utc_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm broken{};
  ::gmtime_r(&seconds, &broken);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &broken);
  return {text.data(), size};
}

std::string lower_text(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

// Parameters sorted by name, each with a '='.
std::string canonical_query(std::string_view query) {
  std::map<std::string, std::string> parameters;
  for (size_t begin = 0; begin < query.size();) {
    const size_t end = std::min(query.find('&', begin), query.size());
    const std::string_view item = query.substr(begin, end - begin);
    const size_t equals = std::min(item.find('='), item.size());
    parameters[std::string(item.substr(0, equals))] =
        equals < item.size() ? item.substr(equals + 1) : "";
    begin = end + 1;
  }
  std::string result;
  for (const auto& [name, value] : parameters) {
    result += fmt::format("{}{}={}", result.empty() ? "" : "&", name, value);
  }
  return result;
}

}  // namespace

void sign_s3_request(http::HttpRequest& request, const AwsKeys& keys, const std::string& region,
                     std::chrono::system_clock::time_point time) {
  const std::string now = utc_text(time);
  const std::string date = now.substr(0, 8);
  const std::string body_hash = crypto::hex_text(crypto::sha256(request.body));
  request.headers.push_back({"x-amz-date", now});
  request.headers.push_back({"x-amz-content-sha256", body_hash});
  if (!keys.session_token.empty()) {
    request.headers.push_back({"x-amz-security-token", keys.session_token});
  }

  const std::string_view url = request.url;
  const size_t host = url.find("://") + 3;
  const size_t path = std::min(url.find('/', host), url.size());
  const size_t query = std::min(url.find('?', path), url.size());
  std::map<std::string, std::string> headers = {
      {"host", std::string(url.substr(host, path - host))}};
  for (const auto& [name, value] : request.headers) headers[lower_text(name)] = value;

  std::string canonical_headers;
  std::string signed_headers;
  for (const auto& [name, value] : headers) {
    canonical_headers += fmt::format("{}:{}\n", name, value);
    signed_headers += (signed_headers.empty() ? "" : ";") + name;
  }
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method,
                  path == query ? "/" : url.substr(path, query - path),
                  canonical_query(url.substr(std::min(query + 1, url.size()))), canonical_headers,
                  signed_headers, body_hash);
  const std::string scope = date + "/" + region + "/s3/aws4_request";
  const std::string text = "AWS4-HMAC-SHA256\n" + now + "\n" + scope + "\n" +
                           crypto::hex_text(crypto::sha256(canonical));
  std::string key = crypto::hmac_sha256("AWS4" + keys.secret_key, date);
  for (const std::string& part : {region, std::string("s3"), std::string("aws4_request")}) {
    key = crypto::hmac_sha256(key, part);
  }
  request.headers.push_back(
      {"Authorization",
       fmt::format("AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={},Signature={}",
                   keys.access_key, scope, signed_headers,
                   crypto::hex_text(crypto::hmac_sha256(key, text)))});
}

}  // namespace systole::buckets
