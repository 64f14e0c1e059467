// The arrays of a session that are on their way: uploads that no operation has used yet, and
// results that the client has not freed yet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "systole/base/tensor.h"
#include "systole/worker/memory_account.h"

namespace systole::worker {

// One array. Shared by the session and the stream that carries it.
struct Transfer {
  Tensor value;
  Charge charge;
  std::function<void()> cancel = {};  // ends the stream of an upload
  bool complete = false;              // guarded by the lock of Transfers
};

// Thread-safe.
class Transfers {
 public:
  explicit Transfers(MemoryAccount& account) : account_(account) {}

  // Allocates memory for an upload. One of the same id is dropped: the client tries again.
  // `cancel` is called, once at most, when the session drops the upload before its end. Errors:
  // RESOURCE_EXHAUSTED; CANCELLED after close().
  std::shared_ptr<Transfer> begin_upload(uint64_t id, const TensorType& type,
                                         std::function<void()> cancel);
  // Marks an upload as complete, unless it was dropped.
  void finish_upload(uint64_t id, const std::shared_ptr<Transfer>& transfer);
  // Drops an upload that failed.
  void drop_upload(uint64_t id, const std::shared_ptr<Transfer>& transfer);

  // Takes an uploaded array out. Errors: NOT_FOUND.
  std::shared_ptr<Transfer> take(uint64_t id);
  // Keeps a result until the client frees it. Errors: RESOURCE_EXHAUSTED.
  void add_result(uint64_t id, Tensor value);
  // Errors: NOT_FOUND.
  std::shared_ptr<Transfer> find(uint64_t id);
  // Returns whether there was one.
  bool free(uint64_t id);
  // Drops all, and refuses others.
  void close();

 private:
  MemoryAccount& account_;
  std::mutex mutex_;
  bool closed_ = false;
  std::map<uint64_t, std::shared_ptr<Transfer>> transfers_;
};

}  // namespace systole::worker
