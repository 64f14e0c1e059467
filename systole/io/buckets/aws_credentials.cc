#include "systole/io/buckets/aws_credentials.h"

#include <nlohmann/json.hpp>

#include "systole/base/environment.h"
#include "systole/base/mutex.h"
#include "systole/base/text.h"
#include "systole/io/local/local_file_system.h"

namespace systole::buckets {
namespace {

constexpr std::chrono::minutes kKeyReserve{5};

// Returns a line or the text of a file without white space at its ends.
std::string aws_trimmed(std::string_view text) {
  return std::string(without_blanks(text, " \t\r\n"));
}

std::string aws_file(const char* variable, const char* name) {
  std::string named = environment_value(variable);
  if (!named.empty()) return named;
  const std::string home = environment_value("HOME");
  return home.empty() ? "" : home + "/.aws/" + name;
}

std::string profile_name() {
  const std::string name = environment_value("AWS_PROFILE");
  return name.empty() ? "default" : name;
}

// Returns the settings of the profile; empty without the file or the profile.
std::map<std::string, std::string> profile_in(const std::string& path, bool config) {
  if (path.empty() || !local_file_system().exists(path)) return {};
  const auto sections = parse_aws_config(read_file(local_file_system(), path));
  const std::string name = profile_name();
  const auto found = sections.find(config && name != "default" ? "profile " + name : name);
  return found == sections.end() ? std::map<std::string, std::string>{} : found->second;
}

std::string setting_of(const std::map<std::string, std::string>& settings, const char* name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "" : found->second;
}

// Keys that a service answers, and the tokens that it wants, go over plain HTTP only to this
// machine and to the link-local addresses and names that Amazon documents: those of ECS and EKS
// pods and of the instance. Amazon's SDKs allow the same.
void check_key_service(const char* variable, const std::string& url) {
  const std::string host = http::url_host(url);
  const bool link_local =
      host.starts_with("169.254.") && host.find_first_not_of("0123456789.") == std::string::npos;
  if (http::keeps_secrets(url) || link_local || host == "fd00:ec2::23" || host == "fd00:ec2::254") {
    return;
  }
  throw invalid_argument(
      "{}: got the host '{}', expected https, or http to this machine or a link-local address",
      variable, host);
}

http::HttpRequest local_request(const std::string& method, const std::string& url) {
  http::HttpRequest request{.method = method, .url = url};
  request.connect_timeout = std::chrono::seconds(1);
  request.timeout = std::chrono::seconds(3);
  request.direct = true;
  return request;
}

}  // namespace

std::map<std::string, std::map<std::string, std::string>> parse_aws_config(
    const std::string& text) {
  std::map<std::string, std::map<std::string, std::string>> sections;
  std::string section;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::string trimmed = aws_trimmed(line);
    // An indented line belongs to a nested setting.
    if (trimmed.empty() || trimmed[0] == '#' || trimmed[0] == ';' || line[0] == ' ' ||
        line[0] == '\t') {
      continue;
    }
    if (trimmed.front() == '[' && trimmed.back() == ']') {
      section = aws_trimmed(trimmed.substr(1, trimmed.size() - 2));
      sections[section];
      continue;
    }
    const size_t equals = trimmed.find('=');
    if (equals == std::string::npos) continue;
    sections[section][aws_trimmed(trimmed.substr(0, equals))] =
        aws_trimmed(trimmed.substr(equals + 1));
  }
  return sections;
}

std::map<std::string, std::string> aws_profile_settings() {
  return profile_in(aws_file("AWS_CONFIG_FILE", "config"), true);
}

AwsCredentials::AwsCredentials(http::HttpClient& client, Clock& clock)
    : client_(client), clock_(clock) {}

bool AwsCredentials::read_environment() {
  keys_ = {environment_value("AWS_ACCESS_KEY_ID"), environment_value("AWS_SECRET_ACCESS_KEY"),
           environment_value("AWS_SESSION_TOKEN")};
  return !keys_.access_key.empty() && !keys_.secret_key.empty();
}

bool AwsCredentials::read_files(std::string* tried) {
  const std::string credentials = aws_file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  for (const auto& settings : {profile_in(credentials, false), aws_profile_settings()}) {
    keys_ = {setting_of(settings, "aws_access_key_id"),
             setting_of(settings, "aws_secret_access_key"),
             setting_of(settings, "aws_session_token")};
    if (!keys_.access_key.empty() && !keys_.secret_key.empty()) return true;
  }
  *tried += fmt::format("; {}: no keys of profile '{}'", credentials, profile_name());
  return false;
}

bool AwsCredentials::take_reply(const std::string& what, const http::HttpResponse& response,
                                std::string* tried) {
  const auto json = nlohmann::json::parse(response.body, nullptr, false);
  if (response.status != 200 || !json.is_object()) {
    *tried += fmt::format("; {}: HTTP {}", what, response.status);
    return false;
  }
  const auto text = [&](const char* name) -> std::string {
    return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
  };
  keys_ = {text("AccessKeyId"), text("SecretAccessKey"), text("Token")};
  if (const auto end = http::parse_rfc3339(text("Expiration"))) {
    expires_ = std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::nanoseconds(*end)));
  }
  if (!keys_.access_key.empty() && !keys_.secret_key.empty()) return true;
  *tried += fmt::format("; {}: an answer without keys", what);
  return false;
}

bool AwsCredentials::ask_container(std::string* tried) {
  std::string url = environment_value("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const std::string relative = environment_value("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!relative.empty()) url = "http://169.254.170.2" + relative;
  if (url.empty()) return false;
  try {
    check_key_service("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    http::HttpRequest request = local_request("GET", url);
    std::string token = environment_value("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    const std::string file = environment_value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (token.empty() && !file.empty()) token = aws_trimmed(read_file(local_file_system(), file));
    if (!token.empty()) request.headers.push_back({"Authorization", token});
    return take_reply(url, client_.send(std::move(request)), tried);
  } catch (const Error& error) {
    *tried += fmt::format("; {}: {}", url, error.message());
    return false;
  }
}

bool AwsCredentials::ask_instance(std::string* tried) {
  if (environment_value("AWS_EC2_METADATA_DISABLED") == "true") {
    *tried += "; the metadata service: AWS_EC2_METADATA_DISABLED is set";
    return false;
  }
  std::string host = environment_value("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (host.empty()) host = "http://169.254.169.254";
  while (host.ends_with('/')) host.pop_back();
  const std::string roles = host + "/latest/meta-data/iam/security-credentials/";
  try {
    check_key_service("AWS_EC2_METADATA_SERVICE_ENDPOINT", host);
    http::HttpRequest session = local_request("PUT", host + "/latest/api/token");
    session.headers.push_back({"X-aws-ec2-metadata-token-ttl-seconds", "21600"});
    const http::HttpResponse token = client_.send(std::move(session));
    if (token.status != 200) {
      *tried += fmt::format("; {}: HTTP {} for a token", host, token.status);
      return false;
    }
    const auto get = [&](const std::string& url) {
      http::HttpRequest request = local_request("GET", url);
      request.headers.push_back({"X-aws-ec2-metadata-token", token.body});
      return client_.send(std::move(request));
    };
    const http::HttpResponse role = get(roles);
    if (role.status != 200) {
      *tried += fmt::format("; {}: HTTP {}, the instance has no role", host, role.status);
      return false;
    }
    return take_reply(host, get(roles + aws_trimmed(role.body.substr(0, role.body.find('\n')))),
                      tried);
  } catch (const Error& error) {
    *tried += fmt::format("; {}: {}", host, error.message());
    return false;
  }
}

AwsKeys AwsCredentials::keys() {
  const MutexLock lock(mutex_);
  if (!keys_.access_key.empty() && clock_.now() + kKeyReserve < expires_) return keys_;
  expires_ = std::chrono::system_clock::time_point::max();
  std::string tried = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: not set";
  if (read_environment() || read_files(&tried) || ask_container(&tried) || ask_instance(&tried)) {
    return keys_;
  }
  keys_ = {};
  throw make_error(Code::unauthenticated, "AWS credentials: none found ({})", tried);
}

void AwsCredentials::forget(const AwsKeys& keys) {
  const MutexLock lock(mutex_);
  if (keys_.access_key == keys.access_key) keys_ = {};
}

}  // namespace systole::buckets
