#include "systole/io/buckets/block_cache.h"

#include <algorithm>
#include <utility>

#include "systole/base/escape.h"
#include "systole/base/mutex.h"

namespace systole::buckets {

std::string object_path(const ObjectStore& store, const ObjectName& name) {
  return fmt::format("{}://{}/{}", store.scheme(), name.bucket, name.key);
}

ObjectBlock::ObjectBlock(ObjectStore& store, ObjectName name, std::string version, uint64_t offset,
                         size_t size)
    : store_(store),
      name_(std::move(name)),
      version_(std::move(version)),
      offset_(offset),
      size_(size),
      bytes_(new char[size]) {
  http::HttpRequest request = store_.read_request(name_, version_, offset_, size_);
  request.buffer = bytes_;
  request.buffer_bytes = size_;
  call_ = store_.client().start(std::move(request));
}

std::string ObjectBlock::what() const {
  return fmt::format("{}: cannot read at offset {}", object_path(store_, name_), offset_);
}

const char* ObjectBlock::bytes() {
  const MutexLock lock(mutex_);
  if (!complete_ && error_ == nullptr) {
    try {
      complete();
      complete_ = true;
    } catch (const Error& error) {
      error_ = std::make_unique<Error>(error);
    }
    call_.reset();
  }
  if (error_ != nullptr) throw Error(*error_);
  return bytes_.get();
}

bool ObjectBlock::accept(const http::HttpCall& call, size_t* got) {
  const http::HttpResponse& response = call.response();
  const int status = response.status;
  if (status == 206 || (status == 200 && offset_ == 0 && *got == 0)) {
    const std::string& range = response.header("content-range");
    const std::string start = fmt::format("bytes {}-", offset_ + *got);
    if (status == 206 && !range.starts_with(start)) {
      throw make_error(Code::data_loss, "{}, got the range '{}', expected '{}...'", what(),
                       escaped(range, {.ascii = true}), start);
    }
    *got += response.buffered;
    if (call.failure() && call.failure()->code == Code::data_loss) {
      throw make_error(Code::data_loss, "{}, got {}", what(), call.failure()->message);
    }
    return *got == size_;
  }
  if (call.failure()) {
    if (call.failure()->code == Code::unavailable ||
        call.failure()->code == Code::deadline_exceeded) {
      return false;
    }
    throw make_error(call.failure()->code, "{}, got '{}'", what(), call.failure()->message);
  }
  if (http::is_transient_http_status(status)) return false;
  if (status == 200) {
    throw make_error(Code::data_loss, "{}, got HTTP 200 without a range, expected 206", what());
  }
  if (status == 404 || status == 412 || status == 416) {
    throw failed_precondition(
        "{}, got HTTP {}: the object was replaced or removed after it was opened", what(), status);
  }
  throw http::http_error(what(), response, store_.error_text()(response.body));
}

// Requests what is missing until the block is whole.
void ObjectBlock::complete() {
  http::Backoff backoff(store_.retries(), what());
  size_t got = 0;
  int recoveries = 0;
  while (true) {
    call_->wait();
    const http::HttpResponse& response = call_->response();
    const size_t before = got;
    const bool rejected = !call_->failure() && response.status / 100 == 4 && recoveries < 2;
    if (rejected && store_.recover(response)) {
      ++recoveries;
    } else {
      if (accept(*call_, &got)) return;
      // Attempts that brought bytes do not count.
      const auto& failure = call_->failure();
      if (got == before &&
          !(failure ? backoff.wait(nullptr, failure->message) : backoff.wait(&response))) {
        break;
      }
    }
    http::HttpRequest request = store_.read_request(name_, version_, offset_ + got, size_ - got);
    request.buffer = std::shared_ptr<char[]>(bytes_, bytes_.get() + got);
    request.buffer_bytes = size_ - got;
    call_ = store_.client().start(std::move(request));
  }
  const std::string tries = fmt::format(" after {} attempts", backoff.attempts());
  if (call_->failure()) {
    throw make_error(call_->failure()->code, "{}, got '{}'{}", what(), call_->failure()->message,
                     tries);
  }
  if (call_->response().status == 206) {
    throw make_error(Code::data_loss, "{}, got {} bytes, expected {}{}", what(), got, size_, tries);
  }
  const Error error =
      http::http_error(what(), call_->response(), store_.error_text()(call_->response().body));
  throw Error(error.code(), error.message() + tries);
}

void BlockCache::make_room(size_t size, bool also_unread) {
  for (auto use = uses_.end(); bytes_ + size > max_bytes_ && use != uses_.begin();) {
    --use;
    const auto entry = blocks_.find(*use);
    if (entry->second.block.use_count() > 1 || (entry->second.unread && !also_unread)) continue;
    bytes_ -= entry->second.size;
    blocks_.erase(entry);
    use = uses_.erase(use);
  }
}

std::shared_ptr<ObjectBlock> BlockCache::get(const Key& key, size_t size, bool needed,
                                             const Start& start) {
  const MutexLock lock(mutex_);
  const auto found = blocks_.find(key);
  if (found != blocks_.end()) {
    uses_.splice(uses_.begin(), uses_, found->second.use);
    if (needed) found->second.unread = false;
    return found->second.block;
  }
  make_room(size, false);
  if (needed) make_room(size, true);
  if (!needed && bytes_ + size > max_bytes_) return nullptr;
  std::shared_ptr<ObjectBlock> block = start();
  uses_.push_front(key);
  blocks_.emplace(key,
                  Entry{.block = block, .size = size, .unread = !needed, .use = uses_.begin()});
  bytes_ += size;
  peak_ = std::max(peak_, bytes_);
  return block;
}

void BlockCache::drop(const Key& key, bool only_unread) {
  const MutexLock lock(mutex_);
  const auto found = blocks_.find(key);
  if (found == blocks_.end() || (only_unread && !found->second.unread)) return;
  bytes_ -= found->second.size;
  uses_.erase(found->second.use);
  blocks_.erase(found);
}

size_t BlockCache::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

size_t BlockCache::peak_bytes() const {
  const MutexLock lock(mutex_);
  return peak_;
}

}  // namespace systole::buckets
