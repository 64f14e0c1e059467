#include "plugin/elements.h"

#include <algorithm>
#include <cstring>

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

}  // namespace

std::vector<int64_t> row_major_strides(const TensorType& type) {
  std::vector<int64_t> strides;
  for (const int64_t stride : type.shape.strides()) strides.push_back(stride * size_of(type.dtype));
  return strides;
}

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

Layout layout_of(std::string_view function, const PJRT_Buffer_MemoryLayout* layout,
                 const TensorType& type) {
  if (layout == nullptr) return row_major(type.shape.rank());
  static_cast<void>(strides_of(function, *layout, type));
  const PJRT_Buffer_MemoryLayout_Tiled& tiled = layout->tiled;
  return {
      .minor_to_major = {tiled.minor_to_major, tiled.minor_to_major + tiled.minor_to_major_size}};
}

Tensor read_elements(const TensorType& type, const void* data, std::vector<int64_t> strides) {
  Tensor tensor(type);
  if (tensor.byte_size() == 0) return tensor;
  if (strides != row_major_strides(type)) {
    StridedCopy(type, std::move(strides)).to_rows(data, tensor.raw());
  } else {
    std::memcpy(tensor.raw(), data, static_cast<size_t>(tensor.byte_size()));
  }
  fill_bytes(tensor);
  return tensor;
}

void write_elements(const Tensor& elements, void* target, std::vector<int64_t> strides) {
  const TensorType& type = elements.type();
  if (elements.byte_size() == 0) return;
  if (strides != row_major_strides(type)) {
    return StridedCopy(type, std::move(strides)).from_rows(elements.raw(), target);
  }
  std::memcpy(target, elements.raw(), static_cast<size_t>(elements.byte_size()));
}

DeviceMemory& place_of(PJRT_Client* client, PJRT_Device* device, PJRT_Memory* memory) {
  if (memory != nullptr) return *static_cast<DeviceMemory*>(memory);
  return (device != nullptr ? device : client->devices[0])->memories[0];
}

PJRT_Buffer* put(const DeviceMemory& place, Tensor tensor, const Layout* layout) {
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

std::pair<std::unique_ptr<PJRT_Buffer>, std::shared_ptr<PendingArray>> put_pending(
    const DeviceMemory& place, const TensorType& type, Layout layout) {
  PJRT_Client* const client = place.device->client;
  auto [array, pending] =
      client->runtime->pending_buffer(type, place.device->description.device->id);
  std::unique_ptr<PJRT_Buffer> buffer(make_buffer(client, place.device, type, std::move(array)));
  buffer->memory_kind = place.kind;
  buffer->layout = std::move(layout);
  return {std::move(buffer), std::move(pending)};
}

runtime::Event with_elements(const PJRT_Buffer& buffer, std::function<void(const Tensor&)> use) {
  const std::shared_ptr<runtime::Buffer> array = array_of(buffer);
  const runtime::Event ready = array->ready();
  if (ready.ready()) {
    if (ready.error() == nullptr) use(elements_of(*array, buffer.slice, buffer.type));
    return ready;
  }
  auto promise = std::make_shared<runtime::Promise>();
  runtime::Event used = promise->event();
  ready.then([array, promise = std::move(promise), use = std::move(use), slice = buffer.slice,
              type = buffer.type](const Error* error) {
    if (error != nullptr) return promise->fail(*error);
    try {
      use(elements_of(*array, slice, type));
      promise->set();
    } catch (const Error& later) {
      promise->fail(later);
    } catch (const std::exception& later) {
      promise->fail(internal_error("systole plugin: {}", later.what()));
    }
  });
  return used;
}

void give_copy(const PJRT_Buffer& buffer, const TensorType& type,
               std::shared_ptr<PendingArray> array) {
  const runtime::Event given = with_elements(buffer, [type, array](const Tensor& elements) {
    Tensor copy(type);
    const auto size = static_cast<size_t>(type.byte_size());
    if (size > 0) std::memcpy(copy.raw(), elements.raw(), size);
    array->give(std::move(copy));
  });
  given.then([array = std::move(array)](const Error* error) {
    if (error != nullptr) array->fail(*error);
  });
}

void check_error_code(std::string_view function, PJRT_Error_Code code) {
  if (code > PJRT_Error_Code_OK && code <= PJRT_Error_Code_UNAUTHENTICATED) return;
  throw invalid_argument("{}: error code, got {}, expected 1 to 16", function,
                         static_cast<int>(code));
}

Error error_of(PJRT_Error_Code code, const char* message, size_t size) {
  const bool known = code > PJRT_Error_Code_OK && code <= PJRT_Error_Code_UNAUTHENTICATED;
  return {known ? static_cast<Code>(code) : Code::unknown,
          std::string(message, message == nullptr ? 0 : size)};
}

}  // namespace systole::plugin
