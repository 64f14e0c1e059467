#include "systole/io/buckets/object_names.h"

#include <algorithm>

#include "systole/base/escape.h"
#include "systole/base/text.h"

namespace systole::buckets {
namespace {

constexpr size_t kMinBucketBytes = 3;
constexpr size_t kMaxBucketBytes = 63;
constexpr size_t kMaxDottedBucketBytes = 222;  // gs
constexpr size_t kMaxKeyBytes = 1024;

bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || ('a' <= c && c <= 'z'); }
bool is_control(char c) { return (0 <= c && c < 0x20) || c == 0x7f; }

bool is_ipv4(std::string_view text) {
  return std::ranges::count(text, '.') == 3 &&
         std::ranges::all_of(text, [](char c) { return c == '.' || is_digit(c); });
}

// Returns what is wrong, or nullptr.
const char* fault_of_bucket(std::string_view bucket, bool gcs) {
  const bool dotted = gcs && bucket.find('.') != std::string_view::npos;
  if (bucket.size() < kMinBucketBytes ||
      bucket.size() > (dotted ? kMaxDottedBucketBytes : kMaxBucketBytes)) {
    return "3 to 63 characters";
  }
  const auto allowed = [&](char c) {
    return is_alphanumeric(c) || c == '-' || c == '.' || (gcs && c == '_');
  };
  if (!std::ranges::all_of(bucket, allowed)) return "lower-case letters, digits, '-' and '.'";
  if (!is_alphanumeric(bucket.front()) || !is_alphanumeric(bucket.back())) {
    return "a letter or a digit at both ends";
  }
  if (bucket.find("..") != std::string_view::npos) return "no two dots side by side";
  if (is_ipv4(bucket)) return "no IP address";
  for (size_t begin = 0; dotted && begin < bucket.size();) {
    const size_t end = std::min(bucket.find('.', begin), bucket.size());
    if (end - begin > kMaxBucketBytes) return "at most 63 characters between dots";
    begin = end + 1;
  }
  return nullptr;
}

const char* fault_of_key(std::string_view key) {
  if (key.size() > kMaxKeyBytes) return "at most 1024 bytes";
  if (key.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
    return "no ends of lines and no NUL";
  }
  while (!key.empty()) {
    const size_t size = utf8_length(key);
    if (size == 0) return "UTF-8";
    key.remove_prefix(size);
  }
  return nullptr;
}

}  // namespace

void check_object_name(std::string_view scheme, const std::string& path, const ObjectName& name) {
  const std::string shown = escaped(path, {.ascii = true});
  if (const char* expected = fault_of_bucket(name.bucket, scheme == "gs")) {
    throw invalid_argument("{}: bucket, got '{}', expected {}", shown,
                           escaped(name.bucket, {.ascii = true}), expected);
  }
  if (const char* expected = fault_of_key(name.key)) {
    throw invalid_argument("{}: name of an object, got {} bytes, expected {}", shown,
                           name.key.size(), expected);
  }
}

std::string checked_etag(const std::string& what, std::string etag) {
  if (std::ranges::none_of(etag, is_control)) return etag;
  throw make_error(Code::data_loss,
                   "{}, got the ETag '{}', expected one without control characters", what,
                   escaped(etag, {.ascii = true}));
}

}  // namespace systole::buckets
