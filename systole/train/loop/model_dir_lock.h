// One process trains in a model_dir at a time.
#pragma once

#include <string>

namespace systole {

// Holds the file `model_dir`/.systole.lock while it lives. The operating system releases it when
// the process ends, however it does. Errors: FAILED_PRECONDITION names the process that holds it;
// PERMISSION_DENIED for a folder that cannot be written to.
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
