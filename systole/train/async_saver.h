// Saves checkpoints off the training thread.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <thread>

#include "systole/train/saver.h"

namespace systole {

// Takes a snapshot of the variables on the calling thread and writes it on one of its own, one
// checkpoint at a time. What goes wrong while writing is thrown by the next save() or join(). Used
// by one thread; `saver` outlives it and belongs to it meanwhile.
class AsyncSaver {
 public:
  explicit AsyncSaver(Saver& saver) : saver_(saver) {}
  // Waits for the write; an error that nobody asked for is logged.
  ~AsyncSaver();
  AsyncSaver(const AsyncSaver&) = delete;
  AsyncSaver& operator=(const AsyncSaver&) = delete;

  // Waits for the write before, copies, and starts the next. Errors: those of Saver::snapshot, and
  // of the write before.
  void save(Session& session, const std::string& save_path, const SaveOptions& options = {});
  // Waits until all is written. Returns the prefix of the last checkpoint written, "" for none.
  // Errors: those of the write.
  std::string join();
  // A write was started and not joined yet.
  bool busy() const;

 private:
  Saver& saver_;
  std::thread writer_;
  std::string prefix_;        // written by the thread, read once it is joined
  std::exception_ptr error_;  // the same
};

}  // namespace systole
