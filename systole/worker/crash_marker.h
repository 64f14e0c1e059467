// How the last worker of a folder ended, for the clients of the next one.
#pragma once

#include <string>
#include <string_view>

#include "systole/base/open_file.h"

namespace systole::worker {

// A file in the folder exists while a worker runs. A worker that ends without removing it has died:
// by a signal whose name it still wrote, or without a word (SIGKILL, power).
class CrashMarker {
 public:
  // Makes the folder, reads what the last worker left, and installs handlers of SIGSEGV, SIGBUS,
  // SIGFPE, SIGILL and SIGABRT that write to the file before the process ends. Without a folder it
  // does nothing. One at a time in a process. Errors: UNAVAILABLE for a folder that cannot be
  // written; FAILED_PRECONDITION if another worker that runs has it, and those of open_file() for a
  // file in it that is a link, no regular file or another user's.
  explicit CrashMarker(const std::string& folder);
  ~CrashMarker();  // the worker shuts down as it should
  CrashMarker(const CrashMarker&) = delete;
  CrashMarker& operator=(const CrashMarker&) = delete;

  // Writes how this worker ends, for ends that are none of these signals.
  void add(std::string_view how) const;

  // "the worker of 2026-11-24 13:00:00, process 17, was ended by SIGSEGV"; "" if the last one shut
  // down.
  const std::string& last_exit() const { return last_exit_; }

 private:
  std::string path_;
  std::string last_exit_;
  FileDescriptor file_;
};

}  // namespace systole::worker
