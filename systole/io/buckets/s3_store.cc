#include "systole/io/buckets/s3_store.h"

#include "systole/base/environment.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/base/number_text.h"
#include "systole/io/buckets/object_names.h"
#include "systole/io/buckets/s3_internal.h"

namespace systole::buckets {
namespace {

constexpr std::chrono::seconds kToleratedSkew{240};
constexpr uint64_t kMaxCopyBytes = uint64_t{5} << 30;  // of one CopyObject

std::string first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    std::string value = environment_value(name);
    if (!value.empty()) return value;
  }
  return "";
}

uint64_t s3_size(const std::string& what, const std::string& text) {
  const auto size = parse_number<uint64_t>(text);
  if (!size) throw make_error(Code::data_loss, "{}, got no size of the object", what);
  return *size;
}

}  // namespace

S3Options s3_options_from_environment() {
  S3Options options;
  const auto settings = aws_profile_settings();
  std::string endpoint = first_of({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "S3_ENDPOINT"});
  const auto configured = settings.find("endpoint_url");
  if (endpoint.empty() && configured != settings.end() &&
      environment_value("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") != "true") {
    endpoint = configured->second;
  }
  if (!endpoint.empty() && endpoint.find("://") == std::string::npos) {
    endpoint = (environment_value("S3_USE_HTTPS") == "0" ? "http://" : "https://") + endpoint;
  }
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.empty() &&
      ((!endpoint.starts_with("http://") && !endpoint.starts_with("https://")) ||
       endpoint.find('/', endpoint.find("://") + 3) != std::string::npos)) {
    throw invalid_argument("S3 endpoint: got '{}', expected https://host:port", endpoint);
  }
  options.endpoint = endpoint;
  std::string region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION", "S3_REGION"});
  const auto configured_region = settings.find("region");
  if (region.empty() && configured_region != settings.end()) region = configured_region->second;
  if (!region.empty()) options.region = region;
  const std::string style = environment_value("SYSTOLE_S3_PATH_STYLE");
  options.path_style = style.empty() ? !endpoint.empty() : style != "0";
  return options;
}

ObjectPage parse_s3_page(const std::string& what, const std::string& body) {
  const pugi::xml_document document = parse_xml(body);
  const pugi::xml_node result = document.child("ListBucketResult");
  if (!result) {
    throw make_error(Code::data_loss, "{}, got no ListBucketResult in the answer", what);
  }
  // Names are encoded only if the server says so.
  const bool encoded = result.child_value("EncodingType") == std::string_view("url");
  const auto name_of = [&](const pugi::xml_node& element, const char* field) {
    std::string text = element.child_value(field);
    if (!encoded) return text;
    for (char& c : text) {
      if (c == '+') c = ' ';
    }
    return http::percent_decoded(text);
  };
  ObjectPage page;
  for (const pugi::xml_node& element : result.children("Contents")) {
    page.objects.push_back(
        {.key = name_of(element, "Key"),
         .size = s3_size(what, element.child_value("Size")),
         .version = checked_etag(what, element.child_value("ETag")),
         .modified_ns = http::parse_rfc3339(element.child_value("LastModified")).value_or(0)});
  }
  for (const pugi::xml_node& element : result.children("CommonPrefixes")) {
    page.prefixes.push_back(name_of(element, "Prefix"));
  }
  if (result.child("IsTruncated").text().as_bool()) {
    page.next = result.child_value("NextContinuationToken");
    if (page.next.empty()) {
      throw make_error(Code::data_loss, "{}, got a truncated page without a token", what);
    }
  }
  return page;
}

std::string copy_source(const ObjectName& name) {
  return "/" + http::percent_encoded(name.bucket) + "/" + http::percent_encoded(name.key, true);
}

S3Store::S3Store(const S3Options& options)
    : options_(options),
      client_(options.client == nullptr ? http::shared_http_client() : *options.client),
      clock_(options.retries.clock == nullptr ? real_clock() : *options.retries.clock),
      credentials_(client_, clock_),
      region_(options.region) {}

http::HttpRequest S3Store::request(const std::string& method, const ObjectName& name,
                                   const std::string& query) const {
  const std::string key = http::percent_encoded(name.key, true);
  // The certificate of <bucket>.<host> does not cover a bucket with dots.
  const bool path_style = options_.path_style || name.bucket.find('.') != std::string::npos;
  std::string endpoint = options_.endpoint;
  if (endpoint.empty()) endpoint = "https://s3." + options_.region + ".amazonaws.com";
  std::string url;
  if (path_style) {
    url = endpoint + "/" + http::percent_encoded(name.bucket) + "/" + key;
    if (key.empty()) url.pop_back();
  } else {
    const size_t host = endpoint.find("://") + 3;
    url = endpoint.substr(0, host) + name.bucket + "." + endpoint.substr(host) + "/" + key;
  }
  if (!query.empty()) url += "?" + query;
  return {.method = method, .url = std::move(url)};
}

http::HttpRequest S3Store::sign(http::HttpRequest request) {
  std::string region;
  auto now = clock_.now();
  {
    const MutexLock lock(mutex_);
    region = region_;
    now += skew_;
  }
  sign_s3_request(request, credentials_.keys(), region, now);
  return request;
}

bool S3Store::recover(const http::HttpResponse& response) {
  const std::string code = xml_text(response.body, "Code");
  // The answer to HEAD has no body that tells the reason.
  const bool untold = response.status == 400 && response.body.empty();
  if (code == "ExpiredToken" || untold) {
    const AwsKeys keys = credentials_.keys();
    if (keys.session_token.empty()) return false;
    credentials_.forget(keys);
    return true;
  }
  const MutexLock lock(mutex_);
  std::string region = response.header("x-amz-bucket-region");
  if (region.empty()) region = xml_text(response.body, "Region");
  if (!region.empty() && region != region_ && !options_.endpoint.empty()) {
    region_ = region;
    return true;
  }
  const auto date = http::parse_http_date(response.header("date"));
  if (response.status != 403 || !date) return false;
  const auto skew = std::chrono::seconds(*date) - std::chrono::duration_cast<std::chrono::seconds>(
                                                      clock_.now().time_since_epoch());
  if (std::chrono::abs(skew - skew_) < kToleratedSkew) return false;
  skew_ = skew;
  return true;
}

http::HttpResponse S3Store::send_any(const std::string& what, const http::HttpRequest& request,
                                     int* attempts) {
  return http::send_retried(client_, options_.retries,
                            {.what = what,
                             .make =
                                 [&](int) {
                                   if (attempts != nullptr) ++*attempts;
                                   return sign(request);
                                 },
                             .recover = [&](const auto& response) { return recover(response); },
                             .error_text = &xml_error_text});
}

namespace {

enum class Answer { done, again };

// Throws the error of an answer that is not the expected one.
Answer checked_answer(const std::string& what, const http::HttpRequest& request,
                      const http::HttpResponse& response, int expected, http::Backoff& backoff) {
  const std::string text = xml_error_text(response.body);
  if (response.status != expected) throw http::http_error(what, response, text);
  if (text.empty() || request.method == "GET") return Answer::done;
  // A long operation answers 200 before it knows whether it succeeds.
  const bool transient = text.starts_with("InternalError") || text.starts_with("SlowDown");
  if (transient && backoff.wait(nullptr, text)) return Answer::again;
  throw make_error(transient ? Code::unavailable : Code::failed_precondition,
                   "{}, got HTTP 200 with the error '{}'", what, text);
}

http::HttpHeader condition_of(const Precondition& precondition) {
  if (precondition.version.empty()) return {"If-None-Match", "*"};
  return {"If-Match", precondition.version};
}

}  // namespace

http::HttpResponse S3Store::send(const std::string& what, const http::HttpRequest& request,
                                 int expected) {
  http::Backoff backoff(options_.retries, what);
  while (true) {
    http::HttpResponse response = send_any(what, request);
    if (checked_answer(what, request, response, expected, backoff) == Answer::done) return response;
  }
}

std::optional<http::HttpResponse> S3Store::send_write(const std::string& what,
                                                      const ObjectName& name,
                                                      http::HttpRequest request,
                                                      const Precondition& precondition,
                                                      const std::string& etag) {
  http::Backoff backoff(options_.retries, what);
  int attempts = 0;
  bool conditional = conditional_ && !precondition.any;
  if (conditional) request.headers.push_back(condition_of(precondition));
  while (true) {
    http::HttpResponse response = send_any(what, request, &attempts);
    const std::string code = xml_text(response.body, "Code");
    // Another write of the object was under way.
    if (conditional && response.status == 409 && code == "ConditionalRequestConflict" &&
        backoff.wait(&response)) {
      continue;
    }
    if (conditional && response.status == 501 && code == "NotImplemented") {
      log_once(LogLevel::warning,
               "{}: no conditional writes (HTTP 501); the last writer of an object wins",
               options_.endpoint.empty() ? "S3" : options_.endpoint);
      conditional_ = conditional = false;
      request.headers.pop_back();
      continue;
    }
    // 404: the object or the upload is gone.
    const bool refused =
        response.status == 412 || (response.status == 404 && code != "NoSuchBucket");
    if (refused && attempts > 1 && !etag.empty()) {
      const auto present = find(name);
      if (present && present->version == etag) return std::nullopt;
    }
    if (conditional && (response.status == 412 || (refused && code == "NoSuchKey"))) {
      throw failed_precondition("{}, got HTTP {}: another process has written the object", what,
                                response.status);
    }
    if (checked_answer(what, request, response, 200, backoff) == Answer::done) return response;
  }
}

std::optional<ObjectInfo> S3Store::find(const ObjectName& name) {
  const std::string what = object_path(*this, name) + ": cannot stat";
  const http::HttpResponse response = send_any(what, request("HEAD", name));
  if (response.status == 404) return std::nullopt;
  if (response.status != 200) throw http::http_error(what, response);
  return ObjectInfo{
      .key = name.key,
      .size = s3_size(what, response.header("content-length")),
      .version = checked_etag(what, response.header("etag")),
      .modified_ns = http::parse_http_date(response.header("last-modified")).value_or(0) *
                     int64_t{1'000'000'000}};
}

ObjectPage S3Store::list(const ListRequest& list) {
  const std::string what = object_path(*this, {list.bucket, list.prefix}) + ": cannot list";
  std::string query = "encoding-type=url&list-type=2";
  query +=
      fmt::format("&max-keys={}&prefix={}", list.max_objects, http::percent_encoded(list.prefix));
  if (list.directory) query += "&delimiter=%2F";
  if (!list.token.empty()) query += "&continuation-token=" + http::percent_encoded(list.token);
  const http::HttpResponse response = send(what, request("GET", {list.bucket, ""}, query));
  return parse_s3_page(what, response.body);
}

http::HttpRequest S3Store::read_request(const ObjectName& name, const std::string& version,
                                        uint64_t offset, uint64_t size) {
  http::HttpRequest result = request("GET", name);
  result.headers.push_back({"Range", fmt::format("bytes={}-{}", offset, offset + size - 1)});
  if (!version.empty()) result.headers.push_back({"If-Match", version});
  return sign(std::move(result));
}

std::unique_ptr<ObjectUpload> S3Store::upload(const ObjectName& name,
                                              const Precondition& precondition,
                                              const ObjectInfo* base) {
  // To add to an object is to write it again from what it was.
  const bool added = base != nullptr && !base->version.empty();
  return make_s3_upload(*this, name,
                        added ? Precondition{.any = false, .version = base->version} : precondition,
                        base);
}

void S3Store::copy(const ObjectName& from, const ObjectInfo& info, const ObjectName& to,
                   const Precondition& precondition) {
  const std::string what =
      fmt::format("{}: cannot copy to {}", object_path(*this, from), object_path(*this, to));
  if (info.size > kMaxCopyBytes) {
    throw unimplemented("{}, got an object of {} bytes, expected at most {}", what, info.size,
                        kMaxCopyBytes);
  }
  http::HttpRequest result = request("PUT", to);
  result.headers = {{"x-amz-copy-source", copy_source(from)},
                    {"x-amz-copy-source-if-match", info.version}};
  // Without new metadata an object cannot be copied to itself.
  if (from.bucket == to.bucket && from.key == to.key) {
    result.headers.push_back({"x-amz-metadata-directive", "REPLACE"});
  }
  // The ETag of a copy is that of the object, unless the object was written in parts.
  const bool in_parts = info.version.find('-') != std::string::npos;
  send_write(what, to, std::move(result), precondition, in_parts ? "" : info.version);
}

void S3Store::remove(const ObjectName& name) {
  send(object_path(*this, name) + ": cannot remove", request("DELETE", name), 204);
}

std::unique_ptr<ObjectStore> make_s3_store(const S3Options& options) {
  return std::make_unique<S3Store>(options);
}

}  // namespace systole::buckets
