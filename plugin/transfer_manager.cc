// Arrays that the host sends in parts.
#include <cstring>

#include "plugin/elements.h"
#include "plugin/error.h"
#include "plugin/functions.h"
#include "systole/base/mutex.h"

namespace systole::plugin {
namespace {

// An array that comes in parts.
struct IncomingArray {
  TensorType type;
  std::vector<int64_t> strides;         // of the layout in which its bytes come
  std::vector<std::byte> bytes;         // those that came; freed at the end
  std::shared_ptr<PendingArray> array;  // null at the end
  std::unique_ptr<PJRT_Buffer> buffer;  // null when it was retrieved
};

}  // namespace
}  // namespace systole::plugin

// NOLINTNEXTLINE(readability-identifier-naming): the API's name
struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_Device* device = nullptr;
  systole::Mutex mutex;
  std::vector<systole::plugin::IncomingArray> arrays SYSTOLE_GUARDED_BY(mutex);
};

namespace systole::plugin {
namespace {

using Manager = PJRT_AsyncHostToDeviceTransferManager;

constexpr std::string_view kTransferData = "PJRT_AsyncHostToDeviceTransferManager_TransferData";
constexpr std::string_view kTransferLiteral =
    "PJRT_AsyncHostToDeviceTransferManager_TransferLiteral";
constexpr std::string_view kSetBufferError = "PJRT_AsyncHostToDeviceTransferManager_SetBufferError";
constexpr std::string_view kRetrieveBuffer = "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer";
constexpr std::string_view kBufferSize = "PJRT_AsyncHostToDeviceTransferManager_BufferSize";

IncomingArray& array_at(std::string_view function, Manager& manager, int index)
    SYSTOLE_REQUIRES(manager.mutex) {
  if (index >= 0 && static_cast<size_t>(index) < manager.arrays.size()) {
    return manager.arrays[index];
  }
  throw invalid_argument("{}: buffer_index, got {}, expected 0 to {}", function, index,
                         static_cast<int64_t>(manager.arrays.size()) - 1);
}

// The same of an array that has not ended. Errors: FAILED_PRECONDITION if it has.
IncomingArray& open_array(std::string_view function, Manager& manager, int index)
    SYSTOLE_REQUIRES(manager.mutex) {
  IncomingArray& incoming = array_at(function, manager, index);
  if (incoming.array != nullptr) return incoming;
  throw failed_precondition("{}: array {} has had its last transfer", function, index);
}

// Ends the array and returns what gets its elements.
std::shared_ptr<PendingArray> end(IncomingArray& incoming) {
  incoming.bytes = {};
  return std::move(incoming.array);
}

IncomingArray new_array(const DeviceMemory& place, const PJRT_ShapeSpec& spec,
                        const PJRT_Buffer_MemoryLayout* given) {
  constexpr std::string_view kFunction = "PJRT_Client_CreateBuffersForAsyncHostToDevice";
  check_struct("PJRT_ShapeSpec", &spec, kSmallestStruct<PJRT_ShapeSpec>);
  IncomingArray incoming{.type = type_of(spec.element_type, spec.dims, spec.num_dims)};
  Layout layout = layout_of(kFunction, given, incoming.type);
  incoming.strides = given == nullptr ? row_major_strides(incoming.type)
                                      : strides_of(kFunction, *given, incoming.type);
  incoming.bytes.resize(static_cast<size_t>(incoming.type.byte_size()));
  auto [buffer, array] = put_pending(place, incoming.type, std::move(layout));
  incoming.buffer = std::move(buffer);
  incoming.array = std::move(array);
  return incoming;
}

}  // namespace

PJRT_Error* client_create_buffers_for_async_host_to_device(
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* args) {
  return run("PJRT_Client_CreateBuffersForAsyncHostToDevice", args,
             [](PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& a) {
               if (a.num_device_layouts != 0 && a.num_device_layouts != a.num_shape_specs) {
                 throw invalid_argument(
                     "PJRT_Client_CreateBuffersForAsyncHostToDevice: num_device_layouts, got {}, "
                     "expected 0 or {}",
                     a.num_device_layouts, a.num_shape_specs);
               }
               const DeviceMemory& place = place_of(a.client, nullptr, a.memory);
               auto manager = std::make_unique<Manager>();
               manager->device = place.device;
               {
                 const MutexLock lock(manager->mutex);
                 for (size_t i = 0; i < a.num_shape_specs; ++i) {
                   manager->arrays.push_back(
                       new_array(place, a.shape_specs[i],
                                 a.num_device_layouts == 0 ? nullptr : a.device_layouts[i]));
                 }
               }
               a.transfer_manager = manager.release();
             });
}

// Arrays that have not ended fail with CANCELLED.
PJRT_Error* transfer_manager_destroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args* args) {
  return run(
      "PJRT_AsyncHostToDeviceTransferManager_Destroy", args,
      [](PJRT_AsyncHostToDeviceTransferManager_Destroy_Args& a) { delete a.transfer_manager; });
}

PJRT_Error* transfer_manager_transfer_data(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* args) {
  return run(kTransferData, args, [](PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& a) {
    std::unique_ptr<PJRT_Event> done(make_event({}));
    std::shared_ptr<PendingArray> ended;
    Tensor elements;
    {
      const MutexLock lock(a.transfer_manager->mutex);
      IncomingArray& incoming = open_array(kTransferData, *a.transfer_manager, a.buffer_index);
      const auto size = static_cast<int64_t>(incoming.bytes.size());
      if (a.offset < 0 || a.transfer_size < 0 || a.offset > size ||
          a.transfer_size > size - a.offset) {
        throw invalid_argument("{}: offset {} and transfer_size {}, expected a part of {} bytes",
                               kTransferData, a.offset, a.transfer_size, size);
      }
      if (a.transfer_size > 0) {
        std::memcpy(incoming.bytes.data() + a.offset, a.data, static_cast<size_t>(a.transfer_size));
      }
      if (a.is_last_transfer) {
        elements = read_elements(incoming.type, incoming.bytes.data(), incoming.strides);
        ended = end(incoming);
      }
    }
    if (ended != nullptr) ended->give(std::move(elements));
    a.done_with_h2d_transfer = done.release();
  });
}

PJRT_Error* transfer_manager_transfer_literal(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args) {
  return run(
      kTransferLiteral, args, [](PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& a) {
        std::unique_ptr<PJRT_Event> done(make_event({}));
        const TensorType type = type_of(a.shape_element_type, a.shape_dims, a.shape_num_dims);
        std::shared_ptr<PendingArray> ended;
        Tensor elements;
        {
          const MutexLock lock(a.transfer_manager->mutex);
          IncomingArray& incoming =
              open_array(kTransferLiteral, *a.transfer_manager, a.buffer_index);
          if (type != incoming.type) {
            throw invalid_argument("{}: shape, got {}, expected {}", kTransferLiteral, type,
                                   incoming.type);
          }
          elements = read_elements(type, a.data,
                                   a.shape_layout == nullptr
                                       ? row_major_strides(type)
                                       : strides_of(kTransferLiteral, *a.shape_layout, type));
          ended = end(incoming);
        }
        ended->give(std::move(elements));
        a.done_with_h2d_transfer = done.release();
      });
}

PJRT_Error* transfer_manager_set_buffer_error(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* args) {
  return run(kSetBufferError, args,
             [](PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args& a) {
               check_error_code(kSetBufferError, a.error_code);
               std::shared_ptr<PendingArray> ended;
               {
                 const MutexLock lock(a.transfer_manager->mutex);
                 ended = end(open_array(kSetBufferError, *a.transfer_manager, a.buffer_index));
               }
               ended->fail(error_of(a.error_code, a.error_message, a.error_message_size));
             });
}

PJRT_Error* transfer_manager_retrieve_buffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args* args) {
  return run(
      kRetrieveBuffer, args, [](PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args& a) {
        const MutexLock lock(a.transfer_manager->mutex);
        IncomingArray& incoming = array_at(kRetrieveBuffer, *a.transfer_manager, a.buffer_index);
        if (incoming.buffer == nullptr) {
          throw failed_precondition("{}: buffer {} was retrieved before", kRetrieveBuffer,
                                    a.buffer_index);
        }
        a.buffer_out = incoming.buffer.release();
      });
}

PJRT_Error* transfer_manager_device(PJRT_AsyncHostToDeviceTransferManager_Device_Args* args) {
  return run("PJRT_AsyncHostToDeviceTransferManager_Device", args,
             [](PJRT_AsyncHostToDeviceTransferManager_Device_Args& a) {
               a.device_out = a.transfer_manager->device;
             });
}

PJRT_Error* transfer_manager_buffer_count(
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args* args) {
  return run("PJRT_AsyncHostToDeviceTransferManager_BufferCount", args,
             [](PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args& a) {
               const MutexLock lock(a.transfer_manager->mutex);
               a.buffer_count = a.transfer_manager->arrays.size();
             });
}

PJRT_Error* transfer_manager_buffer_size(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args* args) {
  return run(kBufferSize, args, [](PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args& a) {
    const MutexLock lock(a.transfer_manager->mutex);
    a.buffer_size = static_cast<size_t>(
        array_at(kBufferSize, *a.transfer_manager, a.buffer_index).type.byte_size());
  });
}

// Nothing is done with what callers tell of their transfers.
PJRT_Error* transfer_manager_add_metadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args* args) {
  return run("PJRT_AsyncHostToDeviceTransferManager_AddMetadata", args,
             [](PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args&) {});
}

}  // namespace systole::plugin
