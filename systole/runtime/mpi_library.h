// Loads libsystole_mpi.so.
#pragma once

#include <string_view>

#include "systole/base/mutex.h"
#include "systole/runtime/mpi_functions.h"

namespace systole::runtime {

// MPI in this process.
struct MpiJob {
  const MpiFunctions* functions = nullptr;
  int rank = 0;
  int size = 1;
};

// Starts MPI at the first call; exit() ends it. Errors: those of make_mpi_collective().
// Thread-safe.
const MpiJob& mpi_job();

// Serializes calls of MPI: hold it for each call. A thread that polls for messages releases it
// between polls.
Mutex& mpi_mutex();

// Makes exit() abort the job with kRestartExitCode, because a rank does not answer: waiting for it
// would take forever.
void abort_mpi_at_exit();

// Throws INTERNAL for an error code of MPI.
void check_mpi(int code, std::string_view operation);

}  // namespace systole::runtime
