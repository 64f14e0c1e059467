// The arrays of a session that are on their way: uploads that no operation has used yet, and
// results that the client has not freed yet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/base/tensor.h"
#include "systole/worker/memory_account.h"
#include "systole/worker/shared_arena.h"

namespace systole::worker {

// An array, and the shared memory in which it lies, if it does.
struct Array {
  Tensor value;
  std::shared_ptr<SharedArena::Block> block = {};
};

// One array. Shared by the session and the stream that carries it.
struct Transfer {
  Tensor value;
  Charge charge;
  std::shared_ptr<SharedArena::Block> block = {};
  std::function<void()> cancel = {};  // ends the stream of an upload
  bool complete = false;              // guarded by the lock of Transfers
};

// An array that goes to the other process of its session.
struct MovedArray {
  uint64_t id = 0;
  TensorType type;
  BlockPlace place;
  int64_t charged = 0;  // bytes that count for it
};

// Thread-safe.
class Transfers {
 public:
  // For a session in one process.
  explicit Transfers(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)) {}
  // For one side of a session in two processes: arrays are allocated in `own`, and those of the
  // other side lie in `other`.
  Transfers(std::shared_ptr<MemoryAccount> account, std::shared_ptr<SharedArena> own,
            std::shared_ptr<SharedArena> other)
      : account_(std::move(account)), own_(std::move(own)), other_(std::move(other)) {}

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
  // Memory for a result. Errors: RESOURCE_EXHAUSTED.
  Array allocate(const TensorType& type);
  // Keeps a result until the client frees it. Errors: RESOURCE_EXHAUSTED.
  void add_result(uint64_t id, Array result);
  // Errors: NOT_FOUND.
  std::shared_ptr<Transfer> find(uint64_t id);
  // Returns whether there was one.
  bool free(uint64_t id);
  // Drops all, and refuses others.
  void close();
  // Gives memory back that is kept for more arrays than there are.
  void trim();

  // Between the two processes of a session. Takes an uploaded array out for the other process; none
  // if there is no complete one.
  std::vector<MovedArray> hand_over(const std::vector<uint64_t>& uploads);
  // Takes the results out that were added since the last call.
  std::vector<MovedArray> hand_over_results();
  // Adds an array that the other process handed over. Errors: DATA_LOSS.
  void take_over(const MovedArray& array);

 private:
  static MovedArray move_out(uint64_t id, Transfer& transfer);

  const std::shared_ptr<MemoryAccount> account_;
  const std::shared_ptr<SharedArena> own_;
  const std::shared_ptr<SharedArena> other_;
  Mutex mutex_;
  bool closed_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, std::shared_ptr<Transfer>> transfers_ SYSTOLE_GUARDED_BY(mutex_);
  std::vector<uint64_t> new_results_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::worker
