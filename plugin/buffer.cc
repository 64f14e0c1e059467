#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"
#include "systole/base/mutex.h"
#include "systole/pjrt_abi/element_type.h"

namespace systole::plugin {
namespace {

void* memory_of(const PJRT_Buffer& buffer) { return elements_of(buffer).raw(); }

}  // namespace

PJRT_Buffer* make_buffer(PJRT_Client* client, PJRT_Device* device, TensorType type,
                         std::shared_ptr<runtime::Buffer> array, int slice) {
  auto buffer = std::make_unique<PJRT_Buffer>();
  buffer->client = client;
  buffer->device = device;
  buffer->layout = row_major(type.shape.rank());
  buffer->type = std::move(type);
  buffer->slice = slice;
  {
    const systole::MutexLock lock(buffer->mutex);
    buffer->array = std::move(array);
  }
  return buffer.release();
}

std::shared_ptr<runtime::Buffer> array_of(const PJRT_Buffer& buffer) {
  const systole::MutexLock lock(buffer.mutex);
  if (buffer.array != nullptr) return buffer.array;
  throw failed_precondition("systole plugin: a buffer of {} was deleted or donated", buffer.type);
}

Tensor elements_of(const PJRT_Buffer& buffer) {
  const auto array = array_of(buffer);
  array->ready().wait();
  return elements_of(*array, buffer.slice, buffer.type);
}

Tensor elements_of(const runtime::Buffer& array, int slice, const TensorType& type) {
  const Tensor* const value = array.host_value();
  if (value == nullptr) throw internal_error("systole plugin: a buffer that the host cannot read");
  if (slice < 0) return *value;
  return value->slice(slice, slice + 1).reshape(type.shape);
}

PJRT_Error* buffer_destroy(PJRT_Buffer_Destroy_Args* args) {
  return run("PJRT_Buffer_Destroy", args, [](PJRT_Buffer_Destroy_Args& a) { delete a.buffer; });
}

PJRT_Error* buffer_element_type(PJRT_Buffer_ElementType_Args* args) {
  return run("PJRT_Buffer_ElementType", args, [](PJRT_Buffer_ElementType_Args& a) {
    a.type = pjrt_abi::to_pjrt(a.buffer->type.dtype);
  });
}

PJRT_Error* buffer_dimensions(PJRT_Buffer_Dimensions_Args* args) {
  return run("PJRT_Buffer_Dimensions", args, [](PJRT_Buffer_Dimensions_Args& a) {
    a.dims = a.buffer->type.shape.dims().data();
    a.num_dims = a.buffer->type.shape.dims().size();
  });
}

PJRT_Error* buffer_unpadded_dimensions(PJRT_Buffer_UnpaddedDimensions_Args* args) {
  return run("PJRT_Buffer_UnpaddedDimensions", args, [](PJRT_Buffer_UnpaddedDimensions_Args& a) {
    a.unpadded_dims = a.buffer->type.shape.dims().data();
    a.num_dims = a.buffer->type.shape.dims().size();
  });
}

// No program of this plugin has dynamic shapes.
PJRT_Error* buffer_dynamic_dimension_indices(PJRT_Buffer_DynamicDimensionIndices_Args* args) {
  return run("PJRT_Buffer_DynamicDimensionIndices", args,
             [](PJRT_Buffer_DynamicDimensionIndices_Args& a) {
               a.dynamic_dim_indices = nullptr;
               a.num_dynamic_dims = 0;
             });
}

PJRT_Error* buffer_get_memory_layout(PJRT_Buffer_GetMemoryLayout_Args* args) {
  return run("PJRT_Buffer_GetMemoryLayout", args, [](PJRT_Buffer_GetMemoryLayout_Args& a) {
    a.layout = pjrt_abi::make<PJRT_Buffer_MemoryLayout>();
    a.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    a.layout.tiled = pjrt_abi::make<PJRT_Buffer_MemoryLayout_Tiled>();
    a.layout.tiled.minor_to_major = a.buffer->layout.minor_to_major.data();
    a.layout.tiled.minor_to_major_size = a.buffer->layout.minor_to_major.size();
  });
}

PJRT_Error* buffer_on_device_size_in_bytes(PJRT_Buffer_OnDeviceSizeInBytes_Args* args) {
  return run("PJRT_Buffer_OnDeviceSizeInBytes", args, [](PJRT_Buffer_OnDeviceSizeInBytes_Args& a) {
    a.on_device_size_in_bytes = static_cast<size_t>(a.buffer->type.byte_size());
  });
}

PJRT_Error* buffer_device(PJRT_Buffer_Device_Args* args) {
  return run("PJRT_Buffer_Device", args,
             [](PJRT_Buffer_Device_Args& a) { a.device = a.buffer->device; });
}

PJRT_Error* buffer_memory(PJRT_Buffer_Memory_Args* args) {
  return run("PJRT_Buffer_Memory", args, [](PJRT_Buffer_Memory_Args& a) {
    a.memory = a.buffer->device->memory_list[a.buffer->memory_kind];
  });
}

PJRT_Error* buffer_delete(PJRT_Buffer_Delete_Args* args) {
  return run("PJRT_Buffer_Delete", args, [](PJRT_Buffer_Delete_Args& a) {
    const systole::MutexLock lock(a.buffer->mutex);
    a.buffer->array.reset();
  });
}

PJRT_Error* buffer_is_deleted(PJRT_Buffer_IsDeleted_Args* args) {
  return run("PJRT_Buffer_IsDeleted", args, [](PJRT_Buffer_IsDeleted_Args& a) {
    const systole::MutexLock lock(a.buffer->mutex);
    a.is_deleted = a.buffer->array == nullptr;
  });
}

PJRT_Error* buffer_is_on_cpu(PJRT_Buffer_IsOnCpu_Args* args) {
  return run("PJRT_Buffer_IsOnCpu", args, [](PJRT_Buffer_IsOnCpu_Args& a) { a.is_on_cpu = true; });
}

PJRT_Error* buffer_ready_event(PJRT_Buffer_ReadyEvent_Args* args) {
  return run("PJRT_Buffer_ReadyEvent", args, [](PJRT_Buffer_ReadyEvent_Args& a) {
    a.event = make_event(array_of(*a.buffer)->ready());
  });
}

PJRT_Error* buffer_unsafe_pointer(PJRT_Buffer_UnsafePointer_Args* args) {
  return run("PJRT_Buffer_UnsafePointer", args, [](PJRT_Buffer_UnsafePointer_Args& a) {
    a.buffer_pointer = reinterpret_cast<uintptr_t>(memory_of(*a.buffer));
  });
}

PJRT_Error* buffer_opaque_device_memory_data_pointer(
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args) {
  return run("PJRT_Buffer_OpaqueDeviceMemoryDataPointer", args,
             [](PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& a) {
               a.device_memory_ptr = memory_of(*a.buffer);
             });
}

PJRT_Error* buffer_increase_external_reference_count(
    PJRT_Buffer_IncreaseExternalReferenceCount_Args* args) {
  return run("PJRT_Buffer_IncreaseExternalReferenceCount", args,
             [](PJRT_Buffer_IncreaseExternalReferenceCount_Args& a) {
               PJRT_Buffer& buffer = *a.buffer;
               const std::shared_ptr<runtime::Buffer> array = array_of(buffer);
               const MutexLock lock(buffer.mutex);
               if (buffer.external_references++ == 0) buffer.referenced_array = array;
             });
}

PJRT_Error* buffer_decrease_external_reference_count(
    PJRT_Buffer_DecreaseExternalReferenceCount_Args* args) {
  return run(
      "PJRT_Buffer_DecreaseExternalReferenceCount", args,
      [](PJRT_Buffer_DecreaseExternalReferenceCount_Args& a) {
        PJRT_Buffer& buffer = *a.buffer;
        const MutexLock lock(buffer.mutex);
        if (buffer.external_references == 0) {
          throw failed_precondition("PJRT_Buffer_DecreaseExternalReferenceCount: the count is 0");
        }
        if (--buffer.external_references == 0) buffer.referenced_array.reset();
      });
}

}  // namespace systole::plugin
