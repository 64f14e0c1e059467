#include "systole/runtime/mpi_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/base/library_path.h"
#include "systole/runtime/mpi_collective.h"

namespace systole::runtime {
namespace {

constexpr const char* kLibraryName = "libsystole_mpi.so";

std::atomic<bool> abort_at_exit = false;

std::string library_path() {
  std::string given = environment_value("SYSTOLE_MPI_LIBRARY");
  if (!given.empty()) {
    if (std::filesystem::exists(given)) return given;
    throw not_found("mpi: SYSTOLE_MPI_LIBRARY, got '{}', expected a file", given);
  }
  std::error_code ignored;
  std::string own = own_library_path(kLibraryName);
  return std::filesystem::exists(own, ignored) ? own : kLibraryName;
}

const MpiFunctions& load_functions() {
  const std::string path = library_path();
  // Open MPI loads its own plugins, which need its symbols.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw failed_precondition(
        "mpi: this process was started as one of {}, and {} cannot be loaded: {}. Install Open MPI "
        "(Debian's libopenmpi3) and build with libopenmpi-dev, or set SYSTOLE_MPI=0 to train alone",
        num_launched_processes(), path, dlerror());
  }
  const auto* const functions =
      static_cast<const MpiFunctions*>(dlsym(library, kMpiFunctionsSymbol));
  if (functions == nullptr || functions->version != kMpiFunctionsVersion) {
    throw failed_precondition("mpi: version of {}, got {}, expected {}", path,
                              functions == nullptr ? 0 : functions->version, kMpiFunctionsVersion);
  }
  return *functions;
}

// At exit. A job with a rank that does not answer cannot be ended together.
void end_mpi() {
  const MpiFunctions& mpi = *mpi_job().functions;
  if (abort_at_exit) mpi.abort(kRestartExitCode);
  mpi.finish();
}

MpiJob start_mpi() {
  MpiJob job{.functions = &load_functions()};
  const int code = job.functions->start(&job.rank, &job.size);
  if (code != 0) throw failed_precondition("mpi: start, got error {} of MPI_Init_thread", code);
  return job;
}

}  // namespace

const MpiJob& mpi_job() {
  static const MpiJob job = start_mpi();
  static const int registered = std::atexit(end_mpi);
  static_cast<void>(registered);
  return job;
}

Mutex& mpi_mutex() {
  static Mutex mutex;
  return mutex;
}

void abort_mpi_at_exit() { abort_at_exit = true; }

void check_mpi(int code, std::string_view operation) {
  if (code == 0) return;
  std::array<char, 512> text{};
  mpi_job().functions->error_text(code, text.data(), static_cast<int32_t>(text.size()));
  throw internal_error("mpi: {}: {}", operation, text.data());
}

namespace {

// 0: there is no launcher.
int launcher_size() {
  const auto count = [](const char* name) { return std::atoi(environment_value(name).c_str()); };
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (count(name) > 0) return count(name);
  }
  const bool pmix = !environment_value("PMIX_RANK").empty();
  return pmix ? std::max(count("SLURM_STEP_NUM_TASKS"), 0) : 0;
}

}  // namespace

int num_launched_processes() {
  return environment_value("SYSTOLE_MPI") == "0" ? 1 : std::max(launcher_size(), 1);
}

bool is_launched() {
  const std::string setting = environment_value("SYSTOLE_MPI");
  return setting != "0" && (setting == "1" || launcher_size() > 0);
}

}  // namespace systole::runtime
