#include <optional>
#include <utility>

#include "systole/io/buckets/bucket_files.h"

namespace systole::buckets {
namespace {

class ObjectWriter final : public WritableFile {
 public:
  ObjectWriter(ObjectStore& store, const BucketOptions& options, std::string path, ObjectName name,
               Precondition precondition)
      : store_(store),
        options_(options),
        clock_(options.clock == nullptr ? real_clock() : *options.clock),
        path_(std::move(path)),
        name_(std::move(name)),
        precondition_(std::move(precondition)) {}

  ~ObjectWriter() override {
    try {
      if (!failed_) close();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a destructor reports nothing
    }
  }

  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  void append(std::string_view bytes) override {
    guarded("append", [&] {
      while (!bytes.empty()) {
        const size_t count = std::min(bytes.size(), options_.part_bytes - buffer_.size());
        buffer_ += bytes.substr(0, count);
        bytes.remove_prefix(count);
        if (buffer_.size() == options_.part_bytes) send_buffer();
      }
    });
  }

  void flush() override {
    guarded("flush", [&] {
      const auto now = clock_.steady_now();
      if (info_ && now - published_ < options_.flush_interval) return;
      publish();
    });
  }

  void sync() override {
    guarded("sync", [&] { publish(); });
  }

  void close() override {
    if (closed_) return;
    guarded("close", [&] { publish(); });
    closed_ = true;
  }

 private:
  template <class Action>
  void guarded(std::string_view what, const Action& action) {
    if (failed_ || closed_) {
      throw failed_precondition("{}: {}, got a file that {}, expected an open one", path_, what,
                                failed_ ? "failed before" : "is closed");
    }
    failed_ = true;  // unless what follows returns
    action();
    failed_ = false;
  }

  void send_buffer() {
    if (upload_ == nullptr) {
      upload_ = store_.upload(name_, precondition_, info_ ? &*info_ : nullptr);
    }
    upload_->write(buffer_);
    buffer_.clear();
  }

  // Makes all bytes visible.
  void publish() {
    if (info_ && upload_ == nullptr && buffer_.empty()) return;
    send_buffer();
    info_ = upload_->finish();
    upload_.reset();
    precondition_ = {.any = false, .version = info_->version};
    published_ = clock_.steady_now();
  }

  ObjectStore& store_;
  const BucketOptions options_;
  Clock& clock_;
  const std::string path_;
  const ObjectName name_;
  Precondition precondition_;
  std::string buffer_;                    // not yet sent
  std::unique_ptr<ObjectUpload> upload_;  // under way; null if nothing was sent since publish()
  std::optional<ObjectInfo> info_;        // as published
  std::chrono::steady_clock::time_point published_;
  bool failed_ = false;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<WritableFile> create_object(ObjectStore& store, const BucketOptions& options,
                                            std::string path, ObjectName name,
                                            Precondition precondition) {
  return std::make_unique<ObjectWriter>(store, options, std::move(path), std::move(name),
                                        std::move(precondition));
}

}  // namespace systole::buckets
