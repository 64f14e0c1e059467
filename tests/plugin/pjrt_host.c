// Uses the PJRT plugin through nothing but the C API, in the order in which JAX's client does.
// usage: pjrt_host PLUGIN. Prints "ok", or what went wrong, with status 1.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "systole/pjrt_abi/pjrt_c_api.h"

static const PJRT_Api* api;
static int callbacks;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "pjrt_host: %s\n", what);
  exit(1);
}

static void expect_text(const char* text, size_t size, const char* part, const char* what) {
  char* copy = calloc(size + 1, 1);
  expect(copy != NULL, "memory");
  memcpy(copy, text, size);
  if (strstr(copy, part) == NULL) fprintf(stderr, "pjrt_host: got '%s'\n", copy);
  expect(strstr(copy, part) != NULL, what);
  free(copy);
}

static void destroy_error(PJRT_Error* error) {
  PJRT_Error_Destroy_Args args = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                  .error = error};
  api->PJRT_Error_Destroy(&args);
}

static void ok(PJRT_Error* error, const char* what) {
  if (error == NULL) return;
  PJRT_Error_Message_Args args = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                  .error = error};
  api->PJRT_Error_Message(&args);
  fprintf(stderr, "pjrt_host: %s: %.*s\n", what, (int)args.message_size, args.message);
  exit(1);
}

// Expects an error with this code and this part of its message, by the functions of the API and by
// those of the error itself.
static void fails(PJRT_Error* error, PJRT_Error_Code code, const char* part) {
  expect(error != NULL, part);
  PJRT_Error_GetCode_Args get = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                 .error = error};
  ok(api->PJRT_Error_GetCode(&get), "PJRT_Error_GetCode");
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                     .error = error};
  api->PJRT_Error_Message(&message);
  expect_text(message.message, message.message_size, part, part);
  if (get.code != code) fprintf(stderr, "pjrt_host: code %d of '%s'\n", get.code, part);
  expect(get.code == code, "code of an error");
  expect(error->vtable->get_code(error) == code, "code by the function of an error");
  error->vtable->destroy(error);
}

static void await(PJRT_Event* event, const char* what) {
  PJRT_Event_Await_Args args = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE, .event = event};
  ok(api->PJRT_Event_Await(&args), what);
  PJRT_Event_Destroy_Args destroy = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE,
                                     .event = event};
  ok(api->PJRT_Event_Destroy(&destroy), "PJRT_Event_Destroy");
}

static void on_ready(PJRT_Error* error, void* user_arg) {
  expect(error == NULL, "error of an event");
  ++*(int*)user_arg;
}

static PJRT_Client* create_client(int64_t cores) {
  PJRT_NamedValue option = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                            .name = "cores",
                            .name_size = 5,
                            .type = PJRT_NamedValue_kInt64,
                            .int64_value = cores,
                            .value_size = 1};
  PJRT_Client_Create_Args args = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE,
                                  .create_options = &option,
                                  .num_options = 1};
  ok(api->PJRT_Client_Create(&args), "PJRT_Client_Create");
  // The struct of callers before 0.61.
  PJRT_Client_Create_Args old = {.struct_size = 72};
  ok(api->PJRT_Client_Create(&old), "PJRT_Client_Create of an older caller");
  expect(old.client != NULL, "client of an older caller");
  PJRT_Client_Destroy_Args destroy = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE,
                                      .client = old.client};
  ok(api->PJRT_Client_Destroy(&destroy), "PJRT_Client_Destroy");
  option.name = "colour";
  option.name_size = 6;
  fails(api->PJRT_Client_Create(&args), PJRT_Error_Code_INVALID_ARGUMENT, "got 'colour'");
  // JAX gives strings only.
  PJRT_NamedValue text = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                          .name = "cores",
                          .name_size = 5,
                          .type = PJRT_NamedValue_kString,
                          .string_value = "8",
                          .value_size = 1};
  PJRT_Client_Create_Args strings = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE,
                                     .create_options = &text,
                                     .num_options = 1};
  ok(api->PJRT_Client_Create(&strings), "PJRT_Client_Create of strings");
  PJRT_Client_Devices_Args devices = {.struct_size = PJRT_Client_Devices_Args_STRUCT_SIZE,
                                      .client = strings.client};
  ok(api->PJRT_Client_Devices(&devices), "PJRT_Client_Devices");
  expect(devices.num_devices == 8, "devices of cores=\"8\"");
  destroy.client = strings.client;
  ok(api->PJRT_Client_Destroy(&destroy), "PJRT_Client_Destroy");
  text.string_value = "many";
  text.value_size = 4;
  fails(api->PJRT_Client_Create(&strings), PJRT_Error_Code_INVALID_ARGUMENT, "'cores'");
  // The environment, which programs have that cannot give options.
  PJRT_Client_Create_Args none = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
  setenv("SYSTOLE_TPU", "v2-8", 1);
  ok(api->PJRT_Client_Create(&none), "PJRT_Client_Create with SYSTOLE_TPU");
  devices.client = destroy.client = none.client;
  ok(api->PJRT_Client_Devices(&devices), "PJRT_Client_Devices");
  expect(devices.num_devices == 8, "devices of SYSTOLE_TPU=v2-8");
  ok(api->PJRT_Client_Destroy(&destroy), "PJRT_Client_Destroy");
  setenv("SYSTOLE_CORES", "4", 1);
  fails(api->PJRT_Client_Create(&none), PJRT_Error_Code_INVALID_ARGUMENT, "got 4 with SYSTOLE_TPU");
  unsetenv("SYSTOLE_TPU");
  setenv("SYSTOLE_CORES", "0", 1);
  fails(api->PJRT_Client_Create(&none), PJRT_Error_Code_INVALID_ARGUMENT, "SYSTOLE_CORES, got '0'");
  unsetenv("SYSTOLE_CORES");
  return args.client;
}

static PJRT_Device* describe(PJRT_Client* client, size_t cores) {
  PJRT_Client_PlatformName_Args name = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE,
                                        .client = client};
  ok(api->PJRT_Client_PlatformName(&name), "PJRT_Client_PlatformName");
  expect_text(name.platform_name, name.platform_name_size, "systole", "name of the platform");
  PJRT_Client_Devices_Args devices = {.struct_size = PJRT_Client_Devices_Args_STRUCT_SIZE,
                                      .client = client};
  ok(api->PJRT_Client_Devices(&devices), "PJRT_Client_Devices");
  expect(devices.num_devices == cores, "number of devices");
  PJRT_Device_GetDescription_Args get = {.struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE,
                                         .device = devices.devices[1]};
  ok(api->PJRT_Device_GetDescription(&get), "PJRT_Device_GetDescription");
  PJRT_DeviceDescription_Id_Args id = {.struct_size = PJRT_DeviceDescription_Id_Args_STRUCT_SIZE,
                                       .device_description = get.device_description};
  ok(api->PJRT_DeviceDescription_Id(&id), "PJRT_DeviceDescription_Id");
  expect(id.id == 1, "id of a device");
  PJRT_Device_DefaultMemory_Args memory = {.struct_size = PJRT_Device_DefaultMemory_Args_STRUCT_SIZE,
                                           .device = devices.devices[0]};
  ok(api->PJRT_Device_DefaultMemory(&memory), "PJRT_Device_DefaultMemory");
  PJRT_Memory_Kind_Args kind = {.struct_size = PJRT_Memory_Kind_Args_STRUCT_SIZE,
                                .memory = memory.memory};
  ok(api->PJRT_Memory_Kind(&kind), "PJRT_Memory_Kind");
  expect_text(kind.kind, kind.kind_size, "device", "kind of a memory");
  memory.memory->vtable->set_user_data(memory.memory, &api, &callbacks, NULL);
  expect(memory.memory->vtable->get_user_data(memory.memory, &api) == &callbacks, "user data");
  PJRT_Device_GetAttributes_Args attributes = {
      .struct_size = PJRT_Device_GetAttributes_Args_STRUCT_SIZE, .device = devices.devices[0]};
  ok(api->PJRT_Device_GetAttributes(&attributes), "PJRT_Device_GetAttributes");
  attributes.attributes_deleter(attributes.device_attributes);
  return devices.devices[0];
}

// CompileOptionsProto of one device, and of two replicas.
static const char kOneDevice[] = "\x1A\x0F\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x01\x28\x01";
static const char kTwoReplicas[] =
    "\x1A\x0F\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x02\x28\x01";

static PJRT_Error* try_compile(PJRT_Client* client, const char* text, const char* options,
                               size_t options_size, PJRT_LoadedExecutable** executable) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char*)text,
                          .code_size = strlen(text),
                          .format = "mlir",
                          .format_size = 4};
  PJRT_Client_Compile_Args args = {.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE,
                                   .client = client,
                                   .program = &program,
                                   .compile_options = options,
                                   .compile_options_size = options_size};
  PJRT_Error* error = api->PJRT_Client_Compile(&args);
  if (error == NULL) *executable = args.executable;
  return error;
}

static PJRT_Buffer* put_array(PJRT_Client* client, PJRT_Device* device, const float* values,
                              const int64_t* dims, size_t num_dims) {
  PJRT_Client_BufferFromHostBuffer_Args args = {
      .struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE,
      .client = client,
      .data = values,
      .type = PJRT_Buffer_Type_F32,
      .dims = dims,
      .num_dims = num_dims,
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
      .device = device};
  ok(api->PJRT_Client_BufferFromHostBuffer(&args), "PJRT_Client_BufferFromHostBuffer");
  await(args.done_with_host_buffer, "done_with_host_buffer");
  return args.buffer;
}

static PJRT_Buffer* put(PJRT_Client* client, PJRT_Device* device, const float* values,
                        size_t count) {
  const int64_t dims[] = {(int64_t)count};
  return put_array(client, device, values, dims, 1);
}

static void get_array(PJRT_Buffer* buffer, float* values, size_t count, size_t num_dims) {
  const int64_t matrix[] = {1, 0};
  const int64_t* order = num_dims == 2 ? matrix : matrix + 1;
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = order,
                .minor_to_major_size = num_dims},
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
  PJRT_Buffer_ToHostBuffer_Args args = {.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE,
                                        .src = buffer,
                                        .host_layout = &layout};
  ok(api->PJRT_Buffer_ToHostBuffer(&args), "PJRT_Buffer_ToHostBuffer without memory");
  expect(args.dst_size == count * sizeof(float), "size of a buffer");
  args.dst = values;
  ok(api->PJRT_Buffer_ToHostBuffer(&args), "PJRT_Buffer_ToHostBuffer");
  await(args.event, "PJRT_Buffer_ToHostBuffer");
}

static void get(PJRT_Buffer* buffer, float* values, size_t count) {
  get_array(buffer, values, count, 1);
}

static void destroy_buffer(PJRT_Buffer* buffer) {
  PJRT_Buffer_Destroy_Args args = {.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE,
                                   .buffer = buffer};
  ok(api->PJRT_Buffer_Destroy(&args), "PJRT_Buffer_Destroy");
}

static int is_deleted(PJRT_Buffer* buffer) {
  PJRT_Buffer_IsDeleted_Args args = {.struct_size = PJRT_Buffer_IsDeleted_Args_STRUCT_SIZE,
                                     .buffer = buffer};
  ok(api->PJRT_Buffer_IsDeleted(&args), "PJRT_Buffer_IsDeleted");
  return args.is_deleted;
}

// The size of an executable's results.
static size_t num_outputs(PJRT_LoadedExecutable* loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args executable = {
      .struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
      .loaded_executable = loaded};
  ok(api->PJRT_LoadedExecutable_GetExecutable(&executable), "PJRT_LoadedExecutable_GetExecutable");
  PJRT_Executable_NumOutputs_Args args = {.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE,
                                          .executable = executable.executable};
  ok(api->PJRT_Executable_NumOutputs(&args), "PJRT_Executable_NumOutputs");
  PJRT_Executable_OutputElementTypes_Args types = {
      .struct_size = PJRT_Executable_OutputElementTypes_Args_STRUCT_SIZE,
      .executable = executable.executable};
  ok(api->PJRT_Executable_OutputElementTypes(&types), "PJRT_Executable_OutputElementTypes");
  expect(types.output_types[0] == PJRT_Buffer_Type_F32, "type of a result");
  PJRT_Executable_OutputDimensions_Args dims = {
      .struct_size = PJRT_Executable_OutputDimensions_Args_STRUCT_SIZE,
      .executable = executable.executable};
  ok(api->PJRT_Executable_OutputDimensions(&dims), "PJRT_Executable_OutputDimensions");
  expect(dims.dim_sizes[0] == 1 && dims.dims[0] == 4, "shape of a result");
  PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                          .executable = executable.executable};
  ok(api->PJRT_Executable_Destroy(&destroy), "PJRT_Executable_Destroy");
  return args.num_outputs;
}

// main(x, y) -> x + y, written over x.
static const char kSum[] =
    "module @sum {\n"
    "  func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32},\n"
    "                         %y: tensor<4xf32>) -> tensor<4xf32> {\n"
    "    %0 = stablehlo.add %x, %y : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";

static PJRT_Error* execute(PJRT_LoadedExecutable* executable, PJRT_ExecuteOptions* options,
                           PJRT_Buffer* const* const* arguments, size_t devices, size_t num_args,
                           PJRT_Buffer** const* outputs, PJRT_Event** events) {
  PJRT_LoadedExecutable_Execute_Args args = {
      .struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
      .executable = executable,
      .options = options,
      .argument_lists = arguments,
      .num_devices = devices,
      .num_args = num_args,
      .output_lists = outputs,
      .device_complete_events = events};
  return api->PJRT_LoadedExecutable_Execute(&args);
}

static void run_sum(PJRT_Client* client, PJRT_Device* device) {
  PJRT_LoadedExecutable* sum = NULL;
  ok(try_compile(client, kSum, kOneDevice, sizeof(kOneDevice) - 1, &sum), "PJRT_Client_Compile");
  expect(num_outputs(sum) == 1, "number of results");
  const float x[] = {1, 2, 3, 4};
  const float y[] = {10, 20, 30, 40};
  PJRT_Buffer* buffers[] = {put(client, device, x, 4), put(client, device, y, 4)};
  PJRT_Buffer* const* arguments[] = {buffers};
  PJRT_Buffer* result = NULL;
  PJRT_Buffer** outputs[] = {&result};
  PJRT_Event* event = NULL;
  // An older caller's options; the first argument keeps its value.
  const int64_t kept[] = {0};
  PJRT_ExecuteOptions options = {.struct_size = 112,
                                 .non_donatable_input_indices = kept,
                                 .num_non_donatable_input_indices = 1};
  ok(execute(sum, &options, arguments, 1, 2, outputs, &event), "PJRT_LoadedExecutable_Execute");
  PJRT_Event_OnReady_Args ready = {.struct_size = PJRT_Event_OnReady_Args_STRUCT_SIZE,
                                   .event = event,
                                   .callback = on_ready,
                                   .user_arg = &callbacks};
  ok(api->PJRT_Event_OnReady(&ready), "PJRT_Event_OnReady");
  await(event, "execution");
  expect(callbacks == 1, "callback of an event");
  expect(!is_deleted(buffers[0]), "an argument that is not donatable was deleted");
  float values[4];
  get(result, values, 4);
  expect(values[0] == 11 && values[3] == 44, "sum");
  destroy_buffer(result);
  // Now it is donated.
  options.num_non_donatable_input_indices = 0;
  ok(execute(sum, &options, arguments, 1, 2, outputs, NULL), "PJRT_LoadedExecutable_Execute");
  expect(is_deleted(buffers[0]), "a donated argument was kept");
  get(result, values, 4);
  expect(values[0] == 11 && values[3] == 44, "sum in place");
  fails(execute(sum, &options, arguments, 1, 2, outputs, NULL), PJRT_Error_Code_FAILED_PRECONDITION,
        "deleted or donated");
  fails(execute(sum, &options, arguments, 1, 1, outputs, NULL), PJRT_Error_Code_INVALID_ARGUMENT,
        "got 1, expected 2");
  PJRT_Buffer* const no_buffers[] = {NULL, buffers[1]};
  PJRT_Buffer* const* no_arguments[] = {no_buffers};
  fails(execute(sum, &options, no_arguments, 1, 2, outputs, NULL), PJRT_Error_Code_INVALID_ARGUMENT,
        "argument 0 of 'sum', got null");
  destroy_buffer(result);
  destroy_buffer(buffers[0]);
  destroy_buffer(buffers[1]);
  PJRT_LoadedExecutable_Destroy_Args destroy = {
      .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = sum};
  ok(api->PJRT_LoadedExecutable_Destroy(&destroy), "PJRT_LoadedExecutable_Destroy");
}

static const char kAllReduce[] =
    "func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %r = \"stablehlo.all_reduce\"(%x) ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %s = \"stablehlo.add\"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
    "    \"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n"
    "  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>\n"
    "  return %r : tensor<4xf32>\n"
    "}\n";

static void run_replicas(PJRT_Client* client) {
  PJRT_LoadedExecutable* sum = NULL;
  ok(try_compile(client, kAllReduce, kTwoReplicas, sizeof(kTwoReplicas) - 1, &sum),
     "PJRT_Client_Compile of replicas");
  PJRT_LoadedExecutable_AddressableDevices_Args devices = {
      .struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE, .executable = sum};
  ok(api->PJRT_LoadedExecutable_AddressableDevices(&devices), "AddressableDevices");
  expect(devices.num_addressable_devices == 2, "devices of an executable");
  const float x[] = {1, 2, 3, 4};
  const float y[] = {10, 20, 30, 40};
  PJRT_Buffer* first = put(client, devices.addressable_devices[0], x, 4);
  PJRT_Buffer* second = put(client, devices.addressable_devices[1], y, 4);
  PJRT_Buffer* const* arguments[] = {&first, &second};
  PJRT_Buffer* results[2] = {NULL, NULL};
  PJRT_Buffer** outputs[] = {&results[0], &results[1]};
  PJRT_Event* events[2] = {NULL, NULL};
  ok(execute(sum, NULL, arguments, 2, 1, outputs, events), "execution of replicas");
  await(events[0], "replica 0");
  await(events[1], "replica 1");
  float values[4];
  get(results[1], values, 4);
  expect(values[0] == 11 && values[1] == 22 && values[2] == 33 && values[3] == 44, "all_reduce");
  destroy_buffer(first);
  destroy_buffer(second);
  destroy_buffer(results[0]);
  destroy_buffer(results[1]);
  PJRT_LoadedExecutable_Destroy_Args destroy = {
      .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = sum};
  ok(api->PJRT_LoadedExecutable_Destroy(&destroy), "PJRT_LoadedExecutable_Destroy");
}

static PJRT_Error* load(PJRT_Client* client, const char* bytes, size_t size,
                        PJRT_LoadedExecutable** executable) {
  PJRT_Executable_DeserializeAndLoad_Args args = {
      .struct_size = PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE,
      .client = client,
      .serialized_executable = bytes,
      .serialized_executable_size = size};
  PJRT_Error* error = api->PJRT_Executable_DeserializeAndLoad(&args);
  if (error == NULL) *executable = args.loaded_executable;
  return error;
}

// Writes and reads a program, also damaged.
static void save_and_load(PJRT_Client* client) {
  PJRT_LoadedExecutable* sum = NULL;
  ok(try_compile(client, kSum, kOneDevice, sizeof(kOneDevice) - 1, &sum), "PJRT_Client_Compile");
  PJRT_LoadedExecutable_GetExecutable_Args executable = {
      .struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE, .loaded_executable = sum};
  ok(api->PJRT_LoadedExecutable_GetExecutable(&executable), "PJRT_LoadedExecutable_GetExecutable");
  PJRT_Executable_Serialize_Args args = {.struct_size = PJRT_Executable_Serialize_Args_STRUCT_SIZE,
                                         .executable = executable.executable};
  ok(api->PJRT_Executable_Serialize(&args), "PJRT_Executable_Serialize");
  PJRT_LoadedExecutable* again = NULL;
  ok(load(client, args.serialized_bytes, args.serialized_bytes_size, &again),
     "PJRT_Executable_DeserializeAndLoad");
  expect(num_outputs(again) == 1, "number of results of a program that was read");
  char* bytes = malloc(args.serialized_bytes_size);
  expect(bytes != NULL, "memory");
  for (size_t i = 0; i < args.serialized_bytes_size; ++i) {
    memcpy(bytes, args.serialized_bytes, args.serialized_bytes_size);
    fails(load(client, bytes, i, &again), PJRT_Error_Code_DATA_LOSS, "compiled program, got");
    bytes[i] = (char)(bytes[i] ^ 1);
    fails(load(client, bytes, args.serialized_bytes_size, &again), PJRT_Error_Code_DATA_LOSS,
          "compiled program, got");
  }
  free(bytes);
  args.serialized_executable_deleter(args.serialized_executable);
  PJRT_Executable_Destroy_Args release = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                          .executable = executable.executable};
  ok(api->PJRT_Executable_Destroy(&release), "PJRT_Executable_Destroy");
  PJRT_LoadedExecutable* const loaded[] = {sum, again};
  for (size_t i = 0; i < 2; ++i) {
    PJRT_LoadedExecutable_Destroy_Args destroy = {
        .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = loaded[i]};
    ok(api->PJRT_LoadedExecutable_Destroy(&destroy), "PJRT_LoadedExecutable_Destroy");
  }
}

// What compiled code calls is in libraries that only the plugin depends on.
static const char kMath[] =
    "func.func public @main(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
    "  %s = stablehlo.sine %x : tensor<64xf32>\n"
    "  %l = stablehlo.log_plus_one %x : tensor<64xf32>\n"
    "  %p = stablehlo.power %x, %l : tensor<64xf32>\n"
    "  %0 = stablehlo.add %s, %p : tensor<64xf32>\n"
    "  return %0 : tensor<64xf32>\n"
    "}\n";
static const char kCholesky[] =
    "func.func public @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
    "  %0 = stablehlo.cholesky %x, lower = true : tensor<2x2xf32>\n"
    "  return %0 : tensor<2x2xf32>\n"
    "}\n";
static const char kLapackCholesky[] =
    "func.func public @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
    "  %0:2 = \"stablehlo.custom_call\"(%x) {call_target_name = \"lapack_spotrf_ffi\",\n"
    "    mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2xf32>)\n"
    "    -> (tensor<2x2xf32>, tensor<i32>)\n"
    "  return %0#0 : tensor<2x2xf32>\n"
    "}\n";

static void compute(PJRT_Client* client, PJRT_Device* device, const char* text, const float* x,
                    const int64_t* dims, size_t num_dims, float* result, size_t n) {
  PJRT_LoadedExecutable* program = NULL;
  ok(try_compile(client, text, kOneDevice, sizeof(kOneDevice) - 1, &program), text);
  PJRT_Buffer* const buffers[] = {put_array(client, device, x, dims, num_dims)};
  PJRT_Buffer* const* arguments[] = {buffers};
  PJRT_Buffer* made = NULL;
  PJRT_Buffer** outputs[] = {&made};
  ok(execute(program, NULL, arguments, 1, 1, outputs, NULL), text);
  get_array(made, result, n, num_dims);
  destroy_buffer(made);
  destroy_buffer(buffers[0]);
  PJRT_LoadedExecutable_Destroy_Args destroy = {
      .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = program};
  ok(api->PJRT_LoadedExecutable_Destroy(&destroy), "PJRT_LoadedExecutable_Destroy");
}

static void expect_near(float got, float expected, const char* what) {
  if (got - expected < 1e-5F && expected - got < 1e-5F) return;
  fprintf(stderr, "pjrt_host: %s: got %g, expected %g\n", what, got, expected);
  exit(1);
}

static void run_math(PJRT_Client* client, PJRT_Device* device) {
  const int64_t vector[] = {64};
  float values[64];
  float results[64];
  for (int i = 0; i < 64; ++i) values[i] = (float)(i % 2 + 1);
  compute(client, device, kMath, values, vector, 1, results, 64);
  expect_near(results[62], 0.84147098F + 1, "sin 1 + 1^log1p 1");
  expect_near(results[63], 0.90929743F + 2.14148634F, "sin 2 + 2^log1p 2");
  const int64_t matrix[] = {2, 2};
  const float square[] = {4, 2, 2, 10};
  compute(client, device, kCholesky, square, matrix, 2, results, 4);
  expect_near(results[2], 1, "cholesky");
  expect_near(results[3], 3, "cholesky");
  compute(client, device, kLapackCholesky, square, matrix, 2, results, 4);
  expect_near(results[2], 1, "cholesky of LAPACK");
  expect_near(results[3], 3, "cholesky of LAPACK");
}

static void memory_stats(PJRT_Device* device) {
  PJRT_Device_MemoryStats_Args args;
  memset(&args, 0xFF, sizeof(args));
  args.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE;
  args.extension_start = NULL;
  args.device = device;
  ok(api->PJRT_Device_MemoryStats(&args), "PJRT_Device_MemoryStats");
  expect(args.peak_bytes_in_use_is_set && args.bytes_limit_is_set, "statistics that are known");
  expect(args.bytes_in_use >= 0 && args.peak_bytes_in_use >= args.bytes_in_use, "bytes in use");
  expect(!args.num_allocs_is_set && !args.largest_alloc_size_is_set && !args.bytes_reserved_is_set &&
             !args.peak_bytes_reserved_is_set && !args.bytes_reservable_limit_is_set &&
             !args.largest_free_block_bytes_is_set && !args.pool_bytes_is_set &&
             !args.peak_pool_bytes_is_set,
         "statistics that are not known");
}

static const char kUnknownCall[] =
    "func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
    "  %0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"no_such_target\"} :\n"
    "    (tensor<f32>) -> tensor<f32>\n"
    "  return %0 : tensor<f32>\n"
    "}\n";

// Deletes a program while another thread executes it.
static void* execute_until_deleted(void* program) {
  PJRT_Buffer* const* arguments[] = {NULL};
  PJRT_Buffer* result = NULL;
  PJRT_Buffer** outputs[] = {&result};
  for (;;) {
    PJRT_Error* error = execute(program, NULL, arguments, 1, 0, outputs, NULL);
    if (error != NULL) {
      fails(error, PJRT_Error_Code_FAILED_PRECONDITION, "was deleted");
      return NULL;
    }
    destroy_buffer(result);
  }
}

static void delete_while_executing(PJRT_Client* client) {
  static const char kIota[] =
      "func.func public @main() -> tensor<1000xf32> {\n"
      "  %0 = stablehlo.iota dim = 0 : tensor<1000xf32>\n"
      "  %1 = stablehlo.sine %0 : tensor<1000xf32>\n"
      "  return %1 : tensor<1000xf32>\n"
      "}\n";
  for (int i = 0; i < 20; ++i) {
    PJRT_LoadedExecutable* program = NULL;
    ok(try_compile(client, kIota, kOneDevice, sizeof(kOneDevice) - 1, &program), "iota");
    pthread_t threads[2];
    for (int t = 0; t < 2; ++t) {
      expect(pthread_create(&threads[t], NULL, execute_until_deleted, program) == 0, "thread");
    }
    const struct timespec moment = {.tv_nsec = 1000000};
    nanosleep(&moment, NULL);
    PJRT_LoadedExecutable_Delete_Args delete = {
        .struct_size = PJRT_LoadedExecutable_Delete_Args_STRUCT_SIZE, .executable = program};
    ok(api->PJRT_LoadedExecutable_Delete(&delete), "PJRT_LoadedExecutable_Delete");
    for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
    PJRT_LoadedExecutable_Destroy_Args destroy = {
        .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = program};
    ok(api->PJRT_LoadedExecutable_Destroy(&destroy), "PJRT_LoadedExecutable_Destroy");
  }
}

// CompileOptionsProto of a program for any one device, and of nine replicas.
static const char kPortable[] =
    "\x1A\x0F\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x01\x28\x01\x20\x01";
static const char kNineReplicas[] =
    "\x1A\x0F\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x09\x28\x01";

static void run_portable(PJRT_Client* client) {
  PJRT_LoadedExecutable* sum = NULL;
  ok(try_compile(client, kSum, kPortable, sizeof(kPortable) - 1, &sum), "a portable program");
  PJRT_LoadedExecutable_AddressableDevices_Args devices = {
      .struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE, .executable = sum};
  ok(api->PJRT_LoadedExecutable_AddressableDevices(&devices), "AddressableDevices");
  expect(devices.num_addressable_devices == 0, "devices of a portable program");
  PJRT_LoadedExecutable_Destroy_Args destroy = {
      .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = sum};
  ok(api->PJRT_LoadedExecutable_Destroy(&destroy), "PJRT_LoadedExecutable_Destroy");
}

static void refuse(PJRT_Client* client) {
  PJRT_LoadedExecutable* none = NULL;
  fails(try_compile(client, kSum, kNineReplicas, sizeof(kNineReplicas) - 1, &none),
        PJRT_Error_Code_INVALID_ARGUMENT, "9 replicas of 1 partitions, got 2 devices, expected as many");
  fails(try_compile(client, kUnknownCall, kOneDevice, sizeof(kOneDevice) - 1, &none),
        PJRT_Error_Code_UNIMPLEMENTED, "no_such_target");
  fails(try_compile(client, "module {", kOneDevice, sizeof(kOneDevice) - 1, &none),
        PJRT_Error_Code_INVALID_ARGUMENT, "program:1");
  fails(try_compile(client, kSum, "", 0, &none), PJRT_Error_Code_INVALID_ARGUMENT,
        "num_replicas and num_partitions, got 0");
  PJRT_Client_Devices_Args small = {.struct_size = 24, .client = client};
  fails(api->PJRT_Client_Devices(&small), PJRT_Error_Code_INVALID_ARGUMENT,
        "PJRT_Client_Devices: struct_size, got 24, expected at least 40");
  PJRT_Device_ClearMemoryStats_Args clear = {.struct_size = PJRT_Device_ClearMemoryStats_Args_STRUCT_SIZE};
  fails(api->PJRT_Device_ClearMemoryStats(&clear), PJRT_Error_Code_UNIMPLEMENTED, "PJRT_Device_ClearMemoryStats");
  destroy_error(NULL);
}

int main(int argc, char** argv) {
  expect(argc == 2, "usage: pjrt_host PLUGIN");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "pjrt_host: %s\n", dlerror());
  expect(library != NULL, "dlopen");
  const PJRT_Api* (*get_api)(void) = NULL;
  void* symbol = dlsym(library, "GetPjrtApi");
  memcpy(&get_api, &symbol, sizeof(symbol));
  expect(get_api != NULL, "GetPjrtApi");
  api = get_api();
  expect(api->struct_size == PJRT_Api_STRUCT_SIZE, "size of the table");
  expect(api->pjrt_api_version.major_version == 0, "major version");
  PJRT_Plugin_Initialize_Args initialize = {.struct_size =
                                                PJRT_Plugin_Initialize_Args_STRUCT_SIZE};
  ok(api->PJRT_Plugin_Initialize(&initialize), "PJRT_Plugin_Initialize");
  PJRT_Client* client = create_client(2);
  PJRT_Device* device = describe(client, 2);
  run_sum(client, device);
  run_math(client, device);
  memory_stats(device);
  delete_while_executing(client);
  run_portable(client);
  run_replicas(client);
  save_and_load(client);
  refuse(client);
  PJRT_Client_Destroy_Args destroy = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE,
                                      .client = client};
  ok(api->PJRT_Client_Destroy(&destroy), "PJRT_Client_Destroy");
  printf("ok\n");
  return 0;
}
