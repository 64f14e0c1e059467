#include "systole/io/testing/s3_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/io/buckets/xml.h"
#include "systole/io/http/http_client.h"
#include "systole/io/wire/crypto.h"

namespace systole::testing {
namespace {

using buckets::xml_escaped;
using http::percent_decoded;
using http::percent_encoded;

ServerResponse xml_response(const std::string& body) {
  return {.headers = {{"Content-Type", "application/xml"}},
          .body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + body};
}

ServerResponse s3_error(int status, const std::string& code, const std::string& message,
                        const std::string& more = "") {
  ServerResponse response = xml_response(
      fmt::format("<Error><Code>{}</Code><Message>{}</Message>{}</Error>", code, message, more));
  response.status = status;
  return response;
}

// Returns the value of "name=" in an Authorization header.
std::string authorization_field(const std::string& header, const std::string& name) {
  const size_t at = header.find(name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 1;
  return header.substr(begin, header.find_first_of(", ", begin) - begin);
}

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Returns a header that must be signed and is not, or "".
std::string find_unsigned_header(const ServerRequest& request) {
  const auto names =
      split_text(authorization_field(request.header("authorization"), "SignedHeaders"), ';');
  for (const auto& [name, value] : request.headers) {
    const bool must = name == "host" || name.starts_with("x-amz-") || name == "content-md5";
    if (must && std::ranges::find(names, name) == names.end()) return name;
  }
  return "";
}

// Returns the text that a client hashes and signs.
std::string canonical_request(const ServerRequest& request) {
  std::vector<std::string> parameters;
  for (const auto& [name, value] : request.params) {
    parameters.push_back(percent_encoded(name) + "=" + percent_encoded(value));
  }
  std::ranges::sort(parameters);
  std::string query;
  for (const std::string& parameter : parameters) query += (query.empty() ? "" : "&") + parameter;
  const std::string names = authorization_field(request.header("authorization"), "SignedHeaders");
  std::string headers;
  for (const std::string& name : split_text(names, ';')) {
    headers += name + ":" + request.header(name) + "\n";
  }
  return request.method + "\n" + percent_encoded(percent_decoded(request.path), true) + "\n" +
         query + "\n" + headers + "\n" + names + "\n" + request.header("x-amz-content-sha256");
}

}  // namespace

S3Server::S3Server(S3ServerOptions options) : options_(std::move(options)) {
  buckets_["bucket"];
  http_ = std::make_unique<HttpServer>([this](const ServerRequest& request) {
    const MutexLock lock(mutex_);
    ServerResponse response = check_signature(request);
    if (response.status == 0) response = handle(request);
    response.headers["Date"] =
        format_utc(std::time(nullptr) + options_.clock_skew.count(), "%a, %d %b %Y %H:%M:%S GMT");
    if (request.method == "HEAD" && response.status / 100 != 2) response.body.clear();
    return response;
  });
}

S3Server::~S3Server() { http_.reset(); }

void S3Server::put(const std::string& bucket, const std::string& key, std::string contents) {
  const MutexLock lock(mutex_);
  const std::string etag = "\"" + crypto::hex_text(crypto::md5(contents)) + "\"";
  buckets_[bucket][key] = {std::make_shared<const std::string>(std::move(contents)), etag,
                           std::time(nullptr)};
}

std::map<std::string, std::string> S3Server::contents(const std::string& bucket) const {
  const MutexLock lock(mutex_);
  std::map<std::string, std::string> result;
  const auto found = buckets_.find(bucket);
  if (found == buckets_.end()) return result;
  for (const auto& [key, object] : found->second) result[key] = *object.bytes;
  return result;
}

size_t S3Server::open_uploads() const {
  const MutexLock lock(mutex_);
  return uploads_.size();
}

void S3Server::require_token(const std::string& token) {
  const MutexLock lock(mutex_);
  options_.session_token = token;
}

// Written from Amazon's specification, not from the client's code.
ServerResponse S3Server::check_signature(const ServerRequest& request) const {
  const std::string header = request.header("authorization");
  const std::string date = request.header("x-amz-date");
  if (!header.starts_with("AWS4-HMAC-SHA256 ") || date.size() != 16) {
    return s3_error(403, "AccessDenied", "Access Denied");
  }
  const std::string token = request.header("x-amz-security-token");
  if (token != options_.session_token) {
    return s3_error(400, token.empty() ? "InvalidToken" : "ExpiredToken",
                    "The provided token has expired.");
  }
  std::tm broken{};
  ::strptime(date.c_str(), "%Y%m%dT%H%M%SZ", &broken);
  const int64_t skew = ::timegm(&broken) - std::time(nullptr) - options_.clock_skew.count();
  if (std::abs(skew) > 900) {
    return s3_error(403, "RequestTimeTooSkewed", "The difference is too large.");
  }
  const std::string scope = date.substr(0, 8) + "/" + options_.region + "/s3/aws4_request";
  const std::string credential = authorization_field(header, "Credential");
  if (credential.substr(0, credential.find('/')) != options_.access_key) {
    return s3_error(403, "InvalidAccessKeyId", "The key does not exist.");
  }
  if (credential != options_.access_key + "/" + scope) {
    return s3_error(400, "AuthorizationHeaderMalformed", "the region is wrong",
                    "<Region>" + options_.region + "</Region>");
  }
  if (request.header("x-amz-content-sha256") != crypto::hex_text(crypto::sha256(request.body))) {
    return s3_error(400, "XAmzContentSHA256Mismatch", "The hash of the body differs.");
  }
  const std::string unsigned_header = find_unsigned_header(request);
  if (!unsigned_header.empty()) {
    return s3_error(403, "AccessDenied", "not signed: " + unsigned_header);
  }
  const std::string canonical = canonical_request(request);
  std::string key = crypto::hmac_sha256("AWS4" + options_.secret_key, date.substr(0, 8));
  key = crypto::hmac_sha256(key, options_.region);
  key = crypto::hmac_sha256(key, "s3");
  key = crypto::hmac_sha256(key, "aws4_request");
  const std::string text = "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" +
                           crypto::hex_text(crypto::sha256(canonical));
  if (authorization_field(header, "Signature") !=
      crypto::hex_text(crypto::hmac_sha256(key, text))) {
    return s3_error(403, "SignatureDoesNotMatch", "The signature does not match.");
  }
  return {.status = 0};
}

ServerResponse S3Server::handle(const ServerRequest& request) {
  const size_t slash = std::min(request.path.find('/', 1), request.path.size());
  const std::string name = percent_decoded(request.path.substr(1, slash - 1));
  const std::string key =
      slash == request.path.size() ? "" : percent_decoded(request.path.substr(slash + 1));
  const auto bucket = buckets_.find(name);
  if (bucket == buckets_.end()) return s3_error(404, "NoSuchBucket", "no such bucket");
  if (key.empty()) return list(request, name, bucket->second);
  if (request.method == "POST" && request.params.contains("uploads")) {
    const std::string id = fmt::format("upload/{}+", ++issued_);
    uploads_[id] = {.bucket = name, .key = key};
    return xml_response("<InitiateMultipartUploadResult><Bucket>" + name + "</Bucket><UploadId>" +
                        id + "</UploadId></InitiateMultipartUploadResult>");
  }
  if (request.params.contains("uploadId")) {
    const auto upload = uploads_.find(request.param("uploadId"));
    if (upload == uploads_.end() || upload->second.bucket != name || upload->second.key != key) {
      return s3_error(404, "NoSuchUpload", "no such upload");
    }
    if (request.method == "PUT") return put_part(request);
    if (request.method == "POST") return complete(request);
    if (request.method == "DELETE") {
      uploads_.erase(upload);
      return {.status = 204};
    }
  }
  if (!request.params.empty()) return s3_error(400, "InvalidArgument", "unknown parameter");
  if (request.method == "PUT") return put_object(request, bucket->second, key);
  const auto object = bucket->second.find(key);
  if (request.method == "DELETE") {
    if (object != bucket->second.end()) bucket->second.erase(object);
    return {.status = 204};
  }
  if (object == bucket->second.end()) return s3_error(404, "NoSuchKey", "no such key");
  return get(request, object->second);
}

ServerResponse S3Server::get(const ServerRequest& request, const Object& object) const {
  ServerResponse response{
      .headers = {{"ETag", object.etag},
                  {"Last-Modified", format_utc(object.modified, "%a, %d %b %Y %H:%M:%S GMT")}}};
  const std::string match = request.header("if-match");
  if (!match.empty() && match != object.etag) {
    return s3_error(412, "PreconditionFailed", "the object has another ETag");
  }
  const std::string range = request.header("range");
  if (range.starts_with("bytes=") && std::stoull(range.substr(6)) >= object.bytes->size()) {
    return s3_error(416, "InvalidRange", "The requested range is not satisfiable");
  }
  response.contents = object.bytes;
  return response;
}

ServerResponse S3Server::list(const ServerRequest& request, const std::string& name,
                              const Bucket& bucket) const {
  if (request.method != "GET" || request.param("list-type") != "2") {
    return s3_error(405, "MethodNotAllowed", "only ListObjectsV2");
  }
  const std::string prefix = request.param("prefix");
  const std::string delimiter = request.param("delimiter");
  const std::string token = request.param("continuation-token");
  const bool url = request.param("encoding-type") == "url";
  const auto shown = [&](const std::string& key) {
    return url ? percent_encoded(key, true) : xml_escaped(key);
  };
  size_t limit = options_.page_size;
  if (!request.param("max-keys").empty()) {
    limit = std::min<size_t>(limit, std::stoul(request.param("max-keys")));
  }
  std::string body = "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>" +
                     name + "</Name>" + (url ? "<EncodingType>url</EncodingType>" : "");
  const std::string after = token.empty() ? "" : token.substr(1);  // tokens are "+<last name>"
  std::string last;
  size_t count = 0;
  bool truncated = false;
  for (const auto& [key, object] : bucket) {
    if (!key.starts_with(prefix)) continue;
    const size_t end = delimiter.empty() ? std::string::npos : key.find(delimiter, prefix.size());
    const std::string group = end == std::string::npos ? key : key.substr(0, end + 1);
    if (group == last || group <= after) continue;
    if (count == limit) {
      truncated = true;
      break;
    }
    ++count;
    last = group;
    if (end != std::string::npos) {
      body += "<CommonPrefixes><Prefix>" + shown(group) + "</Prefix></CommonPrefixes>";
      continue;
    }
    body += fmt::format(
        "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size>"
        "</Contents>",
        shown(key), format_utc(object.modified, "%Y-%m-%dT%H:%M:%S.000Z"), xml_escaped(object.etag),
        object.bytes->size());
  }
  body += fmt::format("<IsTruncated>{}</IsTruncated>", truncated);
  if (truncated) {
    body += "<NextContinuationToken>" + xml_escaped("+" + last) + "</NextContinuationToken>";
  }
  return xml_response(body + "</ListBucketResult>");
}

const S3Server::Object* S3Server::copy_source(const ServerRequest& request,
                                              ServerResponse* error) const {
  const std::string source = request.header("x-amz-copy-source");
  const size_t slash = source.find('/', 1);
  const auto bucket = buckets_.find(percent_decoded(source.substr(1, slash - 1)));
  *error = s3_error(404, "NoSuchKey", "no such source");
  if (slash == std::string::npos || bucket == buckets_.end()) return nullptr;
  const auto object = bucket->second.find(percent_decoded(source.substr(slash + 1)));
  if (object == bucket->second.end()) return nullptr;
  const std::string match = request.header("x-amz-copy-source-if-match");
  if (!match.empty() && match != object->second.etag) {
    *error = s3_error(412, "PreconditionFailed", "the source has another ETag");
    return nullptr;
  }
  return &object->second;
}

ServerResponse S3Server::check_conditions(const ServerRequest& request, const Bucket& bucket,
                                          const std::string& key) const {
  const std::string match = request.header("if-match");
  const std::string none = request.header("if-none-match");
  if (match.empty() && none.empty()) return {.status = 0};
  if (!options_.conditional_writes) {
    return s3_error(501, "NotImplemented", "A header you provided is not implemented");
  }
  if (!none.empty() && none != "*") return s3_error(501, "NotImplemented", "only *");
  const auto object = bucket.find(key);
  if (!match.empty() && object == bucket.end()) return s3_error(404, "NoSuchKey", "no such key");
  const bool holds = match.empty() ? object == bucket.end() : object->second.etag == match;
  if (holds) return {.status = 0};
  return s3_error(412, "PreconditionFailed", "At least one of the preconditions did not hold");
}

ServerResponse S3Server::put_object(const ServerRequest& request, Bucket& bucket,
                                    const std::string& key) {
  if (key.size() > 1024) return s3_error(400, "KeyTooLongError", "Your key is too long");
  ServerResponse refused = check_conditions(request, bucket, key);
  if (refused.status != 0) return refused;
  if (!request.header("x-amz-copy-source").empty()) {
    ServerResponse error;
    const Object* const source = copy_source(request, &error);
    if (source == nullptr) return error;
    const auto target = bucket.find(key);
    if (target != bucket.end() && &target->second == source &&
        request.header("x-amz-metadata-directive") != "REPLACE") {
      return s3_error(400, "InvalidRequest", "copies the object to itself without a change");
    }
    Object copied = *source;
    copied.modified = std::time(nullptr);
    bucket[key] = copied;
    return xml_response("<CopyObjectResult><ETag>" + xml_escaped(copied.etag) +
                        "</ETag></CopyObjectResult>");
  }
  const std::string digest = crypto::md5(request.body);
  const std::string given = request.header("content-md5");
  if (!given.empty() && given != crypto::base64(digest)) {
    return s3_error(400, "BadDigest", "The Content-MD5 you specified did not match.");
  }
  const std::string etag = "\"" + crypto::hex_text(digest) + "\"";
  bucket[key] = {std::make_shared<const std::string>(request.body), etag, std::time(nullptr)};
  return {.headers = {{"ETag", etag}}};
}

ServerResponse S3Server::put_part(const ServerRequest& request) {
  const int number = std::stoi("0" + request.param("partNumber"));
  if (number < 1 || number > 10'000) return s3_error(400, "InvalidArgument", "partNumber");
  Object part;
  if (request.header("x-amz-copy-source").empty()) {
    part.bytes = std::make_shared<const std::string>(request.body);
  } else {
    ServerResponse error;
    const Object* const source = copy_source(request, &error);
    if (source == nullptr) return error;
    const std::string range = request.header("x-amz-copy-source-range");
    const size_t begin = std::stoull(range.substr(6));
    const size_t end = std::stoull(range.substr(range.find('-') + 1)) + 1;
    if (end > source->bytes->size()) return s3_error(416, "InvalidRange", range);
    part.bytes = std::make_shared<const std::string>(source->bytes->substr(begin, end - begin));
  }
  part.etag = "\"" + crypto::hex_text(crypto::md5(*part.bytes)) + "\"";
  uploads_.at(request.param("uploadId")).parts[number] = part;
  if (request.header("x-amz-copy-source").empty()) return {.headers = {{"ETag", part.etag}}};
  return xml_response("<CopyPartResult><ETag>" + xml_escaped(part.etag) +
                      "</ETag></CopyPartResult>");
}

ServerResponse S3Server::complete(const ServerRequest& request) {
  const auto upload = uploads_.find(request.param("uploadId"));
  ServerResponse refused =
      check_conditions(request, buckets_[upload->second.bucket], upload->second.key);
  if (refused.status != 0) return refused;
  const pugi::xml_document document = buckets::parse_xml(request.body);
  const auto children = document.child("CompleteMultipartUpload").children("Part");
  const std::vector<pugi::xml_node> parts(children.begin(), children.end());
  if (parts.empty()) return s3_error(400, "MalformedXML", "no parts");
  std::string bytes;
  std::string digests;
  int previous = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int number = parts[i].child("PartNumber").text().as_int();
    const auto part = upload->second.parts.find(number);
    if (number <= previous) return s3_error(400, "InvalidPartOrder", "parts in another order");
    previous = number;
    if (part == upload->second.parts.end() || part->second.etag != parts[i].child_value("ETag")) {
      return s3_error(400, "InvalidPart", "no such part");
    }
    if (i + 1 < parts.size() && part->second.bytes->size() < options_.min_part_bytes) {
      return s3_error(400, "EntityTooSmall", "a part is too small");
    }
    bytes += *part->second.bytes;
    digests += crypto::md5(*part->second.bytes);
  }
  const std::string etag =
      fmt::format("\"{}-{}\"", crypto::hex_text(crypto::md5(digests)), parts.size());
  buckets_[upload->second.bucket][upload->second.key] = {
      std::make_shared<const std::string>(std::move(bytes)), etag, std::time(nullptr)};
  uploads_.erase(upload);
  return xml_response("<CompleteMultipartUploadResult><ETag>" + xml_escaped(etag) +
                      "</ETag></CompleteMultipartUploadResult>");
}

}  // namespace systole::testing
