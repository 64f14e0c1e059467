// Checks of arrays in device memory: properties, lifetimes, copies, views.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>

#include "apps/systole/conform/host.h"

namespace systole::app::conform {
namespace {

bool is_deleted(const Host& host, const Buffer& buffer) {
  return host.call<PJRT_Buffer_IsDeleted_Args>([&](auto& args) { args.buffer = buffer.get(); })
      .is_deleted;
}

bool is_on_cpu(const Host& host, const Buffer& buffer) {
  return host.call<PJRT_Buffer_IsOnCpu_Args>([&](auto& args) { args.buffer = buffer.get(); })
      .is_on_cpu;
}

void check_properties(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(matrix(2, 3, {1, 2, 3, 4, 5, 6}));
  const auto set = [&](auto& args) { args.buffer = buffer.get(); };
  expect(host.call<PJRT_Buffer_ElementType_Args>(set).type == PJRT_Buffer_Type_F32,
         "element type of an array of floats");
  const auto dims = host.call<PJRT_Buffer_Dimensions_Args>(set);
  expect(dims.num_dims == 2 && dims.dims[0] == 2 && dims.dims[1] == 3, "dimensions of a 2x3 array");
  expect(host.call<PJRT_Buffer_Device_Args>(set).device == client.device(),
         "the array is on another device");
  expect(!is_deleted(host, buffer), "a new array is deleted");
}

void check_unpadded_dimensions(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(matrix(2, 3, {1, 2, 3, 4, 5, 6}));
  const auto set = [&](auto& args) { args.buffer = buffer.get(); };
  const auto dims = host.call<PJRT_Buffer_UnpaddedDimensions_Args>(set);
  expect(dims.num_dims == 2 && dims.unpadded_dims[0] == 2 && dims.unpadded_dims[1] == 3,
         "unpadded dimensions of a 2x3 array");
  expect(host.call<PJRT_Buffer_DynamicDimensionIndices_Args>(set).num_dynamic_dims == 0,
         "an array of fixed shape has dynamic dimensions");
}

void check_size(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(matrix(2, 3, {1, 2, 3, 4, 5, 6}));
  const auto size = host.call<PJRT_Buffer_OnDeviceSizeInBytes_Args>(
      [&](auto& args) { args.buffer = buffer.get(); });
  expect(size.on_device_size_in_bytes >= 24, "size of 6 floats on the device, got {}",
         size.on_device_size_in_bytes);
}

void check_layout(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(matrix(2, 3, {1, 2, 3, 4, 5, 6}));
  const auto told =
      host.call<PJRT_Buffer_GetMemoryLayout_Args>([&](auto& args) { args.buffer = buffer.get(); });
  if (told.layout.type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    expect(told.layout.strides.num_byte_strides == 2, "number of strides of a matrix, got {}",
           told.layout.strides.num_byte_strides);
    return;
  }
  expect(told.layout.struct_size >= offsetof(PJRT_Buffer_MemoryLayout, type) &&
             told.layout.struct_size < 1 << 20,
         "size of a layout, got {}", told.layout.struct_size);
  expect(told.layout.type == PJRT_Buffer_MemoryLayout_Type_Tiled, "type of a layout, got {}",
         static_cast<int>(told.layout.type));
  const auto& tiled = told.layout.tiled;
  expect(tiled.struct_size >= offsetof(PJRT_Buffer_MemoryLayout_Tiled, tile_dims),
         "size of the order of axes, got {}", tiled.struct_size);
  expect(tiled.minor_to_major_size == 2, "axes of the layout of a matrix, got {}",
         tiled.minor_to_major_size);
  expect(tiled.minor_to_major[0] + tiled.minor_to_major[1] == 1 &&
             tiled.minor_to_major[0] * tiled.minor_to_major[1] == 0,
         "the layout of a matrix is no permutation of 0 and 1");
}

void check_memory(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats({1, 2}));
  PJRT_Memory* const memory =
      host.call<PJRT_Buffer_Memory_Args>([&](auto& args) { args.buffer = buffer.get(); }).memory;
  const auto own = host.call<PJRT_Device_AddressableMemories_Args>(
      [&](auto& args) { args.device = client.device(); });
  expect(std::find(own.memories, own.memories + own.num_memories, memory) !=
             own.memories + own.num_memories,
         "the memory of an array is not one of its device's");
}

void check_delete(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats({1, 2}));
  host.call<PJRT_Buffer_Delete_Args>([&](auto& args) { args.buffer = buffer.get(); });
  expect(is_deleted(host, buffer), "a deleted array is not deleted");
  host.call<PJRT_Buffer_Delete_Args>([&](auto& args) { args.buffer = buffer.get(); });  // again
  float values[2] = {};
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer.get();
  args.dst = values;
  args.dst_size = sizeof(values);
  PJRT_Error* const error = host.start(args);
  const PluginError told = error != nullptr ? host.take(error) : host.wait(args.event);
  expect(told.code != PJRT_Error_Code_OK, "a deleted array was copied to the host");
}

void check_delete_frees(const Host& host) {
  const Client client(host);
  const auto in_use = [&] {
    return host
        .call<PJRT_Device_MemoryStats_Args>([&](auto& args) { args.device = client.device(); })
        .bytes_in_use;
  };
  const Buffer buffer = client.put(floats(std::vector<float>(1 << 20, 1.0F)));
  const int64_t full = in_use();
  host.call<PJRT_Buffer_Delete_Args>([&](auto& args) { args.buffer = buffer.get(); });
  expect(in_use() <= full - (4 << 20), "a deleted array keeps its memory");
}

void check_destroy_order(const Host& host) {
  Client client(host);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 100; ++i) buffers.push_back(client.put(floats({static_cast<float>(i)})));
  for (size_t i = 0; i < buffers.size(); i += 2) buffers[i].reset();
  for (size_t i = 1; i < buffers.size(); i += 2) {
    expect(client.get_floats(buffers[i].get())[0] == static_cast<float>(i),
           "an array changed when others were destroyed");
  }
}

void check_ready_event(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats({1, 2}));
  host.await(
      host.call<PJRT_Buffer_ReadyEvent_Args>([&](auto& args) { args.buffer = buffer.get(); }).event,
      "the event of an array");
}

void check_copy_to_device(const Host& host) {
  const Client client(host);
  const std::vector<float> values = {1, 2, 3, 4};
  const Buffer buffer = client.put(floats(values));
  for (PJRT_Device* device : client.devices()) {
    if (device == client.device()) continue;  // XLA's clients refuse it
    const Buffer copy(host, host.call<PJRT_Buffer_CopyToDevice_Args>([&](auto& args) {
                                  args.buffer = buffer.get();
                                  args.dst_device = device;
                                })
                                .dst_buffer);
    expect(host.call<PJRT_Buffer_Device_Args>([&](auto& args) {
                 args.buffer = copy.get();
               }).device == device,
           "a copy is on another device than the one that was named");
    expect(client.get_floats(copy.get()) == values, "a copy on another device has other values");
  }
}

void check_copy_to_memory(const Host& host) {
  const Client client(host);
  const std::vector<float> values = {1, 2, 3, 4};
  const Buffer buffer = client.put(floats(values));
  const auto own = host.call<PJRT_Device_AddressableMemories_Args>(
      [&](auto& args) { args.device = client.device(); });
  for (size_t i = 0; i < own.num_memories; ++i) {
    PJRT_Memory* const memory = own.memories[i];
    const Buffer copy(host, host.call<PJRT_Buffer_CopyToMemory_Args>([&](auto& args) {
                                  args.buffer = buffer.get();
                                  args.dst_memory = memory;
                                })
                                .dst_buffer);
    expect(host.call<PJRT_Buffer_Memory_Args>([&](auto& args) {
                 args.buffer = copy.get();
               }).memory == memory,
           "a copy is in another memory than the one that was named");
    expect(client.get_floats(copy.get()) == values, "a copy in another memory has other values");
  }
}

void check_copies_are_copies(const Host& host) {
  const Client client(host);
  const auto devices = client.devices();
  if (devices.size() < 2) return;
  Buffer buffer = client.put(floats({1, 2, 3, 4}));
  const Buffer copy(host, host.call<PJRT_Buffer_CopyToDevice_Args>([&](auto& args) {
                                args.buffer = buffer.get();
                                args.dst_device = devices[1];
                              })
                              .dst_buffer);
  buffer.reset();
  const Buffer other = client.put(floats({9, 9, 9, 9}));
  expect(client.get_floats(copy.get()) == std::vector<float>({1, 2, 3, 4}),
         "a copy changed when its source was destroyed");
}

void check_pointers(const Host& host) {
  const Client client(host);
  const std::vector<float> values = {1, 2, 3, 4};
  const Buffer buffer = client.put(floats(values));
  const auto set = [&](auto& args) { args.buffer = buffer.get(); };
  host.call<PJRT_Buffer_IncreaseExternalReferenceCount_Args>(set);
  const auto* const opaque =
      host.call<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>(set).device_memory_ptr;
  expect(opaque != nullptr, "the memory of an array is NULL");
  const uintptr_t pointer = host.call<PJRT_Buffer_UnsafePointer_Args>(set).buffer_pointer;
  expect(pointer == reinterpret_cast<uintptr_t>(opaque),
         "PJRT_Buffer_UnsafePointer and the opaque pointer differ");
  if (is_on_cpu(host, buffer))
    expect(std::memcmp(opaque, values.data(), 16) == 0, "the memory of an array has other values");
  host.call<PJRT_Buffer_DecreaseExternalReferenceCount_Args>(set);
}

void check_pointer_keeps_memory(const Host& host) {
  const Client client(host);
  const std::vector<float> values(4096, 7.0F);
  const Buffer buffer = client.put(floats(values));
  if (!is_on_cpu(host, buffer)) throw Absent{"memory that the host can read"};
  const auto set = [&](auto& args) { args.buffer = buffer.get(); };
  host.call<PJRT_Buffer_IncreaseExternalReferenceCount_Args>(set);
  const auto* const data =
      host.call<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>(set).device_memory_ptr;
  host.call<PJRT_Buffer_Delete_Args>(set);
  const Buffer other = client.put(floats(std::vector<float>(4096, 3.0F)));
  expect(std::memcmp(data, values.data(), values.size() * sizeof(float)) == 0,
         "memory with an external reference was used again");
  host.call<PJRT_Buffer_DecreaseExternalReferenceCount_Args>(set);
}

void count_delete(void*, void* user) { ++*static_cast<int*>(user); }

void check_view(const Host& host) {
  const Client client(host);
  if (!is_on_cpu(host, client.put(floats({1})))) throw Absent{"memory that the host can read"};
  alignas(64) float values[4] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  int deleted = 0;
  Buffer view(host, host.call<PJRT_Client_CreateViewOfDeviceBuffer_Args>([&](auto& args) {
                          args.client = client.get();
                          args.device_buffer_ptr = values;
                          args.dims = dims;
                          args.num_dims = 1;
                          args.element_type = PJRT_Buffer_Type_F32;
                          args.device = client.device();
                          args.on_delete_callback = count_delete;
                          args.on_delete_callback_arg = &deleted;
                        })
                        .buffer);
  expect(client.get_floats(view.get()) == std::vector<float>({1, 2, 3, 4}),
         "a view has other values than its memory");
  const Loaded sum = client.compile(kSum);
  PJRT_Buffer* const arguments[] = {view.get(), view.get()};
  expect(client.get_floats(client.run(sum, arguments)[0].get()) == std::vector<float>({2, 4, 6, 8}),
         "a program got other values from a view");
  view.reset();  // a plugin that copies has told the end before
  expect(deleted == 1, "on_delete_callback ran {} times, expected once", deleted);
}

void check_uninitialized(const Host& host) {
  const Client client(host);
  const int64_t dims[] = {2, 3};
  const Buffer buffer(host, host.call<PJRT_Client_CreateUninitializedBuffer_Args>([&](auto& args) {
                                  args.client = client.get();
                                  args.shape_dims = dims;
                                  args.shape_num_dims = 2;
                                  args.shape_element_type = PJRT_Buffer_Type_F32;
                                  args.device = client.device();
                                })
                                .buffer);
  expect(client.get(buffer.get()).bytes.size() == 24, "size of a 2x3 array without values");
}

void check_bitcast(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats({1, 2, 3, 4}));
  const int64_t dims[] = {2, 2};
  const auto cast = [&](auto& args) {
    args.buffer = buffer.get();
    args.element_type = PJRT_Buffer_Type_S32;
    args.dims = dims;
    args.num_dims = 2;
  };
  const Buffer same(host, host.call<PJRT_Buffer_Bitcast_Args>(cast).out_buffer);
  const HostArray got = client.get(same.get());
  expect(got.type == PJRT_Buffer_Type_S32 && got.dims == std::vector<int64_t>({2, 2}),
         "type of a bitcast");
  expect(got.as<int32_t>()[0] == 0x3F800000, "bits of a bitcast");
  const int64_t large[] = {5};
  host.refuses<PJRT_Buffer_Bitcast_Args>("a larger type", [&](auto& args) {
    cast(args);
    args.dims = large;
    args.num_dims = 1;
  });
}

constexpr Check kChecks[] = {
    {"type, shape, device of an array",
     "PJRT_Buffer_ElementType PJRT_Buffer_Dimensions PJRT_Buffer_Device PJRT_Buffer_IsDeleted",
     check_properties},
    {"an array of fixed shape has no dynamic dimensions",
     "PJRT_Buffer_UnpaddedDimensions PJRT_Buffer_DynamicDimensionIndices",
     check_unpadded_dimensions},
    {"size of an array on the device", "PJRT_Buffer_OnDeviceSizeInBytes", check_size},
    {"the layout of an array is a permutation", "PJRT_Buffer_GetMemoryLayout", check_layout},
    {"the memory of an array is its device's", "PJRT_Buffer_Memory", check_memory},
    {"delete an array twice; it cannot be read", "PJRT_Buffer_Delete PJRT_Buffer_IsDeleted",
     check_delete},
    {"deleting an array frees its memory", "PJRT_Buffer_Delete PJRT_Device_MemoryStats",
     check_delete_frees},
    {"destroy arrays in any order", "PJRT_Buffer_Destroy", check_destroy_order},
    {"the event of an array", "PJRT_Buffer_ReadyEvent", check_ready_event},
    {"copy an array to each device", "PJRT_Buffer_CopyToDevice", check_copy_to_device},
    {"copy an array to each memory", "PJRT_Buffer_CopyToMemory", check_copy_to_memory},
    {"a copy outlives its source", "PJRT_Buffer_CopyToDevice PJRT_Buffer_Destroy",
     check_copies_are_copies},
    {"pointers to the memory of an array",
     "PJRT_Buffer_UnsafePointer PJRT_Buffer_OpaqueDeviceMemoryDataPointer PJRT_Buffer_IsOnCpu "
     "PJRT_Buffer_IncreaseExternalReferenceCount PJRT_Buffer_DecreaseExternalReferenceCount",
     check_pointers},
    {"an external reference keeps the memory",
     "PJRT_Buffer_IncreaseExternalReferenceCount PJRT_Buffer_Delete", check_pointer_keeps_memory},
    {"a view of the caller's memory", "PJRT_Client_CreateViewOfDeviceBuffer", check_view},
    {"an array without values", "PJRT_Client_CreateUninitializedBuffer", check_uninitialized},
    {"bitcast an array", "PJRT_Buffer_Bitcast", check_bitcast},
};

}  // namespace

std::span<const Check> buffer_checks() { return kChecks; }

}  // namespace systole::app::conform
