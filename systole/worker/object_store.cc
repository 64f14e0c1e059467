#include "systole/worker/object_store.h"

#include <utility>

namespace systole::worker {
namespace {

constexpr size_t kMaxObjects = size_t{1} << 20;

}  // namespace

void ObjectStore::check_new(uint64_t id) const {
  if (buffers_.contains(id) || executables_.contains(id)) {
    throw make_error(Code::already_exists, "worker: id, got {} a second time", id);
  }
  if (buffers_.size() + executables_.size() >= kMaxObjects) {
    throw make_error(Code::resource_exhausted,
                     "worker: buffers and executables, got more than {} in one session",
                     kMaxObjects);
  }
}

StoredBuffer& ObjectStore::add_buffer(uint64_t id) {
  check_new(id);
  return buffers_[id];
}

void ObjectStore::add_executable(uint64_t id, StoredExecutable executable) {
  check_new(id);
  executables_[id] = std::move(executable);
}

StoredBuffer& ObjectStore::buffer(uint64_t id) {
  const auto it = buffers_.find(id);
  if (it == buffers_.end()) throw not_found("worker: buffer, got {}, which is none", id);
  return it->second;
}

runtime::Executable& ObjectStore::executable(uint64_t id) {
  const auto it = executables_.find(id);
  if (it == executables_.end()) throw not_found("worker: executable, got {}, which is none", id);
  return *it->second.executable;
}

void ObjectStore::free(uint64_t id) {
  buffers_.erase(id);
  executables_.erase(id);
}

void ObjectStore::clear() {
  buffers_.clear();
  executables_.clear();
}

}  // namespace systole::worker
