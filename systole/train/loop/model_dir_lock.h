// A lock that allows one process at a time to train in a folder.
#pragma once

#include <memory>
#include <string>

#include "systole/base/open_file.h"

namespace systole {

namespace buckets {
class ObjectLock;
}

// Locks `model_dir`/.systole.lock. On a disk this is a lock of the operating system, which ends
// with the process. In a bucket it is an object that the process renews and that is dead without
// renewals (io/buckets/object_lock.h). In other file systems it locks nothing. Errors:
// FAILED_PRECONDITION names the process that holds the lock, or the kind of a file in its place
// that is none (a link, a pipe); PERMISSION_DENIED for a folder that is not writable. Thread-safe.
class ModelDirLock {
 public:
  explicit ModelDirLock(const std::string& model_dir);
  ~ModelDirLock();
  ModelDirLock(const ModelDirLock&) = delete;
  ModelDirLock& operator=(const ModelDirLock&) = delete;

  // Call before each write of a checkpoint. Errors: FAILED_PRECONDITION if another process has
  // taken the lock over, because this one stood still for longer than the lock lives.
  void check() const;

 private:
  void lock_file(const std::string& model_dir, const std::string& folder);
  void lock_object(const std::string& model_dir);

  FileDescriptor file_;
  std::unique_ptr<buckets::ObjectLock> object_;
};

}  // namespace systole
