// Writes checkpoints on another thread.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <thread>

#include "systole/train/saver.h"

namespace systole {

// Takes a snapshot of the variables on the calling thread and writes it on another, one checkpoint
// at a time. The next save() or join() throws errors of writing. Used by one thread. `saver`
// outlives it and must not be used by others.
class AsyncSaver {
 public:
  explicit AsyncSaver(Saver& saver) : saver_(saver) {}
  // Waits for the write. Logs its error.
  ~AsyncSaver();
  AsyncSaver(const AsyncSaver&) = delete;
  AsyncSaver& operator=(const AsyncSaver&) = delete;

  // Waits for the previous write, takes a snapshot, and starts to write it. Errors: those of
  // Saver::snapshot, and of the previous write.
  void save(Session& session, const std::string& save_path, const SaveOptions& options = {});
  // Waits for the write. Returns the prefix of the last checkpoint written; "" if there is none.
  // Errors: those of the write.
  std::string join();
  // Whether a write was started and not joined.
  bool busy() const;

 private:
  Saver& saver_;
  std::thread writer_;
  std::string prefix_;        // written by the thread, read once it is joined
  std::exception_ptr error_;  // the same
};

}  // namespace systole
