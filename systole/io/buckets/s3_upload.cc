#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "systole/io/buckets/block_cache.h"
#include "systole/io/buckets/object_names.h"
#include "systole/io/buckets/s3_internal.h"
#include "systole/io/wire/crypto.h"

namespace systole::buckets {
namespace {

constexpr uint64_t kMinPartBytes = uint64_t{5} << 20;  // of all parts but the last

// Returns whether the ETag has the form of an MD5 that differs. With encryption by KMS it is none.
bool contradicts(const http::HttpResponse& response, const std::string& md5_hex) {
  const std::string& tag = response.header("etag");
  const bool plain =
      response.header("x-amz-server-side-encryption").find("kms") == std::string::npos;
  return plain && tag.size() == 34 && tag != "\"" + md5_hex + "\"";
}

class S3Upload final : public ObjectUpload {
 public:
  S3Upload(S3Store& store, ObjectName name, Precondition precondition, const ObjectInfo* base)
      : store_(store),
        name_(std::move(name)),
        precondition_(std::move(precondition)),
        what_(object_path(store_, name_) + ": cannot write") {
    if (base == nullptr || base->size == 0) return;
    if (base->size >= kMinPartBytes) {
      start();
      copy_part(*base);
    } else {
      ObjectBlock block(store_, name_, base->version, 0, static_cast<size_t>(base->size));
      pending_.assign(block.bytes(), block.size());
    }
    size_ = base->size;
  }

  ~S3Upload() override {
    if (id_.empty()) return;
    flying_.clear();
    try {
      store_.client().send(store_.sign(store_.request("DELETE", name_, upload_query())));
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): lifecycle rules remove the parts
    }
  }

  S3Upload(const S3Upload&) = delete;
  S3Upload& operator=(const S3Upload&) = delete;

  void write(std::string_view bytes) override {
    pending_ += bytes;
    size_ += bytes.size();
    const size_t part = store_.options().part_bytes;
    while (pending_.size() > part) {
      if (id_.empty()) start();
      send_part(pending_.substr(0, part));
      pending_.erase(0, part);
    }
  }

  ObjectInfo finish() override {
    if (id_.empty()) return put();
    if (!pending_.empty() || etags_.empty()) send_part(std::move(pending_));
    while (!flying_.empty()) take_first();
    return complete();
  }

 private:
  struct Part {
    int number = 0;
    http::HttpRequest request;  // not signed
    std::string md5_hex;
    std::unique_ptr<http::HttpCall> call;
  };

  std::string upload_query() const { return "uploadId=" + http::percent_encoded(id_); }

  ObjectInfo info_of(const std::string& etag) const {
    return {.key = name_.key, .size = size_, .version = etag};
  }

  [[noreturn]] void fail_checksum(const http::HttpResponse& response, const std::string& expected) {
    throw make_error(Code::data_loss, "{}, got the ETag {}, expected \"{}\"", what_,
                     response.header("etag"), expected);
  }

  ObjectInfo put() {
    http::HttpRequest request = store_.request("PUT", name_);
    const std::string digest = crypto::md5(pending_);
    request.headers = {{"Content-MD5", crypto::base64(digest)},
                       {"Content-Type", "application/octet-stream"}};
    request.body = std::move(pending_);
    const std::string etag = "\"" + crypto::hex_text(digest) + "\"";
    const auto response = store_.send_write(what_, name_, std::move(request), precondition_, etag);
    if (!response) return info_of(etag);
    if (contradicts(*response, crypto::hex_text(digest)))
      fail_checksum(*response, crypto::hex_text(digest));
    return info_of(checked_etag(what_, response->header("etag")));
  }

  void start() {
    http::HttpRequest request = store_.request("POST", name_, "uploads=");
    request.headers = {{"Content-Type", "application/octet-stream"}};
    id_ = xml_text(store_.send(what_, request).body, "UploadId");
    if (id_.empty()) throw make_error(Code::data_loss, "{}, got no UploadId", what_);
  }

  void add_etag(int number, std::string etag) {
    etags_.resize(std::max<size_t>(etags_.size(), number));
    etags_[number - 1] = std::move(etag);
  }

  // Makes the object as it is the first part.
  void copy_part(const ObjectInfo& base) {
    const int number = ++parts_;
    http::HttpRequest request =
        store_.request("PUT", name_, fmt::format("partNumber={}&{}", number, upload_query()));
    request.headers = {{"x-amz-copy-source", copy_source(name_)},
                       {"x-amz-copy-source-if-match", base.version},
                       {"x-amz-copy-source-range", fmt::format("bytes=0-{}", base.size - 1)}};
    add_etag(number, xml_text(store_.send(what_, request).body, "ETag"));
  }

  void send_part(std::string bytes) {
    const int number = ++parts_;
    Part part{.number = number,
              .request = store_.request("PUT", name_,
                                        fmt::format("partNumber={}&{}", number, upload_query()))};
    const std::string digest = crypto::md5(bytes);
    part.md5_hex = crypto::hex_text(digest);
    part.request.headers = {{"Content-MD5", crypto::base64(digest)}};
    part.request.body = std::move(bytes);
    part.call = store_.client().start(store_.sign(part.request));
    flying_.push_back(std::move(part));
    while (flying_.size() >= static_cast<size_t>(store_.options().parallel_parts)) take_first();
  }

  // Waits for the oldest part, and sends it again if it failed.
  void take_first() {
    Part part = std::move(flying_.front());
    flying_.pop_front();
    part.call->wait();
    const bool done = !part.call->failure() && part.call->response().status == 200;
    const http::HttpResponse response =
        done ? part.call->response() : store_.send(what_, part.request);
    if (contradicts(response, part.md5_hex)) fail_checksum(response, part.md5_hex);
    add_etag(part.number, response.header("etag"));
  }

  ObjectInfo complete() {
    std::string body = "<CompleteMultipartUpload>";
    std::string digests;
    for (size_t i = 0; i < etags_.size(); ++i) {
      body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1,
                          xml_escaped(etags_[i]));
      for (size_t k = 1; k + 2 < etags_[i].size(); k += 2) {
        digests += static_cast<char>(std::strtol(etags_[i].substr(k, 2).c_str(), nullptr, 16));
      }
    }
    body += "</CompleteMultipartUpload>";
    http::HttpRequest request = store_.request("POST", name_, upload_query());
    request.headers = {{"Content-Type", "application/xml"}};
    request.body = std::move(body);
    const std::string expected =
        fmt::format("\"{}-{}\"", crypto::hex_text(crypto::md5(digests)), etags_.size());
    const auto response =
        store_.send_write(what_, name_, std::move(request), precondition_, expected);
    id_.clear();
    if (!response) return info_of(expected);
    const std::string etag = checked_etag(what_, xml_text(response->body, "ETag"));
    if (etag.size() == expected.size() && etag.find('-') != std::string::npos && etag != expected &&
        digests.size() == 16 * etags_.size()) {
      throw make_error(Code::data_loss, "{}, got the ETag {}, expected {}", what_, etag, expected);
    }
    return info_of(etag);
  }

  S3Store& store_;
  const ObjectName name_;
  const Precondition precondition_;
  const std::string what_;
  std::string pending_;
  uint64_t size_ = 0;
  std::string id_;  // of a multipart upload that was started
  int parts_ = 0;
  std::vector<std::string> etags_;  // by part
  std::deque<Part> flying_;
};

}  // namespace

std::unique_ptr<ObjectUpload> make_s3_upload(S3Store& store, ObjectName name,
                                             Precondition precondition, const ObjectInfo* base) {
  return std::make_unique<S3Upload>(store, std::move(name), std::move(precondition), base);
}

}  // namespace systole::buckets
