// Runs libtpu's compiler in a process of its own. What the compiler does, crashes included, does
// not reach the calling process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace systole::tpu_check {

struct CompilerJob {
  std::string library;           // the file
  std::string system;            // "v3-8", for the compiler's environment
  std::string topology;          // "v3:2x2"
  std::string chip_config = {};  // target.h
  std::string program;           // StableHLO text or bytecode
  int replicas = 1;
  int partitions = 1;
  bool low_effort = false;
  bool serialize = false;  // returns the executable's bytes
};

// How the compiler's process ended.
enum class CompilerEnd : uint8_t {
  answered,     // with an executable or an error of the compiler's
  crashed,      // by itself
  out_of_time,  // it was ended
  interrupted,  // by SIGINT or SIGTERM, which this process got too, or by the end of this process
};

struct CompilerOutcome {
  CompilerEnd end = CompilerEnd::crashed;
  std::string how;    // of a crash: "was ended by SIGSEGV"
  std::string stage;  // the last one that began: "loading", "topology", "compiling", "reading"
  std::string log;    // the end of what the compiler wrote
  // Names and values that the process wrote: "code" and "message" of an error with "stage" in which
  // it occurred; else "arguments", "temporaries"... in bytes, "executable".
  std::map<std::string, std::string> values;
  // The compiler's dump, by ending: "after_codegen.txt", "live-range.txt"...
  std::map<std::string, std::string> files;
};

// Starts the process, waits for it, and removes its files. `progress`, if any, is called about once
// a second with the seconds that have passed. Ends the process after `max_seconds`. Errors:
// RESOURCE_EXHAUSTED if no process can be started or there is no room for its files.
CompilerOutcome run_compiler(const CompilerJob& job, double max_seconds,
                             const std::function<void(double)>& progress);

}  // namespace systole::tpu_check
