// The functions of MPI that MpiCollective uses. libsystole_mpi.so has them, compiled against the
// MPI of the machine, so that a program without MPI needs none.
#pragma once

#include <cstdint>

namespace systole::runtime {

inline constexpr int32_t kMpiFunctionsVersion = 1;
inline constexpr const char* kMpiFunctionsSymbol = "systole_mpi_functions";

// Functions that return int return 0, or a code of MPI that error_text() describes. A group is a
// communicator of all ranks with messages of its own. A request is an operation under way; its
// memory stays in place until test() says that it is done. One thread calls at a time.
struct MpiFunctions {
  int32_t version;  // kMpiFunctionsVersion
  // Starts MPI, once in a process.
  int (*start)(int* rank, int* size);
  // Waits for all ranks and ends MPI.
  int (*finish)();
  // Ends all processes of the job; the launcher exits with `code`.
  void (*abort)(int code);
  // All ranks call it together. Groups live until finish(): a late message of a closed group could
  // reach a new one.
  int (*open_group)(void** group);
  // The largest of each number over the ranks.
  int (*max)(void* group, uint64_t* values, int32_t count, void** request);
  // The bytes of all ranks, by rank.
  int (*gather)(void* group, const void* from, void* to, int64_t bytes, void** request);
  int (*broadcast)(void* group, void* data, int64_t bytes, int32_t root, void** request);
  // `peer` below 0 in receive(): any rank. At most 2^31 - 1 bytes. Messages of one tag between two
  // ranks arrive in order.
  int (*send)(void* group, const void* data, int64_t bytes, int32_t peer, int32_t tag,
              void** request);
  int (*receive)(void* group, void* data, int64_t bytes, int32_t peer, int32_t tag, void** request);
  // Stores whether the request is done, and then frees it and sets it to null.
  int (*test)(void** request, int* done);
  // Gives a receive up that no message has reached, and frees it.
  int (*cancel)(void** request);
  void (*error_text)(int error, char* text, int32_t size);
};

}  // namespace systole::runtime
