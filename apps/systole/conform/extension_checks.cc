// Checks of extensions: layouts, memory descriptions, shardings, FFI, memory of the host.
#include <cstdint>
#include <cstring>
#include <string>

#include "apps/systole/conform/host.h"
#include "systole/pjrt_abi/op_sharding.h"
#include "systole/runtime/ffi/ffi_c_api.h"

namespace systole::app::conform {
namespace {

// -- Layouts.

class Layouts {
 public:
  explicit Layouts(const Host& host)
      : host_(host),
        functions_(host.extension<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts, "layouts")) {
  }

  // As text: "{1,0}" for rows. Destroys it if the caller owns it.
  std::string text(PJRT_Layouts_MemoryLayout* layout, bool owned) const {
    expect(layout != nullptr, "a layout is NULL");
    const auto told =
        host_.call_function(functions_.serialize, "PJRT_Layouts_MemoryLayout_Serialize",
                            [&](auto& args) { args.layout = layout; });
    std::string bytes = text_of(told.serialized_bytes, told.serialized_bytes_size);
    told.serialized_layout_deleter(told.serialized_layout);
    if (owned) {
      host_.call_function(functions_.destroy, "PJRT_Layouts_MemoryLayout_Destroy",
                          [&](auto& args) { args.layout = layout; });
    }
    return bytes;
  }

  std::string of_buffer(PJRT_Buffer* buffer) const {
    return text(host_
                    .call_function(functions_.of_buffer, "PJRT_Layouts_PJRT_Buffer_MemoryLayout",
                                   [&](auto& args) { args.buffer = buffer; })
                    .layout,
                true);
  }

  std::string client_default(const Client& client, std::vector<int64_t> dims) const {
    return text(
        host_
            .call_function(functions_.client_default, "PJRT_Layouts_PJRT_Client_GetDefaultLayout",
                           [&](auto& args) {
                             args.client = client.get();
                             args.type = PJRT_Buffer_Type_F32;
                             args.dims = dims.data();
                             args.num_dims = dims.size();
                           })
            .layout,
        true);
  }

  std::string topology_default(PJRT_TopologyDescription* topology,
                               std::vector<int64_t> dims) const {
    return text(host_
                    .call_function(functions_.topology_default,
                                   "PJRT_Layouts_PJRT_Topology_GetDefaultLayout",
                                   [&](auto& args) {
                                     args.topology_description = topology;
                                     args.type = PJRT_Buffer_Type_F32;
                                     args.dims = dims.data();
                                     args.num_dims = dims.size();
                                   })
                    .layout,
                true);
  }

  std::vector<std::string> of_parameters(const Executable& executable) const {
    const auto told = host_.call_function(functions_.of_parameters,
                                          "PJRT_Layouts_PJRT_Executable_GetParameterLayouts",
                                          [&](auto& args) { args.executable = executable.get(); });
    return texts({told.layouts, told.num_parameters});
  }
  std::vector<std::string> of_outputs(const Executable& executable) const {
    const auto told =
        host_.call_function(functions_.of_outputs, "PJRT_Layouts_PJRT_Executable_GetOutputLayouts",
                            [&](auto& args) { args.executable = executable.get(); });
    return texts({told.layouts, told.num_outputs});
  }

 private:
  std::vector<std::string> texts(std::span<PJRT_Layouts_MemoryLayout* const> layouts) const {
    std::vector<std::string> all;
    for (PJRT_Layouts_MemoryLayout* layout : layouts) all.push_back(text(layout, false));
    return all;
  }

  const Host& host_;
  const PJRT_Layouts_Extension& functions_;
};

// Whether the order of axes is `order`; tiles may follow it.
void expect_order(const std::string& text, std::string_view order, std::string_view what) {
  expect(text.starts_with("{" + std::string(order)) && text.size() > order.size() + 1 &&
             (text[order.size() + 1] == '}' || text[order.size() + 1] == ':'),
         "layout of {}, got '{}', expected axes {{{}}}", what, text, order);
}

void check_default_layouts(const Host& host) {
  const Client client(host);
  const Layouts layouts(host);
  PJRT_TopologyDescription* const topology =
      host.call<PJRT_Client_TopologyDescription_Args>(
              [&](auto& args) { args.client = client.get(); })
          .topology;
  expect_order(layouts.client_default(client, {}), "", "a number");
  expect_order(layouts.client_default(client, {7}), "0", "a vector");
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2, 3, 4}, {0, 3, 1}}) {
    expect_order(layouts.client_default(client, dims), "2,1,0", "an array of a client");
    expect_order(layouts.topology_default(topology, dims), "2,1,0", "an array of a topology");
  }
}

Buffer put_in_order(const Client& client, const HostArray& array, std::vector<int64_t> order) {
  auto layout = make<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled = make<PJRT_Buffer_MemoryLayout_Tiled>();
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  const auto told = client.host().call<PJRT_Client_BufferFromHostBuffer_Args>([&](auto& args) {
    args.client = client.get();
    args.data = array.bytes.data();
    args.type = array.type;
    args.dims = array.dims.data();
    args.num_dims = array.dims.size();
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = client.device();
    args.device_layout = &layout;
  });
  Buffer buffer(client.host(), told.buffer);
  client.host().await(told.done_with_host_buffer, "done_with_host_buffer");
  return buffer;
}

void check_layouts_of_arrays(const Host& host) {
  const Client client(host);
  const Layouts layouts(host);
  HostArray array{.dims = {2, 3, 4}, .bytes = std::vector<std::byte>(96)};
  for (size_t i = 0; i < 96; ++i) array.bytes[i] = static_cast<std::byte>(i);
  expect_order(layouts.of_buffer(client.put(array).get()), "2,1,0", "an array");
  const Buffer turned = put_in_order(client, array, {0, 2, 1});
  expect_order(layouts.of_buffer(turned.get()), "0,2,1", "an array that was put by columns");
  expect(client.get(turned.get()).bytes == array.bytes, "an array with a layout has other values");
  const auto told =
      host.call<PJRT_Buffer_GetMemoryLayout_Args>([&](auto& args) { args.buffer = turned.get(); });
  expect(told.layout.type == PJRT_Buffer_MemoryLayout_Type_Tiled &&
             told.layout.tiled.minor_to_major_size == 3 &&
             told.layout.tiled.minor_to_major[0] == 0 && told.layout.tiled.minor_to_major[1] == 2,
         "PJRT_Buffer_GetMemoryLayout and the extension differ");
  PJRT_Memory* const memory =
      host.call<PJRT_Buffer_Memory_Args>([&](auto& args) { args.buffer = turned.get(); }).memory;
  const Buffer copy(host, host.call<PJRT_Buffer_CopyToMemory_Args>([&](auto& args) {
                                args.buffer = turned.get();
                                args.dst_memory = memory;
                              })
                              .dst_buffer);
  expect_order(layouts.of_buffer(copy.get()), "0,2,1", "a copy of an array with a layout");
}

void check_bad_layouts(const Host& host) {
  const Client client(host);
  const HostArray array = matrix(2, 3, {1, 2, 3, 4, 5, 6});
  const std::vector<std::vector<int64_t>> orders = {{0}, {0, 0}, {0, 2}, {-1, 0}, {0, 1, 2}};
  for (const std::vector<int64_t>& order : orders) {
    try {
      put_in_order(client, array, order);
    } catch (const Failure& refused) {
      expect(refused.what.find("PJRT_Client_BufferFromHostBuffer:") != std::string::npos, "{}",
             refused.what);
      continue;
    }
    fail("a matrix took a layout of {} axes that is no order of its own", order.size());
  }
}

std::string program_with_layouts(std::string_view parameter, std::string_view result) {
  return fmt::format(
      R"(module @layouts {{
  func.func public @main(%x: tensor<2x3xf32> {{mhlo.layout_mode = "{}"}}, %y: tensor<2x3xf32> {{mhlo.layout_mode = "default"}}) -> (tensor<2x3xf32> {{mhlo.layout_mode = "{}"}}, tensor<2x3xf32>) {{
    %0 = stablehlo.add %x, %y : tensor<2x3xf32>
    return %0, %x : tensor<2x3xf32>, tensor<2x3xf32>
  }}
}})",
      parameter, result);
}

void check_layouts_of_programs(const Host& host) {
  const Client client(host);
  const Layouts layouts(host);
  const Loaded loaded = client.compile(program_with_layouts("{0,1}", "{0,1}"));
  const Executable program = client.executable(loaded);
  const auto parameters = layouts.of_parameters(program);
  const auto results = layouts.of_outputs(program);
  expect(parameters.size() == 2 && results.size() == 2, "layouts of {} parameters and {} results",
         parameters.size(), results.size());
  expect_order(parameters[0], "0,1", "a parameter by columns");
  expect_order(parameters[1], "1,0", "a parameter by rows");
  expect_order(results[0], "0,1", "a result by columns");
  expect_order(results[1], "1,0", "a result that names no layout");
  const HostArray array = matrix(2, 3, {1, 2, 3, 4, 5, 6});
  const Buffer x = put_in_order(client, array, {0, 1});
  const Buffer y = client.put(array);
  PJRT_Buffer* const arguments[] = {x.get(), y.get()};
  const auto got = client.run(loaded, arguments, 2);
  expect_order(layouts.of_buffer(got[0].get()), "0,1", "a result by columns");
  expect_order(layouts.of_buffer(got[1].get()), "1,0", "a result by rows");
  expect(client.get_floats(got[0].get()) == std::vector<float>({2, 4, 6, 8, 10, 12}),
         "a sum in a layout");
}

void check_layouts_of_automatic_programs(const Host& host) {
  const Client client(host);
  const Layouts layouts(host);
  const Loaded loaded = client.compile(program_with_layouts("auto", "auto"));
  expect(layouts.of_parameters(client.executable(loaded))[0].starts_with("{"),
         "an automatic layout is no layout");
}

void check_bad_layouts_of_programs(const Host& host) {
  const Client client(host);
  for (const std::string_view bad : {"{0,0}", "{0}", "{0,5}", "{1,0,2}", "by rows"}) {
    const std::string text = program_with_layouts("default", bad);
    try {
      client.compile(text);
    } catch (const Failure& refused) {
      expect(refused.what.find("PJRT_Client_Compile") != std::string::npos, "{}", refused.what);
      continue;
    }
    fail("the layout '{}' of a result was taken", bad);
  }
}

// -- Memories.

std::string kind_of(const Host& host, PJRT_Memory* memory) {
  const auto told = host.call<PJRT_Memory_Kind_Args>([&](auto& args) { args.memory = memory; });
  return text_of(told.kind, told.kind_size);
}

void check_memory_descriptions(const Host& host) {
  const Client client(host);
  const auto& functions = host.extension<PJRT_MemoryDescriptions_Extension>(
      PJRT_Extension_Type_MemoryDescriptions, "memory descriptions");
  PJRT_DeviceDescription* const description =
      host.call<PJRT_Device_GetDescription_Args>([&](auto& args) { args.device = client.device(); })
          .device_description;
  const auto told =
      host.call_function(functions.of_device, "PJRT_DeviceDescription_MemoryDescriptions",
                         [&](auto& args) { args.device_description = description; });
  const auto memories = host.call<PJRT_Device_AddressableMemories_Args>(
      [&](auto& args) { args.device = client.device(); });
  expect(told.num_memory_descriptions == memories.num_memories,
         "a device has {} memories, its description {}", memories.num_memories,
         told.num_memory_descriptions);
  for (size_t i = 0; i < memories.num_memories; ++i) {
    const auto described = host.call_function(
        functions.kind, "PJRT_MemoryDescription_Kind",
        [&](auto& args) { args.memory_description = told.memory_descriptions[i]; });
    expect(text_of(described.kind, described.kind_size) == kind_of(host, memories.memories[i]),
           "kind of the description of memory {}", i);
    const auto id = host.call<PJRT_Memory_Kind_Id_Args>(
        [&](auto& args) { args.memory = memories.memories[i]; });
    expect(described.kind_id == id.kind_id, "id of the kind of memory {}, got {}, expected {}", i,
           described.kind_id, id.kind_id);
  }
  PJRT_Memory* const usual =
      host.call<PJRT_Device_DefaultMemory_Args>([&](auto& args) { args.device = client.device(); })
          .memory;
  expect(told.default_memory_index < memories.num_memories &&
             memories.memories[told.default_memory_index] == usual,
         "the description of a device names another default memory");
}

std::string program_with_memories(std::string_view kind) {
  return fmt::format(
      R"(module @memories {{
  func.func public @main(%x: tensor<4xf32> {{mhlo.memory_kind = "{0}"}}, %y: tensor<4xf32>) -> (tensor<4xf32> {{mhlo.memory_kind = "{0}"}}, tensor<4xf32>) {{
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    return %0, %0 : tensor<4xf32>, tensor<4xf32>
  }}
}})",
      kind);
}

// A result is in the memory that the program names.
void check_memories_of_programs(const Host& host) {
  const Client client(host);
  const auto memories = host.call<PJRT_Device_AddressableMemories_Args>(
      [&](auto& args) { args.device = client.device(); });
  PJRT_Memory* const usual =
      host.call<PJRT_Device_DefaultMemory_Args>([&](auto& args) { args.device = client.device(); })
          .memory;
  for (size_t i = 0; i < memories.num_memories; ++i) {
    const std::string kind = kind_of(host, memories.memories[i]);
    const Loaded loaded = client.compile(program_with_memories(kind));
    const Executable program = client.executable(loaded);
    const auto inputs = host.call<PJRT_Executable_ParameterMemoryKinds_Args>(
        [&](auto& args) { args.executable = program.get(); });
    const auto outputs = host.call<PJRT_Executable_OutputMemoryKinds_Args>(
        [&](auto& args) { args.executable = program.get(); });
    expect(text_of(inputs.memory_kinds[0], inputs.memory_kind_sizes[0]) == kind,
           "memory kind of a parameter, expected '{}'", kind);
    expect(text_of(outputs.memory_kinds[0], outputs.memory_kind_sizes[0]) == kind,
           "memory kind of a result, expected '{}'", kind);
    expect(text_of(outputs.memory_kinds[1], outputs.memory_kind_sizes[1]) == kind_of(host, usual),
           "memory kind of a result that names none");
    const Buffer x = client.put(floats({1, 2, 3, 4}));
    const Buffer there(host, host.call<PJRT_Buffer_CopyToMemory_Args>([&](auto& args) {
                                   args.buffer = x.get();
                                   args.dst_memory = memories.memories[i];
                                 })
                                 .dst_buffer);
    PJRT_Buffer* const arguments[] = {there.get(), x.get()};
    const auto got = client.run(loaded, arguments, 2);
    const auto memory_of = [&](const Buffer& buffer) {
      return host.call<PJRT_Buffer_Memory_Args>([&](auto& args) { args.buffer = buffer.get(); })
          .memory;
    };
    expect(memory_of(got[0]) == memories.memories[i], "a result is not in the memory '{}'", kind);
    expect(memory_of(got[1]) == usual, "a result that names no memory is not in the default one");
    expect(client.get_floats(got[0].get()) == std::vector<float>({2, 4, 6, 8}),
           "a sum in the memory '{}'", kind);
  }
}

void check_bad_memories(const Host& host) {
  const Client client(host);
  try {
    client.compile(program_with_memories("attic"));
  } catch (const Failure& refused) {
    expect(refused.what.find("PJRT_Client_Compile") != std::string::npos, "{}", refused.what);
    return;
  }
  fail("a program got the memory kind 'attic'");
}

// -- Shardings.

constexpr std::string_view kSplit =
    R"(module @split attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4x2xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}, %b: tensor<2xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}, tensor<4x2xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) {
    %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.add %a, %0 : tensor<4x2xf32>
    return %1, %1 : tensor<4x2xf32>, tensor<4x2xf32>
  }
})";

Loaded split_program(const Client& client) {
  if (client.devices().size() < 2) throw Absent{"a second device"};
  return client.compile(kSplit, {.num_partitions = 2, .use_spmd_partitioning = true});
}

const PJRT_Shardings_Extension& shardings(const Host& host) {
  return host.extension<PJRT_Shardings_Extension>(PJRT_Extension_Type_Shardings, "shardings");
}

void check_shardings(const Host& host) {
  const Client client(host);
  const auto& functions = shardings(host);
  const Loaded loaded = split_program(client);
  const Executable program = client.executable(loaded);
  const auto inputs = host.call_function(functions.parameter_shardings,
                                         "PJRT_Shardings_PJRT_Executable_ParameterShardings",
                                         [&](auto& args) { args.executable = program.get(); });
  const auto outputs = host.call_function(functions.output_shardings,
                                          "PJRT_Shardings_PJRT_Executable_OutputShardings",
                                          [&](auto& args) { args.executable = program.get(); });
  expect(inputs.num_parameters == 2 && outputs.num_outputs == 2,
         "shardings of {} parameters and {} results, expected 2 and 2", inputs.num_parameters,
         outputs.num_outputs);
  expect(inputs.shardings != nullptr && outputs.shardings != nullptr, "the shardings are NULL");
  const std::string rows =
      pjrt_abi::encode(pjrt_abi::OpSharding{.tiles = {2, 1}, .devices = {0, 1}});
  const std::string columns =
      pjrt_abi::encode(pjrt_abi::OpSharding{.tiles = {1, 2}, .devices = {0, 1}});
  expect(text_of(inputs.shardings[0], inputs.sharding_sizes[0]) == rows,
         "sharding of a parameter that is split by rows");
  expect(text_of(inputs.shardings[1], inputs.sharding_sizes[1]).empty(),
         "sharding of a parameter that every device has");
  expect(text_of(outputs.shardings[0], outputs.sharding_sizes[0]) == rows,
         "sharding of a result that is split by rows");
  expect(text_of(outputs.shardings[1], outputs.sharding_sizes[1]) == columns,
         "sharding of a result that is split by columns");
}

void check_shardings_of_one(const Host& host) {
  const Client client(host);
  const auto& functions = shardings(host);
  const Executable program = client.executable(client.compile(kSum));
  const auto told = host.call_function(functions.output_shardings,
                                       "PJRT_Shardings_PJRT_Executable_OutputShardings",
                                       [&](auto& args) { args.executable = program.get(); });
  expect(told.num_outputs == 1, "number of shardings of one result, got {}", told.num_outputs);
}

void check_partitions(const Host& host) {
  const Client client(host);
  const Loaded loaded = split_program(client);
  const Executable program = client.executable(loaded);
  const auto of_program = [&](auto& args) { args.executable = program.get(); };
  expect(host.call<PJRT_Executable_NumPartitions_Args>(of_program).num_partitions == 2,
         "number of partitions");
  expect(host.call<PJRT_Executable_NumReplicas_Args>(of_program).num_replicas == 1,
         "number of replicas");
  const auto dims = host.call<PJRT_Executable_OutputDimensions_Args>(of_program);
  const int64_t expected_dims[] = {2, 2, 4, 1};
  expect(dims.num_outputs == 2 && dims.dim_sizes[0] == 2 && dims.dim_sizes[1] == 2 &&
             std::equal(std::begin(expected_dims), std::end(expected_dims), dims.dims),
         "dimensions of the parts of results");
  const auto ids = host.call<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>(
      [&](auto& args) { args.executable = loaded.get(); });
  expect(ids.num_addressable_device_logical_ids == 2, "number of logical ids, got {}",
         ids.num_addressable_device_logical_ids);
  for (int i = 0; i < 2; ++i) {
    expect(ids.addressable_device_logical_ids[i].replica == 0 &&
               ids.addressable_device_logical_ids[i].partition == i,
           "logical id of partition {}", i);
  }
  const auto devices = client.devices();
  const Buffer top = client.put(matrix(2, 2, {1, 2, 3, 4}), devices[0]);
  const Buffer bottom = client.put(matrix(2, 2, {5, 6, 7, 8}), devices[1]);
  const Buffer b0 = client.put(floats({10, 20}), devices[0]);
  const Buffer b1 = client.put(floats({10, 20}), devices[1]);
  const auto got = client.run_on_all(loaded, {{top.get(), b0.get()}, {bottom.get(), b1.get()}}, 2);
  expect(client.get_floats(got[0][0].get()) == std::vector<float>({11, 22, 13, 24}), "upper rows");
  expect(client.get_floats(got[1][0].get()) == std::vector<float>({15, 26, 17, 28}), "lower rows");
  expect(client.get_floats(got[0][1].get()) == std::vector<float>({11, 13, 15, 17}), "left column");
  expect(client.get_floats(got[1][1].get()) == std::vector<float>({22, 24, 26, 28}),
         "right column");
}

constexpr std::string_view kTwiceOnTwo =
    R"(module @twice attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<2x2xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<2x2xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.add %a, %a : tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
})";

// Each device computes with the value that it has, also where the sharding says that all have one.
void check_unlike_values(const Host& host) {
  const Client client(host);
  const Loaded split = split_program(client);
  const auto devices = client.devices();
  const Buffer top = client.put(matrix(2, 2, {1, 2, 3, 4}), devices[0]);
  const Buffer bottom = client.put(matrix(2, 2, {5, 6, 7, 8}), devices[1]);
  const Buffer b0 = client.put(floats({10, 20}), devices[0]);
  const Buffer b1 = client.put(floats({10, 20}), devices[1]);
  const auto rows = client.run_on_all(split, {{top.get(), b0.get()}, {bottom.get(), b1.get()}}, 2);
  const Loaded twice =
      client.compile(kTwiceOnTwo, {.num_partitions = 2, .use_spmd_partitioning = true});
  const auto got = client.run_on_all(twice, {{rows[0][0].get()}, {rows[1][0].get()}});
  expect(client.get_floats(got[0][0].get()) == std::vector<float>({22, 44, 26, 48}),
         "result of the first device, whose argument is another than the second's");
  expect(client.get_floats(got[1][0].get()) == std::vector<float>({30, 52, 34, 56}),
         "result of the second device, whose argument is another than the first's");
}

void check_memory_of_partitions(const Host& host) {
  const Client client(host);
  const Loaded loaded = split_program(client);
  const Executable program = client.executable(loaded);
  const auto told = host.call<PJRT_Executable_GetCompiledMemoryStats_Args>(
      [&](auto& args) { args.executable = program.get(); });
  expect(told.argument_size_in_bytes >= 24 && told.output_size_in_bytes >= 32,
         "bytes of the parts of one device, got {} and {}, expected 24 and 32",
         told.argument_size_in_bytes, told.output_size_in_bytes);
  expect(told.argument_size_in_bytes % 4 == 0 && told.output_size_in_bytes % 4 == 0,
         "bytes of floats, got {} and {}", told.argument_size_in_bytes, told.output_size_in_bytes);
  expect(told.argument_size_in_bytes < 1 << 20 && told.temp_size_in_bytes < 1 << 20,
         "a small program takes a megabyte of memory");
}

// -- Memory of the host.

void check_host_allocator(const Host& host) {
  const Client client(host);
  const auto& functions = host.extension<PJRT_HostAllocator_Extension>(
      PJRT_Extension_Type_HostAllocator, "host allocator");
  const size_t preferred =
      host.call_function(functions.preferred_alignment, "PJRT_HostAllocator_GetPreferredAlignment",
                         [&](auto& args) { args.client = client.get(); })
          .preferred_alignment;
  expect(preferred > 0 && (preferred & (preferred - 1)) == 0, "preferred alignment, got {}",
         preferred);
  const auto allocate = [&](size_t size, size_t alignment) {
    return host
        .call_function(functions.allocate, "PJRT_HostAllocator_Allocate",
                       [&](auto& args) {
                         args.client = client.get();
                         args.size = size;
                         args.alignment = alignment;
                       })
        .ptr;
  };
  const auto free = [&](void* memory) {
    host.call_function(functions.free, "PJRT_HostAllocator_Free", [&](auto& args) {
      args.client = client.get();
      args.ptr = memory;
    });
  };
  for (const size_t alignment : {size_t{1}, size_t{4}, preferred, size_t{4096}}) {
    void* const memory = allocate(1000, alignment);
    expect(memory != nullptr && reinterpret_cast<uintptr_t>(memory) % alignment == 0,
           "memory with an alignment of {}", alignment);
    std::memset(memory, 1, 1000);
    free(memory);
  }
  free(allocate(0, preferred));  // NULL, or memory
  auto args = make<PJRT_HostAllocator_Allocate_Args>();
  args.client = client.get();
  args.size = 16;
  args.alignment = 3;
  PJRT_Error* const error = functions.allocate(&args);
  expect(error != nullptr, "PJRT_HostAllocator_Allocate took an alignment of 3");
  host.take(error);
}

void check_dma(const Host& host) {
  const Client client(host);
  alignas(4096) static std::byte memory[4096];
  host.call<PJRT_Client_DmaMap_Args>([&](auto& args) {
    args.client = client.get();
    args.data = memory;
    args.size = sizeof(memory);
  });
  const auto unmap = [&](auto& args) {
    args.client = client.get();
    args.data = memory;
  };
  host.call<PJRT_Client_DmaUnmap_Args>(unmap);
  host.refuses<PJRT_Client_DmaUnmap_Args>("memory that is not mapped", unmap);
}

// -- XLA's FFI.

// y = 2 * x, of any number of f32. Its first call asks for the version with which it was compiled.
XLA_FFI_Error* twice(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) {
    auto* const asked = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
    asked->metadata->api_version.major_version = 0;
    asked->metadata->api_version.minor_version = 1;
    return nullptr;
  }
  const auto& x = *static_cast<const XLA_FFI_Buffer*>(frame->args.args[0]);
  const auto& y = *static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[0]);
  int64_t count = 1;
  for (int64_t d = 0; d < x.rank; ++d) count *= x.dims[d];
  for (int64_t i = 0; i < count; ++i) {
    static_cast<float*>(y.data)[i] = 2 * static_cast<const float*>(x.data)[i];
  }
  return nullptr;
}

PJRT_Error* register_handler(const Host& host, std::string_view name, XLA_FFI_Handler* handler) {
  const auto& functions = host.extension<PJRT_FFI_Extension>(PJRT_Extension_Type_FFI, "FFI");
  if (functions.register_handler == nullptr) throw Absent{"PJRT_FFI_Register_Handler"};
  auto args = make<PJRT_FFI_Register_Handler_Args>();
  args.target_name = name.data();
  args.target_name_size = name.size();
  args.handler = reinterpret_cast<void*>(handler);
  args.platform_name = "";
  return functions.register_handler(&args);
}

constexpr std::string_view kTwice = R"(module @twice {
  func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.custom_call @conform.twice(%a) {api_version = 4 : i32} : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
)";

void check_handlers(const Host& host) {
  const Client client(host);
  if (PJRT_Error* const error = register_handler(host, "conform.twice", twice)) {
    fail("PJRT_FFI_Register_Handler: {}", host.take(error).message);
  }
  const Loaded loaded = client.compile(kTwice);
  const Buffer x = client.put(floats({1, -2, 5}));
  PJRT_Buffer* const arguments[] = {x.get()};
  const std::vector<Buffer> results = client.run(loaded, arguments);
  expect(client.get_floats(results[0].get()) == std::vector<float>({2, -4, 10}),
         "results of a handler that doubles its argument");
}

void check_bad_handlers(const Host& host) {
  PJRT_Error* const none = register_handler(host, "conform.none", nullptr);
  expect(none != nullptr, "PJRT_FFI_Register_Handler took a handler that is NULL");
  expect(!host.take(none).message.empty(), "the error about a handler that is NULL has no message");
}

void check_ffi_types(const Host& host) {
  const auto& functions = host.extension<PJRT_FFI_Extension>(PJRT_Extension_Type_FFI, "FFI");
  PJRT_FFI_Type_Info info{};
  const auto id_of = [&](std::string_view name, int64_t wanted) {
    return host
        .call_function(functions.type_register, "PJRT_FFI_Type_Register",
                       [&](auto& args) {
                         args.type_name = name.data();
                         args.type_name_size = name.size();
                         args.type_id = wanted;
                         args.type_info = &info;
                       })
        .type_id;
  };
  const int64_t first = id_of("conform.first", 0);
  const int64_t second = id_of("conform.second", 0);
  expect(first != 0 && second != 0 && first != second, "ids of two types, got {} and {}", first,
         second);
  expect(id_of("conform.first", 0) == first, "a type that is registered again has another id");
  expect(id_of("conform.first", first) == first, "a type is registered with its id");
  auto args = make<PJRT_FFI_Type_Register_Args>();
  args.type_name = "conform.first";
  args.type_name_size = std::strlen(args.type_name);
  args.type_id = second;
  args.type_info = &info;
  PJRT_Error* const error = functions.type_register(&args);
  expect(error != nullptr, "PJRT_FFI_Type_Register took a name with the id of another");
  host.take(error);
}

constexpr Check kChecks[] = {
    {"default layouts are row-major",
     "PJRT_Layouts_PJRT_Client_GetDefaultLayout PJRT_Layouts_PJRT_Topology_GetDefaultLayout "
     "PJRT_Layouts_MemoryLayout_Serialize PJRT_Layouts_MemoryLayout_Destroy",
     check_default_layouts},
    {"arrays keep the layouts that were asked for",
     "PJRT_Layouts_PJRT_Buffer_MemoryLayout PJRT_Client_BufferFromHostBuffer "
     "PJRT_Buffer_GetMemoryLayout",
     check_layouts_of_arrays},
    {"orders of axes that are none are refused", "PJRT_Client_BufferFromHostBuffer",
     check_bad_layouts},
    {"layouts of parameters and results",
     "PJRT_Layouts_PJRT_Executable_GetParameterLayouts "
     "PJRT_Layouts_PJRT_Executable_GetOutputLayouts",
     check_layouts_of_programs},
    {"layouts that the compiler chooses", "PJRT_Layouts_PJRT_Executable_GetParameterLayouts",
     check_layouts_of_automatic_programs},
    {"layouts of results that are none are refused", "PJRT_Client_Compile",
     check_bad_layouts_of_programs},
    {"descriptions of a device's memories",
     "PJRT_DeviceDescription_MemoryDescriptions PJRT_MemoryDescription_Kind",
     check_memory_descriptions},
    {"results are in the memories that programs name",
     "PJRT_Executable_ParameterMemoryKinds PJRT_Executable_OutputMemoryKinds PJRT_Buffer_Memory",
     check_memories_of_programs},
    {"a memory that is not there is refused", "PJRT_Client_Compile", check_bad_memories},
    {"shardings of parameters and results",
     "PJRT_Shardings_PJRT_Executable_ParameterShardings "
     "PJRT_Shardings_PJRT_Executable_OutputShardings",
     check_shardings},
    {"shardings of a program of one device", "PJRT_Shardings_PJRT_Executable_OutputShardings",
     check_shardings_of_one},
    {"a program of two partitions",
     "PJRT_LoadedExecutable_Execute PJRT_Executable_NumPartitions "
     "PJRT_LoadedExecutable_AddressableDeviceLogicalIds",
     check_partitions},
    {"values that differ although a sharding says that they are one",
     "PJRT_LoadedExecutable_Execute", check_unlike_values},
    {"the memory plan of a program of two partitions", "PJRT_Executable_GetCompiledMemoryStats",
     check_memory_of_partitions},
    {"programs call functions that are registered",
     "PJRT_FFI_Register_Handler PJRT_LoadedExecutable_Execute", check_handlers},
    {"functions that are none are refused", "PJRT_FFI_Register_Handler", check_bad_handlers},
    {"types of the states of functions", "PJRT_FFI_Type_Register", check_ffi_types},
    {"memory of the host that the plugin allocates",
     "PJRT_HostAllocator_GetPreferredAlignment PJRT_HostAllocator_Allocate "
     "PJRT_HostAllocator_Free",
     check_host_allocator},
    {"memory of the host that is mapped", "PJRT_Client_DmaMap PJRT_Client_DmaUnmap", check_dma},
};

}  // namespace

std::span<const Check> extension_checks() { return kChecks; }

}  // namespace systole::app::conform
