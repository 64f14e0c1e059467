// Power failures of writers: runs a writer on a MemoryFileSystem, and after each of its operations
// looks at many states that the disk may be left in (memory_file_system.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "systole/io/file_systems/memory_file_system.h"

namespace systole::testing {

// A writer and the reader of what it writes. Saves are numbered 1, 2...
struct CrashSubject {
  std::string name;
  MemoryFileSystem* files = nullptr;
  // Makes a save, as a program of its own does. When it returns the save is acknowledged.
  std::function<void(int number)> save;
  // Returns the number of the newest save that is found, 0 for none. Throws for a damaged one that
  // is taken for whole.
  std::function<int()> read;
  // Whether a save that has returned survives. Files that grow and are not synced do not.
  bool durable = true;
};

struct CrashReport {
  int64_t operations = 0;  // after which the power failed
  int64_t states = 0;      // that were tried
  int64_t distinct = 0;    // of them, those that differ
  int64_t continued = 0;   // of those, those on which a further save was made and read
  std::vector<std::string> failures;
};

// Makes `saves` saves on empty files, and tries about `states` states: as many after each
// operation.
CrashReport crash(const CrashSubject& subject, int saves, int64_t states);

// The states that each test tries: those of SYSTOLE_CRASH_STATES, or some hundred.
int64_t crash_states();

// Runs crash(), prints what it did, and fails the test for each failure.
void expect_survives(const CrashSubject& subject, int saves = 3);

// A subject whose saves are versions of one file. `write` writes version `number`.
CrashSubject one_file(std::string name, MemoryFileSystem& files, std::string path,
                      std::function<void(int number)> write);

}  // namespace systole::testing
