// SIGTERM, SIGINT and SIGHUP during a long call: it ends early and saves its work.
#pragma once

namespace systole {

// While an object exists, the three signals are recorded instead of ending the process, and the
// notice is written to stderr at once. A second signal of the same kind ends the process. SIGHUP
// stays ignored where it was (nohup). Objects may be nested and used on several threads: the first
// installs the handlers, the last removes them. Thread-safe.
class StopSignals {
 public:
  // `notice`: a string literal, such as "finishing the steps under way and saving"; written after
  // the signal's name. Null: that of the enclosing object, or none.
  explicit StopSignals(const char* notice = nullptr);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns the name of the last signal since the first object was made, or "the worker's end" if
  // a notice came since then that the device goes away (runtime/preemption.h); nullptr if neither
  // came. The name stays after all objects are gone.
  static const char* received();
  // Returns what a program exits with after work that ended early, so that whoever started it can
  // tell: 130 for SIGINT, as a shell expects of Ctrl-C; 75, "temporary failure" of sysexits.h, for
  // the others, after which the program may be started again; 0 when none came.
  static int exit_code();

 private:
  const char* enclosing_notice_;
};

}  // namespace systole
