#include <cstring>

#include "plugin/elements.h"
#include "plugin/error.h"
#include "plugin/functions.h"

namespace systole::plugin {
namespace {

Tensor read_host(const PJRT_Client_BufferFromHostBuffer_Args& a) {
  const TensorType type = type_of(a.type, a.dims, a.num_dims);
  if (a.num_byte_strides != 0 && a.num_byte_strides != a.num_dims) {
    throw invalid_argument(
        "PJRT_Client_BufferFromHostBuffer: num_byte_strides, got {}, expected {}",
        a.num_byte_strides, a.num_dims);
  }
  std::vector<int64_t> strides = row_major_strides(type);
  if (a.byte_strides != nullptr && a.num_byte_strides > 0) {
    strides.assign(a.byte_strides, a.byte_strides + a.num_byte_strides);
  }
  return read_elements(type, a.data, std::move(strides));
}

// A part of an array's bytes.
struct ByteRange {
  int64_t offset = 0;
  int64_t size = 0;
};

// Errors: INVALID_ARGUMENT for bytes that the buffer does not have.
void check_range(std::string_view function, const ByteRange& range, const TensorType& type) {
  const int64_t size = type.byte_size();
  if (range.offset >= 0 && range.size >= 0 && range.offset <= size &&
      range.size <= size - range.offset) {
    return;
  }
  throw invalid_argument("{}: offset {} and transfer_size {}, expected a part of {} bytes",
                         function, range.offset, range.size, size);
}

runtime::Event copy_range(const PJRT_Buffer& buffer, const ByteRange& range, void* target) {
  return with_elements(buffer, [range, target](const Tensor& elements) {
    if (range.size == 0) return;
    std::memcpy(target, static_cast<const std::byte*>(elements.raw()) + range.offset,
                static_cast<size_t>(range.size));
  });
}

// A copy of a range whose place the caller names later.
struct LaterCopy {
  std::unique_ptr<PJRT_Buffer> source;  // of the array that the caller's buffer had
  ByteRange range;
  runtime::Promise promise;
};

void copy_now(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) {
  const std::shared_ptr<LaterCopy> copy(static_cast<LaterCopy*>(args->callback_data));
  if (args->error_code != PJRT_Error_Code_OK) {
    return copy->promise.fail(
        error_of(args->error_code, args->error_message, args->error_message_size));
  }
  copy_range(*copy->source, copy->range, args->dst).then([copy](const Error* error) {
    error == nullptr ? copy->promise.set() : copy->promise.fail(*error);
  });
}

PJRT_Buffer* copy_to_place(const PJRT_Buffer& buffer, const DeviceMemory& place) {
  const runtime::Event ready = array_of(buffer)->ready();
  if (ready.ready() && ready.error() == nullptr) {
    return put(place, elements_of(buffer).clone(), &buffer.layout);
  }
  auto [copy, pending] = put_pending(place, buffer.type, buffer.layout);
  give_copy(buffer, buffer.type, std::move(pending));
  return copy.release();
}

}  // namespace

PJRT_Error* client_buffer_from_host_buffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  return run("PJRT_Client_BufferFromHostBuffer", args,
             [](PJRT_Client_BufferFromHostBuffer_Args& a) {
               // Every semantics allows a copy, after which the host's memory is free.
               std::unique_ptr<PJRT_Event> done(make_event({}));
               const Layout layout = layout_of("PJRT_Client_BufferFromHostBuffer", a.device_layout,
                                               type_of(a.type, a.dims, a.num_dims));
               a.buffer = put(place_of(a.client, a.device, a.memory), read_host(a), &layout);
               a.done_with_host_buffer = done.release();
             });
}

PJRT_Error* client_create_uninitialized_buffer(PJRT_Client_CreateUninitializedBuffer_Args* args) {
  return run("PJRT_Client_CreateUninitializedBuffer", args,
             [](PJRT_Client_CreateUninitializedBuffer_Args& a) {
               const TensorType type =
                   type_of(a.shape_element_type, a.shape_dims, a.shape_num_dims);
               a.buffer = put(place_of(a.client, a.device, a.memory),
                              Tensor::zeros(type.dtype, type.shape));
             });
}

// The view is a copy: the caller's memory is free when the call returns.
PJRT_Error* client_create_view_of_device_buffer(PJRT_Client_CreateViewOfDeviceBuffer_Args* args) {
  return run("PJRT_Client_CreateViewOfDeviceBuffer", args,
             [](PJRT_Client_CreateViewOfDeviceBuffer_Args& a) {
               const TensorType type = type_of(a.element_type, a.dims, a.num_dims);
               const Tensor view = Tensor::view(type.dtype, type.shape, a.device_buffer_ptr);
               a.buffer = put(place_of(a.client, a.device, a.memory), view.clone());
               if (a.on_delete_callback != nullptr) {
                 a.on_delete_callback(a.device_buffer_ptr, a.on_delete_callback_arg);
               }
             });
}

PJRT_Error* buffer_to_host_buffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  return run("PJRT_Buffer_ToHostBuffer", args, [](PJRT_Buffer_ToHostBuffer_Args& a) {
    const TensorType& type = a.src->type;
    const auto size = static_cast<size_t>(type.byte_size());
    if (a.dst == nullptr) {
      a.dst_size = size;
      return;
    }
    if (a.dst_size < size) {
      throw invalid_argument("PJRT_Buffer_ToHostBuffer: dst_size of {}, got {}, expected {}", type,
                             a.dst_size, size);
    }
    std::vector<int64_t> strides =
        a.host_layout != nullptr ? strides_of("PJRT_Buffer_ToHostBuffer", *a.host_layout, type)
                                 : row_major_strides(type);
    a.event = make_event(with_elements(
        *a.src, [target = a.dst, strides = std::move(strides)](const Tensor& elements) {
          write_elements(elements, target, strides);
        }));
  });
}

PJRT_Error* buffer_copy_raw_to_host(PJRT_Buffer_CopyRawToHost_Args* args) {
  return run("PJRT_Buffer_CopyRawToHost", args, [](PJRT_Buffer_CopyRawToHost_Args& a) {
    const ByteRange range = {.offset = a.offset, .size = a.transfer_size};
    check_range("PJRT_Buffer_CopyRawToHost", range, a.buffer->type);
    a.event = make_event(copy_range(*a.buffer, range, a.dst));
  });
}

PJRT_Error* buffer_copy_raw_to_host_future(PJRT_Buffer_CopyRawToHostFuture_Args* args) {
  return run("PJRT_Buffer_CopyRawToHostFuture", args, [](PJRT_Buffer_CopyRawToHostFuture_Args& a) {
    const ByteRange range = {.offset = a.offset, .size = a.transfer_size};
    check_range("PJRT_Buffer_CopyRawToHostFuture", range, a.buffer->type);
    auto copy = std::make_unique<LaterCopy>();
    copy->source.reset(make_buffer(a.buffer->client, a.buffer->device, a.buffer->type,
                                   array_of(*a.buffer), a.buffer->slice));
    copy->range = range;
    a.event = make_event(copy->promise.event());
    a.callback_data = copy.release();
    a.future_ready_callback = copy_now;
  });
}

PJRT_Error* buffer_copy_to_device(PJRT_Buffer_CopyToDevice_Args* args) {
  return run("PJRT_Buffer_CopyToDevice", args, [](PJRT_Buffer_CopyToDevice_Args& a) {
    a.dst_buffer = copy_to_place(*a.buffer, a.dst_device->memories[0]);
  });
}

PJRT_Error* buffer_copy_to_memory(PJRT_Buffer_CopyToMemory_Args* args) {
  return run("PJRT_Buffer_CopyToMemory", args, [](PJRT_Buffer_CopyToMemory_Args& a) {
    a.dst_buffer = copy_to_place(*a.buffer, *static_cast<DeviceMemory*>(a.dst_memory));
  });
}

}  // namespace systole::plugin
