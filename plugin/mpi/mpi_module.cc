// systole/runtime/mpi_functions.h on MPI 3.
#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <memory>

#include "systole/runtime/mpi_functions.h"

namespace {

MPI_Comm comm(void* group) { return *static_cast<MPI_Comm*>(group); }

// The request that `start` starts, in memory of its own.
template <class Start>
int started(void** request, Start&& start) {
  auto made = std::make_unique<MPI_Request>(MPI_REQUEST_NULL);
  const int code = start(made.get());
  if (code == MPI_SUCCESS) *request = made.release();
  return code;
}

int start(int* rank, int* size) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  int code = MPI_SUCCESS;
  if (initialized == 0) {
    int level = 0;
    code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  }
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return MPI_Comm_size(MPI_COMM_WORLD, size);
}

int finish() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0 ? MPI_SUCCESS : MPI_Finalize();
}

void abort_job(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

int open_group(void** group) {
  auto made = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  const int code = MPI_Comm_dup(MPI_COMM_WORLD, made.get());
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN);
  *group = made.release();
  return code;
}

int max_of(void* group, uint64_t* values, int32_t count, void** request) {
  return started(request, [&](MPI_Request* r) {
    return MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_MAX, comm(group), r);
  });
}

int gather(void* group, const void* from, void* to, int64_t bytes, void** request) {
  return started(request, [&](MPI_Request* r) {
    const int count = static_cast<int>(bytes);
    return MPI_Iallgather(from, count, MPI_BYTE, to, count, MPI_BYTE, comm(group), r);
  });
}

int broadcast(void* group, void* data, int64_t bytes, int32_t root, void** request) {
  return started(request, [&](MPI_Request* r) {
    return MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm(group), r);
  });
}

int send(void* group, const void* data, int64_t bytes, int32_t peer, int32_t tag, void** request) {
  return started(request, [&](MPI_Request* r) {
    return MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm(group), r);
  });
}

int receive(void* group, void* data, int64_t bytes, int32_t peer, int32_t tag, void** request) {
  return started(request, [&](MPI_Request* r) {
    return MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer < 0 ? MPI_ANY_SOURCE : peer, tag,
                     comm(group), r);
  });
}

int test(void** request, int* done) {
  auto* const waiting = static_cast<MPI_Request*>(*request);
  const int code = MPI_Test(waiting, done, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && *done != 0) {
    delete waiting;
    *request = nullptr;
  }
  return code;
}

int cancel(void** request) {
  const std::unique_ptr<MPI_Request> waiting(static_cast<MPI_Request*>(*request));
  *request = nullptr;
  const int code = MPI_Cancel(waiting.get());
  return code != MPI_SUCCESS ? code : MPI_Wait(waiting.get(), MPI_STATUS_IGNORE);
}

void error_text(int error, char* text, int32_t size) {
  char own[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(error, own, &length);
  std::strncpy(text, own, static_cast<size_t>(size) - 1);
  text[size - 1] = '\0';
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const systole::runtime::MpiFunctions
    systole_mpi_functions;  // NOLINT(readability-identifier-naming)
const systole::runtime::MpiFunctions systole_mpi_functions = {
    .version = systole::runtime::kMpiFunctionsVersion,
    .start = start,
    .finish = finish,
    .abort = abort_job,
    .open_group = open_group,
    .max = max_of,
    .gather = gather,
    .broadcast = broadcast,
    .send = send,
    .receive = receive,
    .test = test,
    .cancel = cancel,
    .error_text = error_text,
};
