#include "systole/io/buckets/google_credentials.h"

#include <nlohmann/json.hpp>

#include "systole/base/environment.h"
#include "systole/base/escape.h"
#include "systole/base/mutex.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/wire/crypto.h"

namespace systole::buckets {
namespace {

constexpr const char* kScope = "https://www.googleapis.com/auth/cloud-platform";
constexpr const char* kTokenUri = "https://oauth2.googleapis.com/token";
constexpr const char* kTokenPath = "instance/service-accounts/default/token";
constexpr std::chrono::seconds kReserve{60};

// The file of `gcloud auth application-default login`.
std::string default_credentials_path() {
  const std::string config = environment_value("CLOUDSDK_CONFIG");
  const std::string home = environment_value("HOME");
  if (config.empty() && home.empty()) return "";
  return (config.empty() ? home + "/.config/gcloud" : config) +
         "/application_default_credentials.json";
}

std::string string_field(const std::string& file, const nlohmann::json& json, const char* field) {
  if (!json.contains(field) || !json[field].is_string()) {
    throw invalid_argument("{}: field '{}', got none, expected a string", file, field);
  }
  return json[field].get<std::string>();
}

}  // namespace

struct GoogleCredentials::Source {
  enum class Kind { service_account, refresh_token, metadata };
  Kind kind = Kind::metadata;
  std::string file;
  nlohmann::json json;
  std::string text;  // for people
};

struct GoogleCredentials::Reply {
  std::string token;
  std::chrono::seconds lifetime{0};
};

GoogleCredentials::GoogleCredentials(http::HttpClient& client, http::RetryOptions retries,
                                     Clock& clock)
    : client_(client), retries_(retries), clock_(clock) {}

GoogleCredentials::~GoogleCredentials() = default;

std::string metadata_url(const std::string& path) {
  std::string host = environment_value("GCE_METADATA_HOST");
  if (host.empty()) host = environment_value("GCE_METADATA_IP");
  if (host.empty()) host = "metadata.google.internal";
  return "http://" + host + "/computeMetadata/v1/" + path;
}

std::string metadata_value(http::HttpClient& client, const std::string& path) {
  const std::string url = metadata_url(path);
  http::HttpRequest request{.url = url, .headers = {{"Metadata-Flavor", "Google"}}};
  request.connect_timeout = std::chrono::seconds(1);
  request.timeout = std::chrono::seconds(3);
  request.direct = true;
  http::HttpResponse response;
  try {
    response = client.send(std::move(request));
  } catch (const Error& error) {
    throw not_found("{}: no metadata server, got '{}'", url, error.message());
  }
  if (response.status != 200) {
    const Error error = http::http_error(url + ": metadata", response);
    throw Error(Code::not_found, error.message());
  }
  if (response.header("metadata-flavor") != "Google") {
    throw not_found("{}: no metadata server, got an answer without 'Metadata-Flavor: Google'", url);
  }
  return response.body;
}

void GoogleCredentials::find_source() {
  auto source = std::make_unique<Source>();
  const std::string named = environment_value("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string standard = default_credentials_path();
  FileSystem& disk = local_file_system();
  if (!named.empty()) {
    source->file = named;
  } else if (!standard.empty() && disk.exists(standard)) {
    source->file = standard;
  }
  if (source->file.empty()) {
    try {
      metadata_value(client_, "instance/service-accounts/default/email");
    } catch (const Error& error) {
      throw make_error(Code::unauthenticated,
                       "Google credentials: none found, expected a file named by "
                       "GOOGLE_APPLICATION_CREDENTIALS (not set), {} (does not exist), or a "
                       "metadata server ({})",
                       standard, error.message());
    }
    source->text = "the metadata server " + metadata_url("");
    source_ = std::move(source);
    return;
  }
  const std::string& file = source->file;
  source->json = nlohmann::json::parse(read_file(disk, file), nullptr, false);
  if (!source->json.is_object()) {
    throw invalid_argument("{}: not a JSON object, expected Google credentials", file);
  }
  const std::string type = string_field(file, source->json, "type");
  if (type == "service_account") {
    source->kind = Source::Kind::service_account;
    source->text = fmt::format("the service account {} in {}",
                               string_field(file, source->json, "client_email"), file);
  } else if (type == "authorized_user") {
    source->kind = Source::Kind::refresh_token;
    source->text = "the refresh token in " + file;
  } else {
    throw invalid_argument("{}: type, got '{}', expected service_account or authorized_user", file,
                           type);
  }
  source_ = std::move(source);
}

std::string GoogleCredentials::signed_claims() {
  const std::string& file = source_->file;
  const nlohmann::json& json = source_->json;
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>((clock_.now() + skew_).time_since_epoch());
  nlohmann::json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (json.contains("private_key_id")) header["kid"] = json["private_key_id"];
  const nlohmann::json claims = {{"iss", string_field(file, json, "client_email")},
                                 {"scope", kScope},
                                 {"aud", json.value("token_uri", kTokenUri)},
                                 {"iat", now.count()},
                                 {"exp", now.count() + 3600}};
  const std::string text =
      crypto::base64_url(header.dump()) + "." + crypto::base64_url(claims.dump());
  try {
    return text + "." +
           crypto::base64_url(
               crypto::rsa_sha256_signature(string_field(file, json, "private_key"), text));
  } catch (const Error& error) {
    throw Error(error.code(), file + ": " + error.message());
  }
}

GoogleCredentials::Reply GoogleCredentials::exchange(const std::string& form) {
  const std::string uri = source_->json.value("token_uri", kTokenUri);
  if (!http::keeps_secrets(uri)) {
    throw invalid_argument("{}: token_uri, got '{}', expected https", source_->file,
                           escaped(uri, {.ascii = true}));
  }
  const std::string what = fmt::format("{}: cannot get a token from {}", source_->file, uri);
  http::RetriedRequest request{
      .what = what, .make = [&](int) {
        return http::HttpRequest{.method = "POST",
                                 .url = uri,
                                 .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                                 .body = form,
                                 .timeout = std::chrono::seconds(60)};
      }};
  const http::HttpResponse response = http::send_retried(client_, retries_, request);
  if (const auto date = http::parse_http_date(response.header("date"))) {
    skew_ = std::chrono::seconds(*date) -
            std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch());
  }
  if (response.status != 200) {
    const Error error = http::http_error(what, response, http::json_error_text(response.body));
    throw Error(response.status / 100 == 4 ? Code::unauthenticated : error.code(), error.message());
  }
  const nlohmann::json json = nlohmann::json::parse(response.body, nullptr, false);
  const bool valid = json.is_object() && json.contains("access_token") &&
                     json["access_token"].is_string() && json.contains("expires_in") &&
                     json["expires_in"].is_number();
  if (!valid) {
    throw make_error(Code::unauthenticated, "{}, got an answer without access_token and expires_in",
                     what);
  }
  return {json["access_token"].get<std::string>(),
          std::chrono::seconds(json["expires_in"].get<int64_t>())};
}

GoogleCredentials::Reply GoogleCredentials::request_token() {
  const nlohmann::json& json = source_->json;
  const std::string& file = source_->file;
  if (source_->kind == Source::Kind::refresh_token) {
    return exchange(
        "grant_type=refresh_token&client_id=" +
        http::percent_encoded(string_field(file, json, "client_id")) +
        "&client_secret=" + http::percent_encoded(string_field(file, json, "client_secret")) +
        "&refresh_token=" + http::percent_encoded(string_field(file, json, "refresh_token")));
  }
  if (source_->kind == Source::Kind::service_account) {
    const auto form = [&]() SYSTOLE_REQUIRES(mutex_) {
      return "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" +
             signed_claims();
    };
    const auto skew = skew_;
    try {
      return exchange(form());
    } catch (const Error& error) {
      // The claims have the time of this machine. If its clock is wrong, the answer has told the
      // right time.
      const auto change = std::chrono::abs(skew_ - skew);
      if (error.code() != Code::unauthenticated || change < kReserve) throw;
      return exchange(form());
    }
  }
  const nlohmann::json reply =
      nlohmann::json::parse(metadata_value(client_, kTokenPath), nullptr, false);
  if (!reply.is_object() || !reply.contains("access_token")) {
    throw make_error(Code::unauthenticated, "{}: token, got an answer without access_token",
                     metadata_url(kTokenPath));
  }
  return {reply["access_token"].get<std::string>(),
          std::chrono::seconds(reply.value("expires_in", 0))};
}

std::string GoogleCredentials::token() {
  const MutexLock lock(mutex_);
  if (!token_.empty() && clock_.now() + kReserve < expires_) return token_;
  if (source_ == nullptr) find_source();
  const auto before = clock_.now();
  const Reply reply = request_token();
  token_ = reply.token;
  expires_ = before + reply.lifetime;
  return token_;
}

void GoogleCredentials::forget(const std::string& token) {
  const MutexLock lock(mutex_);
  if (token_ == token) token_.clear();
}

std::string GoogleCredentials::source() const {
  const MutexLock lock(mutex_);
  return source_ == nullptr ? "" : source_->text;
}

}  // namespace systole::buckets
