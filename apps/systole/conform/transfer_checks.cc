// Checks of copies between host and device.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>

#include "apps/systole/conform/host.h"

namespace systole::app::conform {
namespace {

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

void check_round_trip(const Client& client, const HostArray& array, std::string_view what) {
  const HostArray got = client.get(client.put(array).get());
  expect(got.type == array.type, "type of {}, got {}", what, static_cast<int>(got.type));
  expect(got.dims == array.dims, "dimensions of {}", what);
  expect(got.bytes == array.bytes, "{} came back with other bytes", what);
}

void check_element_types(const Host& host) {
  const Client client(host);
  std::string refused;
  for (int number = PJRT_Buffer_Type_PRED; number <= PJRT_Buffer_Type_C128; ++number) {
    const auto type = static_cast<PJRT_Buffer_Type>(number);
    HostArray array{.type = type, .dims = {3, 5}};
    array.bytes.resize(15 * element_size(type));
    for (size_t i = 0; i < array.bytes.size(); ++i)
      array.bytes[i] = static_cast<std::byte>(type == PJRT_Buffer_Type_PRED ? i % 2 : i * 7 % 120);
    try {
      check_round_trip(client, array, fmt::format("an array of type {}", number));
    } catch (const Absent&) {
      refused += fmt::format(" {}", number);
    }
  }
  // TPUs lack 64-bit floats; nobody lacks these.
  for (const int number : {PJRT_Buffer_Type_PRED, PJRT_Buffer_Type_S32, PJRT_Buffer_Type_F32})
    expect(refused.find(fmt::format(" {}", number)) == std::string::npos, "type {} is refused",
           number);
}

// Elements of 4 bits take a byte of the host, of which the other bits may be anything.
void check_small_elements(const Host& host) {
  const Client client(host);
  for (const auto type : {PJRT_Buffer_Type_S4, PJRT_Buffer_Type_U4}) {
    HostArray array{.type = type, .dims = {16}};
    for (int i = 0; i < 16; ++i) array.bytes.push_back(static_cast<std::byte>(i * 0x11));
    const HostArray got = client.get(client.put(array).get());
    expect(got.type == type && got.bytes.size() == 16, "size of 16 elements of 4 bits, got {}",
           got.bytes.size());
    for (int i = 0; i < 16; ++i) {
      const int value = type == PJRT_Buffer_Type_S4 && i > 7 ? i - 16 : i;
      expect(static_cast<int>(static_cast<signed char>(got.bytes[static_cast<size_t>(i)])) == value,
             "element {} of 4 bits came back as {}", value,
             static_cast<int>(got.bytes[static_cast<size_t>(i)]));
    }
  }
}

void check_shapes(const Host& host) {
  const Client client(host);
  const std::vector<std::vector<int64_t>> shapes = {
      {},        {1}, {0}, {3, 0}, {0, 0, 2}, {7}, {1, 1, 1}, {2, 3, 4, 5}, {2, 1, 2, 1, 2, 3},
      {129, 257}};
  for (const auto& dims : shapes) {
    HostArray array{.dims = dims};
    const int64_t count =
        std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    const std::vector<float> values = counted(static_cast<size_t>(count));
    array.bytes.resize(values.size() * sizeof(float));
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    check_round_trip(client, array, fmt::format("an array of {} dimensions", dims.size()));
  }
}

void check_large(const Host& host) {
  const Client client(host);
  check_round_trip(client, floats(counted(4'000'000)), "an array of 16 MB");
}

// Puts `values` read by strides; std::nullopt-like empty if the plugin refuses the strides.
std::vector<float> put_with_strides(const Client& client, const float* data,
                                    std::vector<int64_t> dims, std::vector<int64_t> strides) {
  const Host& host = client.host();
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client.get();
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.byte_strides = strides.data();
  args.num_byte_strides = strides.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = client.device();
  if (PJRT_Error* const error = host.start(args)) {
    expect(!host.take(error).message.empty(), "the error about strides has no message");
    return {};
  }
  const Buffer buffer(host, args.buffer);
  host.await(args.done_with_host_buffer, "done_with_host_buffer");
  return client.get_floats(buffer.get());
}

void check_strides(const Host& host) {
  const Client client(host);
  const std::vector<float> values = counted(24);
  struct Case {
    std::string_view what;
    size_t offset;
    std::vector<int64_t> dims;
    std::vector<int64_t> strides;
    std::vector<float> expected;
    bool may_refuse;
  };
  const std::vector<Case> cases = {
      {"row-major", 0, {2, 3}, {12, 4}, {0, 1, 2, 3, 4, 5}, false},
      {"transposed", 0, {3, 2}, {4, 12}, {0, 3, 1, 4, 2, 5}, false},
      {"padded rows", 0, {2, 3}, {32, 4}, {0, 1, 2, 8, 9, 10}, true},
      {"every second", 0, {2, 3}, {24, 8}, {0, 2, 4, 6, 8, 10}, true},
      {"broadcast", 0, {3, 2}, {0, 4}, {0, 1, 0, 1, 0, 1}, true},
      {"backwards", 5, {6}, {-4}, {5, 4, 3, 2, 1, 0}, true},
      {"three axes turned", 0, {2, 2, 2}, {4, 8, 16}, {0, 4, 2, 6, 1, 5, 3, 7}, false},
      {"an axis of one", 0, {1, 3}, {4000, 4}, {0, 1, 2}, true},
  };
  for (const Case& c : cases) {
    const auto got = put_with_strides(client, values.data() + c.offset, c.dims, c.strides);
    expect(!got.empty() || c.may_refuse, "strides '{}' are refused", c.what);
    expect(got.empty() || got == c.expected, "an array read by strides '{}' has other values",
           c.what);
  }
}

void check_host_layout(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(matrix(2, 3, {0, 1, 2, 3, 4, 5}));
  const int64_t columns[] = {0, 1};
  auto layout = make<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled = make<PJRT_Buffer_MemoryLayout_Tiled>();
  layout.tiled.minor_to_major = columns;
  layout.tiled.minor_to_major_size = 2;
  float values[6] = {};
  const auto told = host.call<PJRT_Buffer_ToHostBuffer_Args>([&](auto& args) {
    args.src = buffer.get();
    args.host_layout = &layout;
    args.dst = values;
    args.dst_size = sizeof(values);
  });
  host.await(told.event, "PJRT_Buffer_ToHostBuffer");
  const float expected[] = {0, 3, 1, 4, 2, 5};
  expect(std::ranges::equal(values, expected), "an array copied by columns has another order");
}

void check_small_destination(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats(counted(8)));
  float values[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer.get();
  args.dst = values;
  args.dst_size = 16;
  PJRT_Error* const error = host.start(args);
  const PluginError told = error != nullptr ? host.take(error) : host.wait(args.event);
  expect(told.code != PJRT_Error_Code_OK, "32 bytes were copied into a destination of 16");
  expect(values[4] == -1, "the plugin wrote behind the destination");
}

// The memory that the caller gives may change as soon as the semantics allow it.
void check_only_during_call(const Host& host) {
  const Client client(host);
  std::vector<float> values = counted(1 << 16);
  const std::vector<float> kept = values;
  const Sent sent = client.send(values, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  std::ranges::fill(values, -1.0F);
  expect(client.get_floats(sent.buffer.get()) == kept,
         "an array follows memory that was given only during the call");
}

void check_until_transfer(const Host& host) {
  const Client client(host);
  std::vector<float> values = counted(1 << 16);
  const std::vector<float> kept = values;
  Sent sent = client.send(values, PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
  host.await(sent.done.release(), "done_with_host_buffer");
  std::ranges::fill(values, -1.0F);
  expect(client.get_floats(sent.buffer.get()) == kept,
         "an array follows memory after done_with_host_buffer");
}

void note_ready(PJRT_Error* error, void* ready) { *static_cast<bool*>(ready) = error == nullptr; }

void check_zero_copy(const Host& host) {
  const Client client(host);
  std::vector<float> values = counted(4096 + 16);
  // Some plugins share aligned memory only.
  float* data = values.data();
  while (reinterpret_cast<uintptr_t>(data) % 64 != 0) ++data;
  const std::vector<float> kept(data, data + 4096);
  Sent sent = client.send({data, 4096}, PJRT_HostBufferSemantics_kImmutableZeroCopy);
  bool ready = false;
  host.call<PJRT_Event_OnReady_Args>([&](auto& args) {
    args.event = sent.done.get();
    args.callback = note_ready;
    args.user_arg = &ready;
  });
  expect(client.get_floats(sent.buffer.get()) == kept,
         "an array that shares memory has other values");
  sent.buffer.reset();
  host.call<PJRT_Event_Await_Args>([&](auto& args) { args.event = sent.done.get(); });
  expect(ready, "done_with_host_buffer has an error or did not call back");
}

void check_bad_arrays(const Host& host) {
  const Client client(host);
  const float values[4] = {};
  const int64_t dims[] = {4};
  const auto good = [&](auto& args) {
    args.client = client.get();
    args.data = values;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims;
    args.num_dims = 1;
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = client.device();
  };
  const int64_t negative[] = {-4};
  host.refuses<PJRT_Client_BufferFromHostBuffer_Args>("a negative dimension", [&](auto& args) {
    good(args);
    args.dims = negative;
  });
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  host.refuses<PJRT_Client_BufferFromHostBuffer_Args>("2^80 elements", [&](auto& args) {
    good(args);
    args.dims = huge;
    args.num_dims = 2;
  });
  for (const int type : {static_cast<int>(PJRT_Buffer_Type_INVALID), 9999}) {
    host.refuses<PJRT_Client_BufferFromHostBuffer_Args>("no element type", [&](auto& args) {
      good(args);
      args.type = static_cast<PJRT_Buffer_Type>(type);
    });
  }
  const int64_t strides[] = {4, 4};
  host.refuses<PJRT_Client_BufferFromHostBuffer_Args>("two strides of one axis", [&](auto& args) {
    good(args);
    args.byte_strides = strides;
    args.num_byte_strides = 2;
  });
}

void check_raw_copy(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats(counted(8)));
  float values[3] = {};
  const auto told = host.call<PJRT_Buffer_CopyRawToHost_Args>([&](auto& args) {
    args.buffer = buffer.get();
    args.dst = values;
    args.offset = 8;
    args.transfer_size = 12;
  });
  host.await(told.event, "PJRT_Buffer_CopyRawToHost");
  expect(values[0] == 2 && values[1] == 3 && values[2] == 4, "a part of an array has other values");
  char byte = 0x11;
  const auto one = host.call<PJRT_Buffer_CopyRawToHost_Args>([&](auto& args) {
    args.buffer = buffer.get();
    args.dst = &byte;
    args.offset = 7;
    args.transfer_size = 1;
  });
  host.await(one.event, "PJRT_Buffer_CopyRawToHost");
  expect(byte == 0x3F, "a byte of an array has another value");
  struct Part {
    int64_t offset;
    int64_t size;
  };
  for (const Part part : {Part{24, 12}, Part{-4, 4}, Part{0, -4}, Part{INT64_MAX, 4}}) {
    auto args = make<PJRT_Buffer_CopyRawToHost_Args>();
    args.buffer = buffer.get();
    args.dst = values;
    args.offset = part.offset;
    args.transfer_size = part.size;
    PJRT_Error* const error = host.start(args);
    const PluginError wrong = error != nullptr ? host.take(error) : host.wait(args.event);
    expect(wrong.code != PJRT_Error_Code_OK, "{} bytes at {} of 32 bytes were copied", part.size,
           part.offset);
  }
}

void check_raw_copy_later(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats(counted(8)));
  const auto told = host.call<PJRT_Buffer_CopyRawToHostFuture_Args>([&](auto& args) {
    args.buffer = buffer.get();
    args.offset = 4;
    args.transfer_size = 8;
  });
  float values[2] = {};
  auto ready = make<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
  ready.callback_data = told.callback_data;
  ready.dst = values;
  told.future_ready_callback(&ready);
  host.await(told.event, "PJRT_Buffer_CopyRawToHostFuture");
  expect(values[0] == 1 && values[1] == 2, "a part of an array has other values");
}

// -- Transfers in parts.

struct Parts {
  TransferManager manager;
  Buffer buffer;
};

Parts start_parts(const Client& client, int64_t count) {
  const Host& host = client.host();
  auto spec = make<PJRT_ShapeSpec>();
  spec.dims = &count;
  spec.num_dims = 1;
  spec.element_type = PJRT_Buffer_Type_F32;
  PJRT_Memory* const memory =
      host.call<PJRT_Device_DefaultMemory_Args>([&](auto& args) { args.device = client.device(); })
          .memory;
  const auto told = host.call<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>([&](auto& args) {
    args.client = client.get();
    args.shape_specs = &spec;
    args.num_shape_specs = 1;
    args.memory = memory;
  });
  Parts parts{.manager = {host, told.transfer_manager}, .buffer = {}};
  parts.buffer =
      Buffer(host, host.call<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>(
                           [&](auto& args) { args.transfer_manager = parts.manager.get(); })
                       .buffer_out);
  return parts;
}

void send_part(const Host& host, const Parts& parts, const float* data, int64_t offset,
               int64_t size, bool last) {
  const auto told =
      host.call<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>([&](auto& args) {
        args.transfer_manager = parts.manager.get();
        args.data = data;
        args.offset = offset;
        args.transfer_size = size;
        args.is_last_transfer = last;
      });
  host.await(told.done_with_h2d_transfer, "a transfer of a part");
}

void check_parts(const Host& host) {
  const Client client(host);
  const std::vector<float> values = counted(1000);
  const Parts parts = start_parts(client, 1000);
  const auto set = [&](auto& args) { args.transfer_manager = parts.manager.get(); };
  expect(host.call<PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args>(set).buffer_count == 1,
         "number of arrays of a transfer of one");
  expect(host.call<PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args>(set).buffer_size >= 4000,
         "size of an array of 1000 floats");
  expect(host.call<PJRT_AsyncHostToDeviceTransferManager_Device_Args>(set).device_out ==
             client.device(),
         "device of a transfer");
  send_part(host, parts, values.data() + 500, 2000, 2000, false);  // the second half first
  send_part(host, parts, values.data(), 0, 2000, true);
  expect(client.get_floats(parts.buffer.get()) == values,
         "an array that came in parts has other values");
}

constexpr std::array<float, 16> kNoValues = {};

PluginError refusal_of_part(const Host& host, const Parts& parts, int64_t offset, int64_t size) {
  return host.refuses<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>(
      "a part that does not fit", [&](auto& args) {
        args.transfer_manager = parts.manager.get();
        args.data = kNoValues.data();
        args.offset = offset;
        args.transfer_size = size;
      });
}

void check_parts_out_of_range(const Host& host) {
  const Client client(host);
  const std::vector<float> values = counted(8);
  const Parts parts = start_parts(client, 8);
  host.refuses<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>(
      "a part behind the array", [&](auto& args) {
        args.transfer_manager = parts.manager.get();
        args.data = values.data();
        args.offset = 16;
        args.transfer_size = 32;
      });
  host.refuses<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>(
      "an array that is not there", [&](auto& args) {
        args.transfer_manager = parts.manager.get();
        args.buffer_index = 7;
      });
  refusal_of_part(host, parts, 28, 8);
  refusal_of_part(host, parts, -4, 8);
  refusal_of_part(host, parts, 4, -4);
  refusal_of_part(host, parts, 36, 0);
  for (const int index : {-1, 1}) {
    host.refuses<PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args>(
        "the size of an array that is not there", [&](auto& args) {
          args.transfer_manager = parts.manager.get();
          args.buffer_index = index;
        });
  }
  send_part(host, parts, values.data(), 0, 32, true);
  expect(client.get_floats(parts.buffer.get()) == values,
         "an array changed by parts that were refused");
}

void check_parts_after_the_end(const Host& host) {
  const Client client(host);
  const std::vector<float> values = counted(8);
  const Parts parts = start_parts(client, 8);
  expect(!is_ready(host, ready_event(host, parts.buffer.get())),
         "an array is ready before its parts came");
  send_part(host, parts, values.data(), 0, 16, false);
  expect(!is_ready(host, ready_event(host, parts.buffer.get())),
         "an array is ready before its last part came");
  send_part(host, parts, values.data() + 4, 16, 16, true);
  refusal_of_part(host, parts, 0, 4);
  host.refuses<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>(
      "the same array for the second time",
      [&](auto& args) { args.transfer_manager = parts.manager.get(); });
  expect(client.get_floats(parts.buffer.get()) == values, "an array that came in two parts");
}

constexpr int64_t kMatrix[] = {2, 3};

// A transfer of two matrices, of which the second has this layout.
TransferManager two_matrices(const Client& client, PJRT_Buffer_MemoryLayout& layout) {
  const Host& host = client.host();
  PJRT_ShapeSpec specs[2] = {make<PJRT_ShapeSpec>(), make<PJRT_ShapeSpec>()};
  for (PJRT_ShapeSpec& spec : specs) {
    spec.dims = kMatrix;
    spec.num_dims = 2;
    spec.element_type = PJRT_Buffer_Type_F32;
  }
  PJRT_Buffer_MemoryLayout* layouts[] = {nullptr, &layout};
  PJRT_Memory* const memory =
      host.call<PJRT_Device_DefaultMemory_Args>([&](auto& args) { args.device = client.device(); })
          .memory;
  return {host, host.call<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>([&](auto& args) {
                      args.client = client.get();
                      args.shape_specs = specs;
                      args.num_shape_specs = 2;
                      args.device_layouts = layouts;
                      args.num_device_layouts = 2;
                      args.memory = memory;
                    })
                    .transfer_manager};
}

Buffer retrieve(const Host& host, const TransferManager& manager, int index) {
  return {host,
          host.call<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>([&](auto& args) {
                args.transfer_manager = manager.get();
                args.buffer_index = index;
              })
              .buffer_out};
}

// An array by columns comes as a whole, and as bytes of the device's layout.
void check_literals(const Host& host) {
  const Client client(host);
  const int64_t columns[] = {0, 1};
  auto layout = make<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled = make<PJRT_Buffer_MemoryLayout_Tiled>();
  layout.tiled.minor_to_major = columns;
  layout.tiled.minor_to_major_size = 2;
  const TransferManager manager = two_matrices(client, layout);
  const auto set = [&](auto& args) { args.transfer_manager = manager.get(); };
  expect(host.call<PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args>(set).buffer_count == 2,
         "number of arrays of a transfer of two");
  const Buffer first = retrieve(host, manager, 0);
  const Buffer second = retrieve(host, manager, 1);
  const float by_columns[] = {0, 3, 1, 4, 2, 5};
  const auto literal = [&](auto& args) {
    set(args);
    args.data = by_columns;
    args.shape_dims = kMatrix;
    args.shape_num_dims = 2;
    args.shape_element_type = PJRT_Buffer_Type_F32;
    args.shape_layout = &layout;
  };
  const int64_t others[] = {3, 3};
  host.refuses<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>(
      "an array of another shape", [&](auto& args) {
        literal(args);
        args.shape_dims = others;
      });
  host.await(host.call<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>(literal)
                 .done_with_h2d_transfer,
             "a transfer of an array");
  const auto part =
      host.call<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>([&](auto& args) {
        set(args);
        args.buffer_index = 1;
        args.data = by_columns;
        args.transfer_size = sizeof(by_columns);
        args.is_last_transfer = true;
      });
  host.await(part.done_with_h2d_transfer, "a transfer of bytes");
  expect(client.get_floats(first.get()) == counted(6), "an array that came by columns");
  expect(client.get_floats(second.get()) == counted(6), "bytes of an array with a layout");
  host.call<PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args>(set);
}

void check_parts_error(const Host& host) {
  const Client client(host);
  const Parts parts = start_parts(client, 8);
  constexpr std::string_view kWhy = "the reason";
  host.call<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>([&](auto& args) {
    args.transfer_manager = parts.manager.get();
    args.error_code = PJRT_Error_Code_DATA_LOSS;
    args.error_message = kWhy.data();
    args.error_message_size = kWhy.size();
  });
  const PluginError told = host.wait(
      host.call<PJRT_Buffer_ReadyEvent_Args>([&](auto& args) { args.buffer = parts.buffer.get(); })
          .event);
  expect(told.code == PJRT_Error_Code_DATA_LOSS, "code of a transfer's error, got {}, expected 15",
         static_cast<int>(told.code));
}

void check_abandoned_parts(const Host& host) {
  const Client client(host);
  { const Parts parts = start_parts(client, 8); }  // no part came
  expect(client.get_floats(client.put(floats({1})).get())[0] == 1,
         "the client does not work after a transfer that nobody ended");
}

constexpr Check kChecks[] = {
    {"arrays of each element type come back",
     "PJRT_Client_BufferFromHostBuffer PJRT_Buffer_ToHostBuffer", check_element_types},
    {"elements of 4 bits come back without the bits beside them",
     "PJRT_Client_BufferFromHostBuffer PJRT_Buffer_ToHostBuffer", check_small_elements},
    {"arrays of each rank, and empty ones, come back",
     "PJRT_Client_BufferFromHostBuffer PJRT_Buffer_ToHostBuffer", check_shapes},
    {"a large array comes back", "PJRT_Client_BufferFromHostBuffer PJRT_Buffer_ToHostBuffer",
     check_large},
    {"strides of the host's array", "PJRT_Client_BufferFromHostBuffer", check_strides},
    {"copy to the host by columns", "PJRT_Buffer_ToHostBuffer", check_host_layout},
    {"a destination that is too small is refused", "PJRT_Buffer_ToHostBuffer",
     check_small_destination},
    {"memory given only during the call", "PJRT_Client_BufferFromHostBuffer",
     check_only_during_call},
    {"memory given until the transfer completes", "PJRT_Client_BufferFromHostBuffer",
     check_until_transfer},
    {"memory shared without a copy", "PJRT_Client_BufferFromHostBuffer", check_zero_copy},
    {"arrays that cannot be are refused", "PJRT_Client_BufferFromHostBuffer", check_bad_arrays},
    {"copy a part of an array", "PJRT_Buffer_CopyRawToHost", check_raw_copy},
    {"copy a part of an array to memory that is named later", "PJRT_Buffer_CopyRawToHostFuture",
     check_raw_copy_later},
    {"an array that comes in parts, in any order",
     "PJRT_Client_CreateBuffersForAsyncHostToDevice "
     "PJRT_AsyncHostToDeviceTransferManager_TransferData "
     "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer "
     "PJRT_AsyncHostToDeviceTransferManager_BufferCount "
     "PJRT_AsyncHostToDeviceTransferManager_BufferSize "
     "PJRT_AsyncHostToDeviceTransferManager_Device",
     check_parts},
    {"a part behind the array is refused",
     "PJRT_AsyncHostToDeviceTransferManager_TransferData "
     "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer",
     check_parts_out_of_range},
    {"parts after the last one are refused",
     "PJRT_AsyncHostToDeviceTransferManager_TransferData "
     "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer",
     check_parts_after_the_end},
    {"arrays that come as a whole, and by columns",
     "PJRT_AsyncHostToDeviceTransferManager_TransferLiteral "
     "PJRT_AsyncHostToDeviceTransferManager_TransferData "
     "PJRT_AsyncHostToDeviceTransferManager_AddMetadata "
     "PJRT_Client_CreateBuffersForAsyncHostToDevice",
     check_literals},
    {"a transfer that ends with an error", "PJRT_AsyncHostToDeviceTransferManager_SetBufferError",
     check_parts_error},
    {"a transfer that nobody ends", "PJRT_AsyncHostToDeviceTransferManager_Destroy",
     check_abandoned_parts},
};

}  // namespace

std::span<const Check> transfer_checks() { return kChecks; }

}  // namespace systole::app::conform
