#include "systole/backends/pjrt/transfer.h"

#include <algorithm>
#include <cstring>

#include "systole/pjrt_abi/element_type.h"

namespace systole::pjrt {
namespace {

using runtime::Event;

constexpr std::string_view kToHost = "PJRT_Buffer_ToHostBuffer";

// How an array lies in the memory of its device.
struct Layout {
  std::vector<int64_t> dims;
  std::vector<int64_t> minor_to_major;

  bool is_row_major() const {
    for (size_t i = 0; i < minor_to_major.size(); ++i) {
      if (minor_to_major[i] != static_cast<int64_t>(minor_to_major.size() - 1 - i)) return false;
    }
    return true;
  }
};

// Row-major if the plugin does not tell.
Layout layout_of(const Session& session, PJRT_Buffer* buffer) {
  const Plugin& plugin = *session.plugin;
  Layout layout;
  auto given = pjrt_abi::make<PJRT_Buffer_GetMemoryLayout_Args>();
  given.buffer = buffer;
  try {
    plugin.call(&PJRT_Api::PJRT_Buffer_GetMemoryLayout, "PJRT_Buffer_GetMemoryLayout", given);
  } catch (const Error& error) {
    if (error.code() != Code::unimplemented) throw;
    return layout;
  }
  if (given.layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled) return layout;
  const auto& tiled = given.layout.tiled;
  layout.minor_to_major.assign(tiled.minor_to_major,
                               tiled.minor_to_major + tiled.minor_to_major_size);
  auto dims = pjrt_abi::make<PJRT_Buffer_Dimensions_Args>();
  dims.buffer = buffer;
  plugin.call(&PJRT_Api::PJRT_Buffer_Dimensions, "PJRT_Buffer_Dimensions", dims);
  layout.dims.assign(dims.dims, dims.dims + dims.num_dims);
  return layout;
}

// Copies an array whose axes are ordered as `layout` says to row-major order.
void to_row_major(const Layout& layout, const std::byte* from, std::byte* to, size_t size) {
  const size_t rank = layout.dims.size();
  std::vector<int64_t> strides(rank);
  int64_t elements = 1;
  for (const int64_t axis : layout.minor_to_major) {
    strides[axis] = elements;
    elements *= layout.dims[axis];
  }
  const size_t element = elements == 0 ? 0 : size / static_cast<size_t>(elements);
  std::vector<int64_t> index(rank, 0);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; ++axis) offset += index[axis] * strides[axis];
    std::memcpy(to + static_cast<size_t>(i) * element, from + static_cast<size_t>(offset) * element,
                element);
    for (size_t axis = rank; axis-- > 0 && ++index[axis] == layout.dims[axis];) index[axis] = 0;
  }
}

Event start_download(const Session& session, PJRT_Buffer* buffer, void* data, size_t size) {
  auto args = pjrt_abi::make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  args.dst = data;
  args.dst_size = size;
  session.plugin->call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, kToHost, args);
  return session.plugin->take_event(args.event, kToHost);
}

}  // namespace

Upload upload_part(const Session& session, PJRT_Device* device, const TensorType& type,
                   const void* data, bool later) {
  const Plugin& plugin = *session.plugin;
  auto args = pjrt_abi::make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = session.client;
  args.data = data;
  args.type = pjrt_abi::to_pjrt(type.dtype);
  args.dims = type.shape.dims().data();
  args.num_dims = type.shape.dims().size();
  args.host_buffer_semantics = later ? PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes
                                     : PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = device;
  plugin.call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, "PJRT_Client_BufferFromHostBuffer",
              args);
  Upload made{.buffer = args.buffer};
  try {
    made.host_memory_free =
        plugin.take_event(args.done_with_host_buffer, "PJRT_Client_BufferFromHostBuffer");
    auto ready = pjrt_abi::make<PJRT_Buffer_ReadyEvent_Args>();
    ready.buffer = args.buffer;
    plugin.call(&PJRT_Api::PJRT_Buffer_ReadyEvent, "PJRT_Buffer_ReadyEvent", ready);
    made.ready = plugin.take_event(ready.event, "PJRT_Client_BufferFromHostBuffer");
  } catch (const Error&) {
    session.destroy_buffer(args.buffer);
    throw;
  }
  return made;
}

Event download(const Session& session, PJRT_Buffer* buffer, void* data, size_t size) try {
  Layout layout = layout_of(session, buffer);
  if (layout.is_row_major()) return start_download(session, buffer, data, size);
  struct Permuted {
    Layout layout;
    std::vector<std::byte> bytes;
    runtime::Promise promise;
  };
  const auto permuted = std::make_shared<Permuted>();
  permuted->layout = std::move(layout);
  permuted->bytes.resize(size);
  Event result = permuted->promise.event();
  start_download(session, buffer, permuted->bytes.data(), size)
      .then([permuted, data, size](const Error* error) {
        if (error != nullptr) return permuted->promise.fail(*error);
        to_row_major(permuted->layout, permuted->bytes.data(), static_cast<std::byte*>(data), size);
        permuted->promise.set();
      });
  return result;
} catch (const Error& error) {
  return Event::failed(error);
}

}  // namespace systole::pjrt
