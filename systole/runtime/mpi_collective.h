// Collective operations over MPI, among the processes that mpirun or srun has started.
#pragma once

#include <chrono>
#include <memory>

#include "systole/runtime/collective.h"

namespace systole::runtime {

// The exit code of a job that ended because a rank did not answer: "temporary failure" of
// sysexits.h. The job may be started again.
inline constexpr int kRestartExitCode = 75;

// Returns how many processes the launcher has started together: OMPI_COMM_WORLD_SIZE (mpirun of
// Open MPI), PMI_SIZE (MPICH, srun) or SLURM_STEP_NUM_TASKS (srun with PMIx). 1 without a launcher,
// and with SYSTOLE_MPI=0.
int num_launched_processes();

// Returns whether a launcher has started this process, alone or with others, or SYSTOLE_MPI=1 says
// so. False with SYSTOLE_MPI=0.
bool is_launched();

// A group of all processes of the job; all of them call this together. The first call loads
// libsystole_mpi.so: the file that SYSTOLE_MPI_LIBRARY names, or the one in the folder lib/ beside
// the program's folder, or where the dynamic linker finds it. MPI ends when the process exits; if a
// rank did not answer in time, the whole job is then aborted with kRestartExitCode.
//
// Sums are computed by owners: a rank adds up one slice of the elements for all ranks. A waiting
// rank polls. Each operation fails with DEADLINE_EXCEEDED after `timeout` without progress, and
// with ABORTED soon after another rank has left.
//
// Errors: NOT_FOUND if SYSTOLE_MPI_LIBRARY names no file; FAILED_PRECONDITION if libsystole_mpi.so
// cannot be loaded or was built for another version of Systole.
std::unique_ptr<Collective> make_mpi_collective(std::chrono::milliseconds timeout);

}  // namespace systole::runtime
