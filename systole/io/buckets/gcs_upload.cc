#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "systole/base/number_text.h"
#include "systole/io/buckets/gcs_internal.h"
#include "systole/io/wire/crc32c.h"

namespace systole::buckets {
namespace {

class GcsUpload final : public ObjectUpload {
 public:
  GcsUpload(GcsStore& store, ObjectName name, Precondition precondition, size_t part_bytes)
      : store_(store),
        name_(std::move(name)),
        precondition_(std::move(precondition)),
        part_bytes_(part_bytes),
        what_(object_path(store_, name_) + ": cannot write") {}

  ~GcsUpload() override {
    if (session_.empty() || finished_) return;
    try {
      store_.client().send(
          {.method = "DELETE", .url = session_, .timeout = std::chrono::seconds(10)});
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): an abandoned session expires
    }
  }

  GcsUpload(const GcsUpload&) = delete;
  GcsUpload& operator=(const GcsUpload&) = delete;

  void write(std::string_view bytes) override {
    crc_ = crc32c(bytes, crc_);
    pending_ += bytes;
    // The last part is kept: it is sent with the size of the whole.
    while (pending_.size() > part_bytes_) send_part(part_bytes_, false);
  }

  ObjectInfo finish() override {
    const http::HttpResponse response =
        session_.empty() ? send_whole() : send_part(pending_.size(), true);
    ObjectInfo info =
        store_.settle(what_, name_, response, attempts_ > 1, sent_ + pending_.size(), crc_);
    finished_ = true;
    return info;
  }

 private:
  http::HttpResponse send_whole() {
    const std::string boundary = fmt::format("systole-{:016x}", std::random_device{}());
    const nlohmann::json metadata = {{"name", name_.key},
                                     {"crc32c", crc32c_as_base64(crc_)},
                                     {"contentType", "application/octet-stream"}};
    const std::string body = fmt::format(
        "--{0}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{1}\r\n--{0}\r\n"
        "Content-Type: application/octet-stream\r\n\r\n",
        boundary, metadata.dump());
    return store_.send(what_, [&](int) {
      ++attempts_;
      auto request = store_.request("POST", store_.upload_url(name_, "multipart", precondition_));
      request.headers.push_back({"Content-Type", "multipart/related; boundary=" + boundary});
      request.body = body + pending_ + "\r\n--" + boundary + "--\r\n";
      return request;
    });
  }

  void start_session() {
    const auto response = store_.send(what_, [&](int) {
      auto request = store_.request("POST", store_.upload_url(name_, "resumable", precondition_));
      request.headers.push_back({"Content-Type", "application/json; charset=UTF-8"});
      request.headers.push_back({"X-Upload-Content-Type", "application/octet-stream"});
      request.body = "{}";
      return request;
    });
    if (response.status == 412) {
      throw failed_precondition("{}, got HTTP 412: another process has written the object", what_);
    }
    if (response.status != 200) throw GcsStore::error(what_, response);
    session_ = response.header("location");
    if (session_.empty()) {
      throw make_error(Code::data_loss, "{}, got no Location of the upload session", what_);
    }
  }

  // Returns how many bytes of the object the server has, from a 308.
  uint64_t stored_bytes(const http::HttpResponse& response) const {
    const std::string& range = response.header("range");
    if (range.empty()) return 0;
    const size_t dash = range.rfind('-');
    const auto last = dash == std::string::npos
                          ? std::nullopt
                          : parse_number<uint64_t>(std::string_view(range).substr(dash + 1));
    if (!last || !range.starts_with("bytes=0-") || *last + 1 < sent_ ||
        *last + 1 > sent_ + pending_.size()) {
      throw make_error(Code::data_loss, "{}, got the range '{}' stored, expected one to byte {}",
                       what_, range, sent_);
    }
    return *last + 1;
  }

  http::HttpRequest part_request(uint64_t begin, size_t count, bool last) const {
    http::HttpRequest request{.method = "PUT", .url = session_};
    const std::string total = last ? fmt::format("{}", sent_ + pending_.size()) : "*";
    const size_t skip = begin - sent_;
    request.body = pending_.substr(skip, count - skip);
    request.headers.push_back(
        {"Content-Range",
         request.body.empty()
             ? "bytes */" + total
             : fmt::format("bytes {}-{}/{}", begin, begin + request.body.size() - 1, total)});
    return request;
  }

  // Sends `count` pending bytes. The server may store fewer; what it tells is where to continue.
  http::HttpResponse send_part(size_t count, bool last) {
    if (session_.empty()) start_session();
    http::Backoff backoff(store_.retries(), what_);
    uint64_t stored = sent_;
    bool ask = false;  // for the range that is stored, after an attempt without an answer
    while (true) {
      ++attempts_;
      // A part without bytes asks for the range.
      const auto call =
          store_.client().start(part_request(ask ? sent_ + count : stored, count, last));
      call->wait();
      const http::HttpResponse& response = call->response();
      const bool transient =
          call->failure().has_value() || http::is_transient_http_status(response.status);
      if (transient) {
        const auto& failure = call->failure();
        if (failure ? backoff.wait(nullptr, failure->message) : backoff.wait(&response)) {
          ask = true;
          continue;
        }
        if (call->failure()) {
          throw make_error(call->failure()->code, "{}, got '{}' after {} attempts", what_,
                           call->failure()->message, backoff.attempts());
        }
        throw GcsStore::error(what_, response);
      }
      if (response.status != 308) {
        if (last && response.status != 404 && response.status != 410) return response;
        if (sent_ == 0 && (response.status == 404 || response.status == 410) &&
            backoff.wait(nullptr)) {
          start_session();  // the session was lost before anything was stored
          ask = false;
          stored = 0;
          continue;
        }
        const Error error = GcsStore::error(what_, response);
        throw Error(
            response.status == 404 || response.status == 410 ? Code::unavailable : error.code(),
            error.message() + "; the upload session was lost");
      }
      const uint64_t now = stored_bytes(response);
      if (now == stored && !ask && !backoff.wait(nullptr)) {
        throw make_error(Code::unavailable, "{}, got no byte stored after {} attempts", what_,
                         backoff.attempts());
      }
      stored = now;
      ask = false;
      if (stored == sent_ + count && !last) {
        sent_ += count;
        pending_.erase(0, count);
        return response;
      }
    }
  }

  GcsStore& store_;
  const ObjectName name_;
  const Precondition precondition_;
  const size_t part_bytes_;
  const std::string what_;
  std::string pending_;
  std::string session_;  // the URL of a resumable upload
  uint64_t sent_ = 0;    // bytes stored before pending_
  uint32_t crc_ = 0;     // of all bytes
  int attempts_ = 0;
  bool finished_ = false;
};

class GcsAppend final : public ObjectUpload {
 public:
  GcsAppend(GcsStore& store, ObjectName name, ObjectInfo base, size_t part_bytes)
      : store_(store),
        name_(std::move(name)),
        base_(std::move(base)),
        part_{name_.bucket, part_key(name_.key)},
        upload_(make_gcs_upload(store_, part_, {.any = false, .version = ""}, part_bytes)) {}

  void write(std::string_view bytes) override { upload_->write(bytes); }

  ObjectInfo finish() override {
    const ObjectInfo added = upload_->finish();
    try {
      ObjectInfo info = store_.compose(name_, base_, part_, added);
      store_.remove(part_);
      return info;
    } catch (const Error&) {
      try {
        store_.remove(part_);
      } catch (
          const Error&) {  // NOLINT(bugprone-empty-catch): the first error is the one to report
      }
      throw;
    }
  }

 private:
  // Beside the object, and not a name that readers of event files take for one of theirs.
  static std::string part_key(const std::string& key) {
    std::random_device random;
    return fmt::format("{}.systole.part.{:08x}{:08x}", key.substr(0, key.rfind('/') + 1), random(),
                       random());
  }

  GcsStore& store_;
  const ObjectName name_;
  const ObjectInfo base_;
  const ObjectName part_;
  std::unique_ptr<ObjectUpload> upload_;
};

}  // namespace

std::unique_ptr<ObjectUpload> make_gcs_upload(GcsStore& store, ObjectName name,
                                              Precondition precondition, size_t part_bytes) {
  return std::make_unique<GcsUpload>(store, std::move(name), std::move(precondition), part_bytes);
}

std::unique_ptr<ObjectUpload> make_gcs_append(GcsStore& store, ObjectName name, ObjectInfo base,
                                              size_t part_bytes) {
  return std::make_unique<GcsAppend>(store, std::move(name), std::move(base), part_bytes);
}

}  // namespace systole::buckets
