// A lock that allows one process at a time to train in a folder.
#pragma once

#include <string>

namespace systole {

// Locks the file `model_dir`/.systole.lock. The operating system releases it when the process ends.
// Errors: FAILED_PRECONDITION names the process that holds it; PERMISSION_DENIED for a folder that
// is not writable.
class ModelDirLock {
 public:
  explicit ModelDirLock(const std::string& model_dir);
  ~ModelDirLock();
  ModelDirLock(const ModelDirLock&) = delete;
  ModelDirLock& operator=(const ModelDirLock&) = delete;

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace systole
