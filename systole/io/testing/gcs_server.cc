#include "systole/io/testing/gcs_server.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/io/http/http_client.h"
#include "systole/io/wire/crc32c.h"
#include "systole/io/wire/crypto.h"

namespace systole::testing {
namespace {

using Json = nlohmann::json;
using http::percent_decoded;

constexpr size_t kQuantum = size_t{256} << 10;

ServerResponse json_response(int status, const Json& json) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = json.dump()};
}

ServerResponse gcs_error(int status, const std::string& reason, const std::string& message) {
  return json_response(
      status, {{"error",
                {{"code", status},
                 {"message", message},
                 {"errors", {{{"domain", "global"}, {"reason", reason}, {"message", message}}}}}}});
}

std::string gcs_crc(const std::string& bytes) {
  const uint32_t crc = crc32c(bytes);
  std::string big_endian;
  for (int shift = 24; shift >= 0; shift -= 8) big_endian += static_cast<char>(crc >> shift);
  return crypto::base64(big_endian);
}

std::vector<std::string> path_parts(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(percent_decoded(path.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

// Returns the first query parameter of the request that is not in `known`; "" if all are.
std::string unknown_param(const ServerRequest& request, const std::set<std::string>& known) {
  for (const auto& [name, value] : request.params) {
    if (!known.contains(name)) return name;
  }
  return "";
}

Json object_json(const std::string& bucket, const std::string& key, const std::string& bytes,
                 int64_t generation, int64_t modified) {
  return {{"kind", "storage#object"},
          {"bucket", bucket},
          {"name", key},
          {"size", std::to_string(bytes.size())},
          {"generation", std::to_string(generation)},
          {"updated", format_utc(modified, "%Y-%m-%dT%H:%M:%S.000Z")},
          {"crc32c", gcs_crc(bytes)}};
}

}  // namespace

GcsServer::GcsServer(GcsServerOptions options) : options_(options) {
  buckets_["bucket"];
  http_ = std::make_unique<HttpServer>([this](const ServerRequest& request) {
    if (other_api) {
      ServerResponse response = other_api(request);
      if (response.status != 0) return response;
    }
    const MutexLock lock(mutex_);
    return handle(request);
  });
}

GcsServer::~GcsServer() { http_.reset(); }

void GcsServer::put(const std::string& bucket, const std::string& key, std::string contents) {
  const MutexLock lock(mutex_);
  finish(bucket, key, "", std::move(contents));
}

std::map<std::string, std::string> GcsServer::contents(const std::string& bucket) const {
  const MutexLock lock(mutex_);
  std::map<std::string, std::string> result;
  const auto found = buckets_.find(bucket);
  if (found == buckets_.end()) return result;
  for (const auto& [key, object] : found->second) result[key] = *object.bytes;
  return result;
}

ServerResponse GcsServer::handle(const ServerRequest& request) {
  const std::vector<std::string> parts = path_parts(request.path);
  const auto starts = [&](const std::vector<std::string>& begin) {
    return parts.size() >= begin.size() && std::equal(begin.begin(), begin.end(), parts.begin());
  };
  if (starts({"computeMetadata", "v1"})) return metadata(request);
  if (starts({"token"})) return token(request);
  if (starts({"session"})) return session(request);  // its name is the credential
  if (options_.authenticate) {
    const std::string bearer = request.header("authorization");
    const auto found = tokens_.find(bearer.starts_with("Bearer ") ? bearer.substr(7) : "");
    if (found == tokens_.end() || found->second == 0) {
      return gcs_error(401, "authError", "Invalid Credentials");
    }
    if (found->second > 0) --found->second;
  }
  const bool uploads = starts({"upload", "storage", "v1", "b"}) && parts.size() == 6;
  if (!uploads && !(starts({"storage", "v1", "b"}) && parts.size() >= 5)) {
    return gcs_error(404, "notFound", "no such path");
  }
  const std::string& bucket = parts[uploads ? 4 : 3];
  if (!buckets_.contains(bucket)) {
    return gcs_error(404, "notFound", "The specified bucket does not exist.");
  }
  if (uploads) return upload(request, bucket);
  if (parts.size() == 5) return list(request, buckets_.at(bucket));
  const std::string& key = parts[5];
  if (parts.size() == 6) return object(request, bucket, key);
  if (parts.size() == 7 && parts[6] == "compose") return compose(request, bucket, key);
  if (parts.size() == 11 && parts[6] == "rewriteTo") {
    return rewrite(request, bucket, key, parts[10]);
  }
  return gcs_error(404, "notFound", "no such path");
}

ServerResponse GcsServer::list(const ServerRequest& request, const Bucket& bucket) const {
  const std::string unknown =
      unknown_param(request, {"prefix", "delimiter", "pageToken", "maxResults", "fields"});
  if (!unknown.empty() || request.method != "GET") {
    return gcs_error(400, "invalid", "unknown parameter " + unknown);
  }
  const std::string prefix = request.param("prefix");
  const std::string delimiter = request.param("delimiter");
  size_t limit = options_.page_size;
  if (!request.param("maxResults").empty()) {
    limit = std::min<size_t>(limit, std::stoul(request.param("maxResults")));
  }
  Json json = {{"kind", "storage#objects"}};
  std::string last_prefix;
  size_t count = 0;
  for (auto it = bucket.lower_bound(std::max(prefix, request.param("pageToken")));
       it != bucket.end() && it->first.starts_with(prefix); ++it) {
    const size_t end =
        delimiter.empty() ? std::string::npos : it->first.find(delimiter, prefix.size());
    const std::string group = end == std::string::npos ? "" : it->first.substr(0, end + 1);
    if (!group.empty() && group == last_prefix) continue;
    if (count == limit) {
      json["nextPageToken"] = it->first;
      break;
    }
    ++count;
    if (!group.empty()) {
      // A page may begin inside a group that the page before has shown.
      const std::string token = request.param("pageToken");
      last_prefix = group;
      if (token.starts_with(group) && token != group && bucket.lower_bound(group)->first != token)
        continue;
      json["prefixes"].push_back(group);
    } else {
      json["items"].push_back(object_json("bucket", it->first, *it->second.bytes,
                                          it->second.generation, it->second.modified));
    }
  }
  return json_response(200, json);
}

ServerResponse GcsServer::object(const ServerRequest& request, const std::string& bucket,
                                 const std::string& key) {
  const std::string unknown =
      unknown_param(request, {"alt", "generation", "fields", "ifGenerationMatch"});
  if (!unknown.empty()) return gcs_error(400, "invalid", "unknown parameter " + unknown);
  Bucket& objects = buckets_.at(bucket);
  const auto found = objects.find(key);
  const std::string generation = request.param("generation");
  if (found == objects.end() ||
      (!generation.empty() && generation != std::to_string(found->second.generation))) {
    return gcs_error(404, "notFound", "No such object: " + bucket + "/" + key);
  }
  const Object& object = found->second;
  const std::string match = request.param("ifGenerationMatch");
  if (!match.empty() && match != std::to_string(object.generation)) {
    return gcs_error(412, "conditionNotMet",
                     "At least one of the pre-conditions you specified did not hold.");
  }
  if (request.method == "DELETE") {
    objects.erase(found);
    return {.status = 204};
  }
  if (request.method != "GET") return gcs_error(405, "methodNotAllowed", request.method);
  if (request.param("alt") != "media") {
    return json_response(
        200, object_json(bucket, key, *object.bytes, object.generation, object.modified));
  }
  const std::string range = request.header("range");
  if (range.starts_with("bytes=") && std::stoull(range.substr(6)) >= object.bytes->size()) {
    return gcs_error(416, "requestedRangeNotSatisfiable", "The range is not satisfiable");
  }
  return {.headers = {{"x-goog-generation", std::to_string(object.generation)},
                      {"x-goog-hash", "crc32c=" + gcs_crc(*object.bytes)}},
          .contents = object.bytes};
}

ServerResponse GcsServer::finish(const std::string& bucket, const std::string& key,
                                 const std::string& precondition, std::string bytes) {
  Bucket& objects = buckets_[bucket];
  const auto found = objects.find(key);
  const std::string present =
      found == objects.end() ? "0" : std::to_string(found->second.generation);
  if (!precondition.empty() && precondition != present) {
    return gcs_error(412, "conditionNotMet",
                     "At least one of the pre-conditions you specified did not hold.");
  }
  Object& object = objects[key];
  object = {.bytes = std::make_shared<const std::string>(std::move(bytes)),
            .generation = ++generation_,
            .modified = std::time(nullptr)};
  return json_response(200,
                       object_json(bucket, key, *object.bytes, object.generation, object.modified));
}

ServerResponse GcsServer::upload(const ServerRequest& request, const std::string& bucket) {
  const std::string unknown = unknown_param(request, {"uploadType", "name", "ifGenerationMatch"});
  const std::string type = request.param("uploadType");
  const std::string key = request.param("name");
  const std::string precondition = request.param("ifGenerationMatch");
  if (!unknown.empty() || request.method != "POST" || key.empty() || key.size() > 1024) {
    return gcs_error(400, "invalid", "Required parameter: name");
  }
  if (type == "media") return finish(bucket, key, precondition, request.body);
  if (type == "resumable") {
    const std::string id = fmt::format("session/{}", ++issued_);
    sessions_[id] = {.bucket = bucket, .key = key, .precondition = precondition};
    return {.status = 200, .headers = {{"Location", http_->url() + "/" + id}}};
  }
  const std::string content_type = request.header("content-type");
  const size_t mark = content_type.find("boundary=");
  if (type != "multipart" || !content_type.starts_with("multipart/related") ||
      mark == std::string::npos) {
    return gcs_error(400, "invalid", "uploadType");
  }
  const std::string line = "--" + content_type.substr(mark + 9);
  const std::string& body = request.body;
  const size_t first = body.find("\r\n\r\n");
  const size_t second = body.find("\r\n" + line + "\r\n", first);
  const size_t data = body.find("\r\n\r\n", second);
  const size_t end = body.rfind("\r\n" + line + "--");
  if (!body.starts_with(line) || first == std::string::npos || second == std::string::npos ||
      data == std::string::npos || end == std::string::npos || end < data + 4) {
    return gcs_error(400, "parseError", "not multipart/related");
  }
  const Json metadata = Json::parse(body.substr(first + 4, second - first - 4), nullptr, false);
  std::string bytes = body.substr(data + 4, end - data - 4);
  if (!metadata.is_object() || metadata.value("name", key) != key) {
    return gcs_error(400, "invalid", "metadata");
  }
  if (metadata.value("crc32c", gcs_crc(bytes)) != gcs_crc(bytes)) {
    return gcs_error(400, "invalid", "Provided CRC32C doesn't match calculated CRC32C");
  }
  return finish(bucket, key, precondition, std::move(bytes));
}

ServerResponse GcsServer::session(const ServerRequest& request) {
  const auto found = sessions_.find(request.path.substr(1));
  if (found == sessions_.end()) return gcs_error(404, "notFound", "no such session");
  Session& session = found->second;
  if (request.method == "DELETE") {
    sessions_.erase(found);
    return {.status = 499};
  }
  if (session.done) return session.response;
  const std::string range = request.header("content-range");
  const size_t slash = range.find('/');
  if (request.method != "PUT" || !range.starts_with("bytes ") || slash == std::string::npos) {
    return gcs_error(400, "invalid", "Content-Range");
  }
  const std::string total = range.substr(slash + 1);
  if (range[6] != '*') {
    const uint64_t begin = std::stoull(range.substr(6));
    const uint64_t end = std::stoull(range.substr(range.find('-') + 1)) + 1;
    const bool last = total != "*" && std::stoull(total) == end;
    if (end - begin != request.body.size() || begin > session.bytes.size() ||
        (!last && (request.body.size() % kQuantum != 0 || end % kQuantum != 0))) {
      return gcs_error(400, "invalid", "Content-Range " + range);
    }
    if (end > session.bytes.size()) {
      session.bytes += request.body.substr(session.bytes.size() - begin);
    }
  } else if (!request.body.empty()) {
    return gcs_error(400, "invalid", "a body with " + range);
  }
  if (total != "*" && std::stoull(total) == session.bytes.size()) {
    session.response = finish(session.bucket, session.key, session.precondition, session.bytes);
    session.done = true;
    return session.response;
  }
  ServerResponse response{.status = 308};
  if (!session.bytes.empty()) {
    response.headers["Range"] = fmt::format("bytes=0-{}", session.bytes.size() - 1);
  }
  return response;
}

ServerResponse GcsServer::compose(const ServerRequest& request, const std::string& bucket,
                                  const std::string& key) {
  const Json body = Json::parse(request.body, nullptr, false);
  if (request.method != "POST" || !body.is_object() || !body["sourceObjects"].is_array() ||
      body["sourceObjects"].empty() || body["sourceObjects"].size() > 32) {
    return gcs_error(400, "invalid", "sourceObjects");
  }
  std::string bytes;
  for (const Json& source : body["sourceObjects"]) {
    const auto found = buckets_.at(bucket).find(source["name"].get<std::string>());
    if (found == buckets_.at(bucket).end()) return gcs_error(404, "notFound", "source");
    const std::string generation = std::to_string(found->second.generation);
    if (source.value("generation", generation) != generation) {
      return gcs_error(404, "notFound", "source generation");
    }
    bytes += *found->second.bytes;
  }
  return finish(bucket, key, request.param("ifGenerationMatch"), std::move(bytes));
}

ServerResponse GcsServer::rewrite(const ServerRequest& request, const std::string& bucket,
                                  const std::string& key, const std::string& target) {
  const auto found = buckets_.at(bucket).find(key);
  if (found == buckets_.at(bucket).end()) {
    return gcs_error(404, "notFound", "No such object: " + bucket + "/" + key);
  }
  const std::string source = request.param("ifSourceGenerationMatch");
  if (!source.empty() && source != std::to_string(found->second.generation)) {
    return gcs_error(412, "conditionNotMet", "source");
  }
  // Large objects take several calls.
  const std::string token = request.param("rewriteToken");
  if (found->second.bytes->size() > 100'000 && token.empty()) {
    const std::string next = fmt::format("rewrite/{}", ++issued_);
    rewrites_[next] = 1;
    return json_response(200, {{"kind", "storage#rewriteResponse"},
                               {"done", false},
                               {"rewriteToken", next},
                               {"totalBytesRewritten", "100000"}});
  }
  if (!token.empty() && !rewrites_.contains(token)) return gcs_error(400, "invalid", "token");
  const std::string bytes = *found->second.bytes;
  ServerResponse response = finish(bucket, target, request.param("ifGenerationMatch"), bytes);
  if (response.status != 200) return response;
  return json_response(200, {{"kind", "storage#rewriteResponse"},
                             {"done", true},
                             {"resource", Json::parse(response.body)}});
}

void GcsServer::write_key_file(const std::string& path) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  const auto text_of = [&](bool private_key) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    if (private_key) {
      PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    } else {
      PEM_write_bio_PUBKEY(out.get(), key.get());
    }
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return std::string(data, static_cast<size_t>(size));
  };
  const Json json = {{"type", "service_account"},
                     {"project_id", "project"},
                     {"private_key_id", "key1"},
                     {"private_key", text_of(true)},
                     {"client_email", "robot@project.iam.gserviceaccount.com"},
                     {"token_uri", url() + "/token"}};
  std::ofstream(path) << json.dump(2);
  const MutexLock lock(mutex_);
  public_key_ = text_of(false);
}

void GcsServer::write_refresh_file(const std::string& path) const {
  const Json json = {{"type", "authorized_user"},
                     {"client_id", "id&1"},
                     {"client_secret", "secret=1"},
                     {"refresh_token", "1//refresh"},
                     {"token_uri", url() + "/token"}};
  std::ofstream(path) << json.dump(2);
}

bool GcsServer::verify_claims(const std::string& assertion, std::string* why) const {
  const size_t first = assertion.find('.');
  const size_t second = assertion.find('.', first + 1);
  *why = "Invalid JWT";
  if (second == std::string::npos || public_key_.empty()) return false;
  const Json header =
      Json::parse(crypto::base64_decoded(assertion.substr(0, first)), nullptr, false);
  const Json claims = Json::parse(
      crypto::base64_decoded(assertion.substr(first + 1, second - first - 1)), nullptr, false);
  if (header != Json{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "key1"}} || !claims.is_object() ||
      assertion.find('=') != std::string::npos) {
    return false;
  }
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(public_key_.data(), static_cast<int>(public_key_.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PUBKEY(memory.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const std::string signature = crypto::base64_decoded(assertion.substr(second + 1));
  *why = "Invalid JWT Signature.";
  if (EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(), reinterpret_cast<const unsigned char*>(assertion.data()),
                       second) != 1) {
    return false;
  }
  const int64_t now = std::time(nullptr) + options_.clock_skew.count();
  const int64_t issued = claims.value("iat", int64_t{0});
  *why =
      "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.";
  if (std::abs(issued - now) > 300 || claims.value("exp", int64_t{0}) != issued + 3600)
    return false;
  *why = "invalid claims";
  return claims.value("aud", "") == url() + "/token" &&
         claims.value("iss", "") == "robot@project.iam.gserviceaccount.com" &&
         claims.value("scope", "") == "https://www.googleapis.com/auth/cloud-platform";
}

ServerResponse GcsServer::token(const ServerRequest& request) {
  std::map<std::string, std::string> form;
  for (size_t begin = 0; begin < request.body.size();) {
    const size_t end = std::min(request.body.find('&', begin), request.body.size());
    const std::string item = request.body.substr(begin, end - begin);
    const size_t equals = item.find('=');
    form[item.substr(0, equals)] = percent_decoded(item.substr(equals + 1));
    begin = end + 1;
  }
  std::string why = "unsupported grant_type";
  bool valid = false;
  if (request.method == "POST" &&
      request.header("content-type") == "application/x-www-form-urlencoded") {
    if (form["grant_type"] == "refresh_token") {
      why = "Bad Request";
      valid = form["client_id"] == "id&1" && form["client_secret"] == "secret=1" &&
              form["refresh_token"] == "1//refresh";
    } else if (form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer") {
      valid = verify_claims(form["assertion"], &why);
    }
  }
  const std::string date =
      format_utc(std::time(nullptr) + options_.clock_skew.count(), "%a, %d %b %Y %H:%M:%S GMT");
  if (!valid) {
    ServerResponse response =
        json_response(400, {{"error", "invalid_grant"}, {"error_description", why}});
    response.headers["Date"] = date;
    return response;
  }
  const std::string token = fmt::format("token-{}", ++issued_);
  tokens_[token] = options_.token_uses;
  ServerResponse response =
      json_response(200, {{"access_token", token}, {"expires_in", 3599}, {"token_type", "Bearer"}});
  response.headers["Date"] = date;
  return response;
}

ServerResponse GcsServer::metadata(const ServerRequest& request) {
  if (request.header("metadata-flavor") != "Google") return {.status = 403};
  const std::map<std::string, std::string> flavor = {{"Metadata-Flavor", "Google"}};
  const std::string path = request.path.substr(std::string("/computeMetadata/v1/").size());
  const std::map<std::string, std::string> values = {
      {"instance/service-accounts/default/email", "vm@project.iam.gserviceaccount.com"},
      {"instance/zone", "projects/123/zones/us-central1-b"},
      {"project/project-id", "project"}};
  if (path == "instance/service-accounts/default/token") {
    const std::string token = fmt::format("token-{}", ++issued_);
    tokens_[token] = options_.token_uses;
    ServerResponse response = json_response(
        200, {{"access_token", token}, {"expires_in", 3599}, {"token_type", "Bearer"}});
    response.headers.insert(flavor.begin(), flavor.end());
    return response;
  }
  const auto found = values.find(path);
  if (found == values.end()) return {.status = 404, .headers = flavor};
  return {.status = 200, .headers = flavor, .body = found->second};
}

}  // namespace systole::testing
