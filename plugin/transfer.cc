#include <cstring>
#include <numeric>

#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"
#include "systole/pjrt_abi/element_type.h"

namespace systole::plugin {
namespace {

// Copies an array between a row-major one and one with these strides in bytes. `to_rows` copies to
// the row-major one.
class StridedCopy {
 public:
  StridedCopy(const TensorType& type, std::vector<int64_t> strides)
      : dims_(type.shape.dims()), strides_(std::move(strides)), size_(size_of(type.dtype)) {}

  void to_rows(const void* strided, void* rows) const {
    const auto* from = static_cast<const std::byte*>(strided);
    auto* to = static_cast<std::byte*>(rows);
    visit(0, 0, [&](int64_t offset) {
      std::memcpy(to, from + offset, static_cast<size_t>(size_));
      to += size_;
    });
  }

  void from_rows(const void* rows, void* strided) const {
    const auto* from = static_cast<const std::byte*>(rows);
    auto* to = static_cast<std::byte*>(strided);
    visit(0, 0, [&](int64_t offset) {
      std::memcpy(to + offset, from, static_cast<size_t>(size_));
      from += size_;
    });
  }

 private:
  template <class Copy>
  void visit(size_t axis, int64_t offset, const Copy& copy) const {
    if (axis == dims_.size()) return copy(offset);
    for (int64_t i = 0; i < dims_[axis]; ++i) visit(axis + 1, offset + i * strides_[axis], copy);
  }

  Dims dims_;
  std::vector<int64_t> strides_;
  int64_t size_;
};

std::vector<int64_t> row_major_strides(const TensorType& type) {
  std::vector<int64_t> strides;
  for (const int64_t stride : type.shape.strides()) strides.push_back(stride * size_of(type.dtype));
  return strides;
}

// The strides in bytes of a layout that lists axes from the fastest to the slowest.
std::vector<int64_t> strides_of(std::string_view function, const PJRT_Buffer_MemoryLayout& layout,
                                const TensorType& type) {
  const auto rank = static_cast<size_t>(type.shape.rank());
  if (layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled || layout.tiled.num_tiles > 0) {
    throw unimplemented("{}: layout with strides or tiles, expected an order of axes", function);
  }
  if (layout.tiled.minor_to_major_size != rank) {
    throw invalid_argument("{}: layout of {} axes, expected {}", function,
                           layout.tiled.minor_to_major_size, rank);
  }
  std::vector<int64_t> strides(rank, 0);
  int64_t stride = size_of(type.dtype);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t axis = layout.tiled.minor_to_major[i];
    if (axis < 0 || static_cast<size_t>(axis) >= rank || strides[axis] != 0) {
      throw invalid_argument("{}: layout, got axis {} among {}, expected each once", function, axis,
                             rank);
    }
    strides[axis] = stride;
    stride *= std::max<int64_t>(type.shape[static_cast<int>(axis)], 1);
  }
  return strides;
}

TensorType type_of(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims) {
  return {pjrt_abi::to_dtype(type), Shape(std::span<const int64_t>(dims, num_dims))};
}

// Where a buffer is to be made: in the given memory, else in the default one of the given device,
// else of the first device.
DeviceMemory& place_of(PJRT_Client* client, PJRT_Device* device, PJRT_Memory* memory) {
  if (memory != nullptr) return *static_cast<DeviceMemory*>(memory);
  return (device != nullptr ? device : client->devices[0])->memories[0];
}

// The memory of `tensor` becomes the buffer's.
PJRT_Buffer* put(const DeviceMemory& place, Tensor tensor, const Layout* layout = nullptr) {
  const TensorType type = tensor.type();
  const int id = place.device->description.device->id;
  PJRT_Client* const client = place.device->client;
  std::shared_ptr<runtime::Buffer> array =
      client->runtime->buffer_from_host(std::move(tensor), {.device_ids = {&id, 1}});
  PJRT_Buffer* const buffer = make_buffer(client, place.device, type, std::move(array));
  buffer->memory_kind = place.kind;
  if (layout != nullptr) buffer->layout = *layout;
  return buffer;
}

// The layout that the caller asks for. Errors: UNIMPLEMENTED for strides and tiles;
// INVALID_ARGUMENT for axes that are missing or twice there.
Layout wanted_layout(const PJRT_Client_BufferFromHostBuffer_Args& a) {
  if (a.device_layout == nullptr) return row_major(static_cast<int>(a.num_dims));
  constexpr std::string_view kFunction = "PJRT_Client_BufferFromHostBuffer";
  static_cast<void>(strides_of(kFunction, *a.device_layout, type_of(a.type, a.dims, a.num_dims)));
  const PJRT_Buffer_MemoryLayout_Tiled& tiled = a.device_layout->tiled;
  return {
      .minor_to_major = {tiled.minor_to_major, tiled.minor_to_major + tiled.minor_to_major_size}};
}

// Extends elements below a byte to it: hosts leave its other bits as they are.
void fill_bytes(Tensor& tensor) {
  const DTypeInfo& info = dtype_info(tensor.dtype());
  if (!info.integer || info.bits >= 8) return;
  const int unused = 8 - info.bits;
  auto* const bytes = static_cast<uint8_t*>(tensor.raw());
  for (int64_t i = 0; i < tensor.byte_size(); ++i) {
    const auto top = static_cast<uint8_t>(bytes[i] << unused);
    bytes[i] =
        static_cast<uint8_t>(info.is_signed ? static_cast<int8_t>(top) >> unused : top >> unused);
  }
}

Tensor read_host(const PJRT_Client_BufferFromHostBuffer_Args& a) {
  constexpr std::string_view kFunction = "PJRT_Client_BufferFromHostBuffer";
  const TensorType type = type_of(a.type, a.dims, a.num_dims);
  if (a.num_byte_strides != 0 && a.num_byte_strides != a.num_dims) {
    throw invalid_argument("{}: num_byte_strides, got {}, expected {}", kFunction,
                           a.num_byte_strides, a.num_dims);
  }
  Tensor tensor(type);
  if (tensor.byte_size() == 0) return tensor;
  const bool has_strides = a.byte_strides != nullptr && a.num_byte_strides > 0;
  std::vector<int64_t> strides = row_major_strides(type);
  if (has_strides && !std::equal(strides.begin(), strides.end(), a.byte_strides)) {
    strides.assign(a.byte_strides, a.byte_strides + a.num_byte_strides);
    StridedCopy(type, std::move(strides)).to_rows(a.data, tensor.raw());
  } else {
    std::memcpy(tensor.raw(), a.data, static_cast<size_t>(tensor.byte_size()));
  }
  fill_bytes(tensor);
  return tensor;
}

// Copies `elements` to the host's memory, whose axes lie as `strides` in bytes say.
void copy_to(void* target, const Tensor& elements, std::vector<int64_t> strides) {
  const TensorType& type = elements.type();
  if (elements.byte_size() == 0) return;
  if (strides != row_major_strides(type)) {
    return StridedCopy(type, std::move(strides)).from_rows(elements.raw(), target);
  }
  std::memcpy(target, elements.raw(), static_cast<size_t>(elements.byte_size()));
}

// Copies the elements when they are there, perhaps after the call.
runtime::Event copy_to_host(const PJRT_Buffer_ToHostBuffer_Args& a) {
  constexpr std::string_view kFunction = "PJRT_Buffer_ToHostBuffer";
  const TensorType& type = a.src->type;
  const auto size = static_cast<size_t>(type.byte_size());
  if (a.dst_size < size) {
    throw invalid_argument("{}: dst_size of {}, got {}, expected {}", kFunction, type, a.dst_size,
                           size);
  }
  std::vector<int64_t> strides = a.host_layout != nullptr
                                     ? strides_of(kFunction, *a.host_layout, type)
                                     : row_major_strides(type);
  const std::shared_ptr<runtime::Buffer> array = array_of(*a.src);
  const runtime::Event ready = array->ready();
  if (ready.ready()) {
    if (ready.error() != nullptr) return ready;
    copy_to(a.dst, elements_of(*array, a.src->slice, type), std::move(strides));
    return {};
  }
  auto promise = std::make_shared<runtime::Promise>();
  runtime::Event copied = promise->event();
  ready.then([array, promise, strides = std::move(strides), target = a.dst, slice = a.src->slice,
              type](const Error* error) {
    if (error != nullptr) return promise->fail(*error);
    copy_to(target, elements_of(*array, slice, type), strides);
    promise->set();
  });
  return copied;
}

// Runs a copy that ends inside the call, whose errors are the event's. Errors: INVALID_ARGUMENT and
// UNIMPLEMENTED are the call's.
template <class Copy>
PJRT_Event* event_of(const Copy& copy) {
  try {
    copy();
    return make_event({});
  } catch (const Error& error) {
    if (error.code() == Code::invalid_argument || error.code() == Code::unimplemented) throw;
    return make_event(runtime::Event::failed(error));
  }
}

}  // namespace

PJRT_Error* client_buffer_from_host_buffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  return run("PJRT_Client_BufferFromHostBuffer", args,
             [](PJRT_Client_BufferFromHostBuffer_Args& a) {
               // Every semantics allows a copy, after which the host's memory is free.
               std::unique_ptr<PJRT_Event> done(make_event({}));
               const Layout layout = wanted_layout(a);
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
    if (a.dst == nullptr) {
      a.dst_size = static_cast<size_t>(a.src->type.byte_size());
      return;
    }
    a.event = make_event(copy_to_host(a));
  });
}

PJRT_Error* buffer_copy_raw_to_host(PJRT_Buffer_CopyRawToHost_Args* args) {
  return run("PJRT_Buffer_CopyRawToHost", args, [](PJRT_Buffer_CopyRawToHost_Args& a) {
    a.event = event_of([&] {
      const int64_t size = a.buffer->type.byte_size();
      if (a.offset < 0 || a.transfer_size < 0 || a.offset > size ||
          a.transfer_size > size - a.offset) {
        throw invalid_argument("PJRT_Buffer_CopyRawToHost: bytes {} to {} of {}", a.offset,
                               a.offset + a.transfer_size, size);
      }
      const Tensor elements = elements_of(*a.buffer);
      if (a.transfer_size == 0) return;
      std::memcpy(a.dst, static_cast<const std::byte*>(elements.raw()) + a.offset,
                  static_cast<size_t>(a.transfer_size));
    });
  });
}

PJRT_Error* buffer_copy_to_device(PJRT_Buffer_CopyToDevice_Args* args) {
  return run("PJRT_Buffer_CopyToDevice", args, [](PJRT_Buffer_CopyToDevice_Args& a) {
    a.dst_buffer =
        put(a.dst_device->memories[0], elements_of(*a.buffer).clone(), &a.buffer->layout);
  });
}

PJRT_Error* buffer_copy_to_memory(PJRT_Buffer_CopyToMemory_Args* args) {
  return run("PJRT_Buffer_CopyToMemory", args, [](PJRT_Buffer_CopyToMemory_Args& a) {
    a.dst_buffer = put(*static_cast<DeviceMemory*>(a.dst_memory), elements_of(*a.buffer).clone(),
                       &a.buffer->layout);
  });
}

}  // namespace systole::plugin
