#include "systole/io/buckets/gcs_store.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "systole/base/environment.h"
#include "systole/base/number_text.h"
#include "systole/io/buckets/gcs_internal.h"
#include "systole/io/wire/crc32c.h"
#include "systole/io/wire/crypto.h"

namespace systole::buckets {
namespace {

using Json = nlohmann::json;

constexpr const char* kObjectFields = "name,size,generation,updated,crc32c";

std::optional<uint32_t> crc32c_of_base64(const std::string& text) {
  const std::string bytes = crypto::base64_decoded(text);
  if (bytes.size() != 4) return std::nullopt;
  uint32_t value = 0;
  for (const char byte : bytes) value = (value << 8U) | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

std::string crc32c_as_base64(uint32_t crc) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((crc >> shift) & 0xFFU);
  return crypto::base64(bytes);
}

ObjectInfo gcs_object_info(const std::string& path, const std::string& body) {
  return gcs_object_info(path, Json::parse(body, nullptr, false));
}

ObjectInfo gcs_object_info(const std::string& path, const Json& json) {
  const auto text = [&](const char* field) -> std::string {
    if (!json.is_object() || !json.contains(field) || !json[field].is_string()) return "";
    return json[field].get<std::string>();
  };
  const auto size = parse_number<uint64_t>(text("size"));
  ObjectInfo info{.key = text("name"), .version = text("generation")};
  if (!size || info.key.empty() || info.version.empty()) {
    throw make_error(Code::data_loss,
                     "{}: description of the object, got no name, size or generation", path);
  }
  info.size = *size;
  info.modified_ns = http::parse_rfc3339(text("updated")).value_or(0);
  info.crc32c = crc32c_of_base64(text("crc32c"));
  return info;
}

ObjectPage parse_gcs_page(const std::string& path, const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object())
    throw make_error(Code::data_loss, "{}: list of objects, got no JSON object", path);
  ObjectPage page;
  if (json.contains("items") && json["items"].is_array()) {
    for (const Json& item : json["items"]) page.objects.push_back(gcs_object_info(path, item));
  }
  if (json.contains("prefixes") && json["prefixes"].is_array()) {
    for (const Json& prefix : json["prefixes"]) {
      if (prefix.is_string()) page.prefixes.push_back(prefix.get<std::string>());
    }
  }
  if (json.contains("nextPageToken") && json["nextPageToken"].is_string()) {
    page.next = json["nextPageToken"].get<std::string>();
  }
  return page;
}

GcsOptions gcs_options_from_environment() {
  GcsOptions options;
  for (const char* name : {"STORAGE_EMULATOR_HOST", "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"}) {
    std::string url = environment_value(name);
    if (url.empty()) continue;
    if (url.find("://") == std::string::npos) url.insert(0, "http://");
    if (!url.starts_with("http://") && !url.starts_with("https://")) {
      throw invalid_argument("{}: URL, got '{}', expected http://host:port", name, url);
    }
    const size_t path = url.find('/', url.find("://") + 3);
    options.endpoint = url.substr(0, path);
    options.authenticate = std::strcmp(name, "STORAGE_EMULATOR_HOST") != 0;
    break;
  }
  return options;
}

GcsStore::GcsStore(const GcsOptions& options)
    : options_(options),
      client_(options.client == nullptr ? http::shared_http_client() : *options.client),
      credentials_(client_, options.retries,
                   options.retries.clock == nullptr ? real_clock() : *options.retries.clock) {}

std::string GcsStore::object_url(const ObjectName& name) const {
  return fmt::format("{}/storage/v1/b/{}/o/{}", options_.endpoint,
                     http::percent_encoded(name.bucket), http::percent_encoded(name.key));
}

std::string GcsStore::upload_url(const ObjectName& name, const std::string& type,
                                 const Precondition& precondition) const {
  return fmt::format("{}/upload/storage/v1/b/{}/o?uploadType={}&name={}{}", options_.endpoint,
                     http::percent_encoded(name.bucket), type, http::percent_encoded(name.key),
                     precondition_query(precondition));
}

std::string GcsStore::precondition_query(const Precondition& precondition) {
  if (precondition.any) return "";
  return "&ifGenerationMatch=" + (precondition.version.empty() ? "0" : precondition.version);
}

http::HttpRequest GcsStore::request(const std::string& method, std::string url) {
  http::HttpRequest request{.method = method, .url = std::move(url)};
  if (options_.authenticate) {
    request.headers.push_back({"Authorization", "Bearer " + credentials_.token()});
  }
  return request;
}

http::HttpResponse GcsStore::send(const std::string& what,
                                  const std::function<http::HttpRequest(int)>& make) {
  return http::send_retried(client_, options_.retries,
                            {.what = what, .make = make, .recover = [&](const auto& response) {
                               return recover(response);
                             }});
}

Error GcsStore::error(const std::string& what, const http::HttpResponse& response) {
  return http::http_error(what, response, http::json_error_text(response.body));
}

bool GcsStore::recover(const http::HttpResponse& response) {
  if (response.status != 401 || !options_.authenticate) return false;
  credentials_.forget(credentials_.token());
  return true;
}

std::optional<ObjectInfo> GcsStore::find(const ObjectName& name) {
  const std::string path = object_path(*this, name);
  const auto response = send(path + ": cannot stat", [&](int) {
    return request("GET", object_url(name) + "?fields=" + kObjectFields);
  });
  if (response.status == 404) return std::nullopt;
  if (response.status != 200) throw error(path + ": cannot stat", response);
  return gcs_object_info(path, response.body);
}

ObjectPage GcsStore::list(const ListRequest& list) {
  const std::string path = object_path(*this, {list.bucket, list.prefix});
  std::string url = fmt::format("{}/storage/v1/b/{}/o?prefix={}&maxResults={}", options_.endpoint,
                                http::percent_encoded(list.bucket),
                                http::percent_encoded(list.prefix), list.max_objects);
  if (list.directory) url += "&delimiter=%2F";
  if (!list.token.empty()) url += "&pageToken=" + http::percent_encoded(list.token);
  url += fmt::format("&fields=items({}),prefixes,nextPageToken", kObjectFields);
  const std::string what = path + ": cannot list";
  const auto response = send(what, [&](int) { return request("GET", url); });
  if (response.status != 200) throw error(what, response);
  return parse_gcs_page(path, response.body);
}

http::HttpRequest GcsStore::read_request(const ObjectName& name, const std::string& version,
                                         uint64_t offset, uint64_t size) {
  http::HttpRequest result = request("GET", object_url(name) + "?alt=media&generation=" + version);
  result.headers.push_back({"Range", fmt::format("bytes={}-{}", offset, offset + size - 1)});
  return result;
}

ObjectInfo GcsStore::settle(const std::string& what, const ObjectName& name,
                            const http::HttpResponse& response, bool retried, uint64_t size,
                            uint32_t crc) {
  if (response.status == 200 || response.status == 201) {
    ObjectInfo info = gcs_object_info(object_path(*this, name), response.body);
    if (info.size == size && (!info.crc32c || *info.crc32c == crc)) return info;
    send(what, [&](int) {
      return request("DELETE", object_url(name) + "?ifGenerationMatch=" + info.version);
    });
    throw make_error(Code::data_loss,
                     "{}, got {} bytes with crc32c {:#010x} in the bucket, expected {} with "
                     "{:#010x}; removed",
                     what, info.size, info.crc32c.value_or(0), size, crc);
  }
  if (response.status == 412) {
    // The answer to an earlier attempt may have been lost after the write had happened.
    const auto info = retried ? find(name) : std::nullopt;
    if (info && info->size == size && info->crc32c == crc) return *info;
    throw failed_precondition("{}, got HTTP 412: another process has written the object", what);
  }
  throw error(what, response);
}

ObjectInfo GcsStore::compose(const ObjectName& name, const ObjectInfo& base, const ObjectName& part,
                             const ObjectInfo& added) {
  const std::string what = object_path(*this, name) + ": cannot append";
  const Json body = {{"sourceObjects",
                      {{{"name", name.key}, {"generation", base.version}},
                       {{"name", part.key}, {"generation", added.version}}}},
                     {"destination", {{"contentType", "application/octet-stream"}}}};
  int attempts = 0;
  const auto response = send(what, [&](int) {
    ++attempts;
    auto result = request("POST", object_url(name) + "/compose?fields=" + kObjectFields +
                                      "&ifGenerationMatch=" + base.version);
    result.headers.push_back({"Content-Type", "application/json"});
    result.body = body.dump();
    return result;
  });
  // 404: the version to append to is gone. 412: another one is there.
  if (response.status == 404 && attempts == 1) {
    throw failed_precondition("{}, got HTTP 404: another process has written the object", what);
  }
  const uint32_t crc = crc32c_joined(base.crc32c.value_or(0), added.crc32c.value_or(0), added.size);
  return settle(what, name, response, attempts > 1, base.size + added.size, crc);
}

std::unique_ptr<ObjectUpload> GcsStore::upload(const ObjectName& name,
                                               const Precondition& precondition,
                                               const ObjectInfo* base) {
  if (base == nullptr || base->size == 0) {
    return make_gcs_upload(*this, name, precondition, options_.part_bytes);
  }
  return make_gcs_append(*this, name, *base, options_.part_bytes);
}

void GcsStore::copy(const ObjectName& from, const ObjectInfo& info, const ObjectName& to,
                    const Precondition& precondition) {
  const std::string what =
      fmt::format("{}: cannot copy to {}", object_path(*this, from), object_path(*this, to));
  std::string token;
  while (true) {
    const std::string url =
        fmt::format("{}/rewriteTo/b/{}/o/{}?ifSourceGenerationMatch={}{}{}", object_url(from),
                    http::percent_encoded(to.bucket), http::percent_encoded(to.key), info.version,
                    precondition_query(precondition),
                    token.empty() ? "" : "&rewriteToken=" + http::percent_encoded(token));
    int attempts = 0;
    const auto response = send(what, [&](int) {
      ++attempts;
      return request("POST", url);
    });
    if (response.status == 412) {
      const auto present = attempts > 1 ? find(to) : std::nullopt;
      if (present && present->size == info.size && present->crc32c == info.crc32c) return;
      throw failed_precondition("{}, got HTTP 412: another process has written one of the two",
                                what);
    }
    if (response.status != 200) throw error(what, response);
    const Json json = Json::parse(response.body, nullptr, false);
    if (!json.is_object()) throw make_error(Code::data_loss, "{}, got no JSON object", what);
    if (json.value("done", false)) return;
    const std::string next = json.value("rewriteToken", "");
    if (next.empty()) throw make_error(Code::data_loss, "{}, got no rewriteToken", what);
    token = next;
  }
}

void GcsStore::remove(const ObjectName& name) {
  const std::string what = object_path(*this, name) + ": cannot remove";
  int attempts = 0;
  const auto response = send(what, [&](int) {
    ++attempts;
    return request("DELETE", object_url(name));
  });
  if (response.status == 204 || response.status == 200) return;
  if (response.status == 404 && attempts > 1) return;  // an earlier attempt removed it
  throw error(what, response);
}

std::unique_ptr<ObjectStore> make_gcs_store(const GcsOptions& options) {
  return std::make_unique<GcsStore>(options);
}

}  // namespace systole::buckets
