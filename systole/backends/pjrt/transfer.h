// Copies between the host and one device of a plugin.
#pragma once

#include "systole/backends/pjrt/device_array.h"

namespace systole::pjrt {

struct Upload {
  PJRT_Buffer* buffer = nullptr;
  runtime::Event ready;
  runtime::Event host_memory_free;
};

// Copies a row-major array of `type` at `data`. `later`: the memory may be read until
// `host_memory_free` is ready; else it was read when the call returns.
Upload upload_part(const Session& session, PJRT_Device* device, const TensorType& type,
                   const void* data, bool later);

// Copies the elements of a buffer to `size` bytes at `data`, in row-major order, whatever the order
// on the device is. `data` must stay in place until the event is ready.
runtime::Event download(const Session& session, PJRT_Buffer* buffer, void* data, size_t size);

}  // namespace systole::pjrt
