// Maps ids, which the client of a session chooses, to the buffers and executables of that session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "systole/base/error.h"
#include "systole/runtime/client.h"
#include "systole/worker/memory_account.h"

namespace systole::worker {

// A buffer, or the error of the operation that should have made it.
struct StoredBuffer {
  std::unique_ptr<runtime::Buffer> buffer;
  Charge charge;
  std::optional<Error> error;
};

// A compiled program, and what it takes.
struct StoredExecutable {
  std::unique_ptr<runtime::Executable> executable;
  Charge charge;
};

// Owns its objects. Not thread-safe: only the thread that runs the operations of the session uses
// it.
class ObjectStore {
 public:
  // Errors: ALREADY_EXISTS; RESOURCE_EXHAUSTED for more objects than any program needs.
  StoredBuffer& add_buffer(uint64_t id);
  void add_executable(uint64_t id, StoredExecutable executable);
  // Throws what add_buffer() and add_executable() would throw for this id.
  void check_new(uint64_t id) const;

  // Errors: NOT_FOUND.
  StoredBuffer& buffer(uint64_t id);
  runtime::Executable& executable(uint64_t id);

  void free(uint64_t id);  // if it is there
  void clear();
  int64_t num_buffers() const { return static_cast<int64_t>(buffers_.size()); }
  int64_t num_executables() const { return static_cast<int64_t>(executables_.size()); }

 private:
  std::map<uint64_t, StoredBuffer> buffers_;
  std::map<uint64_t, StoredExecutable> executables_;
};

}  // namespace systole::worker
