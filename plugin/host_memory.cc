// Memory of the host that callers prepare for transfers. Any memory will do here.
#include "plugin/host_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"
#include "plugin/profiler.h"

namespace systole::plugin {
namespace {

// A cache line, as tensors have.
constexpr size_t kAlignment = 64;

PJRT_Error* preferred_alignment(PJRT_HostAllocator_GetPreferredAlignment_Args* args) {
  return run(
      "PJRT_HostAllocator_GetPreferredAlignment", args,
      [](PJRT_HostAllocator_GetPreferredAlignment_Args& a) { a.preferred_alignment = kAlignment; });
}

PJRT_Error* allocate(PJRT_HostAllocator_Allocate_Args* args) {
  return run("PJRT_HostAllocator_Allocate", args, [](PJRT_HostAllocator_Allocate_Args& a) {
    if (!std::has_single_bit(a.alignment)) {
      throw invalid_argument(
          "PJRT_HostAllocator_Allocate: alignment, got {}, expected a power of 2", a.alignment);
    }
    a.ptr = nullptr;
    if (a.size == 0) return;
    if (posix_memalign(&a.ptr, std::max(a.alignment, sizeof(void*)), a.size) != 0) {
      throw make_error(Code::resource_exhausted,
                       "PJRT_HostAllocator_Allocate: {} bytes of memory on the host", a.size);
    }
  });
}

PJRT_Error* free_memory(PJRT_HostAllocator_Free_Args* args) {
  return run("PJRT_HostAllocator_Free", args,
             [](PJRT_HostAllocator_Free_Args& a) { std::free(a.ptr); });
}

}  // namespace

PJRT_Error* client_dma_map(PJRT_Client_DmaMap_Args* args) {
  return run("PJRT_Client_DmaMap", args, [](PJRT_Client_DmaMap_Args& a) {
    const MutexLock lock(a.client->mutex);
    if (a.client->mapped.insert(a.data).second) return;
    throw make_error(Code::already_exists, "PJRT_Client_DmaMap: the memory is mapped already");
  });
}

PJRT_Error* client_dma_unmap(PJRT_Client_DmaUnmap_Args* args) {
  return run("PJRT_Client_DmaUnmap", args, [](PJRT_Client_DmaUnmap_Args& a) {
    const MutexLock lock(a.client->mutex);
    if (a.client->mapped.erase(a.data) > 0) return;
    throw invalid_argument("PJRT_Client_DmaUnmap: the memory is not mapped");
  });
}

constinit PJRT_HostAllocator_Extension host_allocator_extension = {
    .base = {.struct_size = PJRT_HostAllocator_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_HostAllocator,
             .next = &profiler_extension.base},
    .preferred_alignment = preferred_alignment,
    .allocate = allocate,
    .free = free_memory};

}  // namespace systole::plugin
