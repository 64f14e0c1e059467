// What the handles of the PJRT C API point to. The API declares these names at global scope.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugin/async_client.h"
#include "plugin/layouts.h"
#include "systole/base/mutex.h"
#include "systole/hlo/ir/module.h"
#include "systole/pjrt_abi/compile_options.h"
#include "systole/pjrt_abi/pjrt_c_api.h"
#include "systole/runtime/client.h"

namespace systole::plugin {

// The kinds of a device's memories, as JAX names them. The first is the default, and that of
// results. Their ids are their places.
inline constexpr std::array<std::string_view, 3> kMemoryKinds = {"device", "pinned_host",
                                                                 "unpinned_host"};
inline constexpr std::array<int, kMemoryKinds.size()> kMemoryKindIds = {0, 1, 2};

// Named values with the memory of their strings and lists. Not copyable: values point into it.
class Attributes {
 public:
  Attributes() = default;
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void add(std::string name, std::string value);
  void add(std::string name, int64_t value);
  void add(std::string name, float value);
  void add(std::string name, std::vector<int64_t> value);

  const PJRT_NamedValue* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  PJRT_NamedValue& append(std::string name, PJRT_NamedValue_Type type);

  std::vector<PJRT_NamedValue> values_;
  std::vector<std::unique_ptr<std::string>> strings_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> lists_;
};

// Texts as the API passes them: pointers and sizes. Not copyable: pointers point into it.
class Shardings {
 public:
  Shardings() = default;
  Shardings(const Shardings&) = delete;
  Shardings& operator=(const Shardings&) = delete;

  void set(std::vector<std::string> texts);
  // Null if there are none.
  const char* const* data() const { return pointers_.empty() ? nullptr : pointers_.data(); }
  const size_t* sizes() const { return sizes_.empty() ? nullptr : sizes_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<const char*> pointers_;
  std::vector<size_t> sizes_;
};

// Kinds of memories of parameters or results, and their names as the API lists them.
struct MemoryKindNames {
  std::vector<size_t> kinds;  // places in kMemoryKinds
  std::vector<const char*> names;
  std::vector<size_t> sizes;

  void add(size_t kind) {
    kinds.push_back(kind);
    names.push_back(kMemoryKinds[kind].data());
    sizes.push_back(kMemoryKinds[kind].size());
  }
};

// A compiled program and what the API reports of it. Immutable.
struct Program {
  std::string code;  // as given, with `format`
  std::string format;
  std::shared_ptr<const hlo::Module> of_device;  // for several partitions: the program of one
  std::string options_bytes;
  pjrt_abi::CompileOptions options;
  std::string name;
  std::string fingerprint;  // of code and options
  runtime::ExecutableStats stats;
  std::vector<int> aliased_parameter;  // by result; -1: none
  std::vector<bool> donated;           // by parameter: some result is written over it
  std::vector<bool> donors;            // by parameter: deleted by the execution
  std::vector<TensorType> parameters;  // storage types, of one device
  std::vector<TensorType> results;     // storage types, of one device
  std::vector<PJRT_Buffer_Type> result_types;
  std::vector<int64_t> result_dims;  // of all results, one after another
  std::vector<size_t> result_ranks;
  std::vector<Layout> parameter_layouts;
  std::vector<Layout> result_layouts;
  MemoryKindNames parameter_memory_kinds;
  MemoryKindNames result_memory_kinds;
  Attributes cost;
  // Serialised messages of xla.OpSharding, of a program of several partitions.
  Shardings parameter_shardings;
  Shardings result_shardings;
};

}  // namespace systole::plugin

// NOLINTBEGIN(readability-identifier-naming): the API's names
struct PJRT_Event {
  systole::runtime::Event event;
  std::optional<systole::runtime::Promise> promise;  // of events that the caller sets
};

struct PJRT_DeviceDescription {
  const systole::runtime::Device* device = nullptr;
  std::string debug_string;
  std::string text;
  systole::plugin::Attributes attributes;
};

namespace systole::plugin {

// A memory of a device. All are the host's memory; a buffer stays in that in which it was made.
struct DeviceMemory : PJRT_Memory {
  PJRT_Device* device = nullptr;
  int id = 0;
  size_t kind = 0;  // its place in kMemoryKinds
  std::string debug_string;
  std::string text;
  // Values that the caller keeps with the memory, by key, each with its destructor.
  systole::Mutex mutex;
  std::map<const void*, std::pair<void*, void (*)(void*)>> user_data SYSTOLE_GUARDED_BY(mutex);

  ~DeviceMemory();
};

}  // namespace systole::plugin

struct PJRT_Device {
  PJRT_Client* client = nullptr;
  PJRT_DeviceDescription description;
  std::array<systole::plugin::DeviceMemory, systole::plugin::kMemoryKinds.size()> memories;
  std::array<PJRT_Memory*, systole::plugin::kMemoryKinds.size()> memory_list = {};
};

struct PJRT_TopologyDescription {
  std::string options_text;  // of to_text(BackendChoice)
  std::string platform_version;
  std::vector<PJRT_DeviceDescription*> descriptions;
  std::vector<std::unique_ptr<PJRT_DeviceDescription>> owned;  // those of a client belong to it
  systole::plugin::Attributes attributes;
};

struct PJRT_Client {
  std::unique_ptr<systole::plugin::AsyncClient> runtime;
  std::string platform_version;
  std::vector<std::unique_ptr<PJRT_Device>> owned;
  std::vector<PJRT_Device*> devices;  // by id
  std::vector<PJRT_Memory*> memories;
  PJRT_TopologyDescription topology;

  systole::Mutex mutex;
  std::set<const void*> mapped SYSTOLE_GUARDED_BY(mutex);  // memory of PJRT_Client_DmaMap
};

struct PJRT_Executable {
  explicit PJRT_Executable(std::shared_ptr<const systole::plugin::Program> compiled);

  std::shared_ptr<const systole::plugin::Program> program;
  // Layouts of the program, for callers that do not change them.
  std::vector<PJRT_Layouts_MemoryLayout*> parameter_layouts;
  std::vector<PJRT_Layouts_MemoryLayout*> result_layouts;
};

struct PJRT_LoadedExecutable {
  PJRT_Client* client = nullptr;
  std::shared_ptr<const systole::plugin::Program> program;
  std::vector<PJRT_Device*> devices;  // by replica, then by partition
  std::vector<PJRT_LogicalDeviceIds> logical_ids;

  mutable systole::Mutex mutex;
  // Null once it is deleted; guarded by mutex. An execution keeps it alive.
  std::shared_ptr<systole::runtime::Executable> executable SYSTOLE_GUARDED_BY(mutex);
  // The same, with every parameter on each device. Null until a call needs it.
  std::shared_ptr<systole::runtime::Executable> for_unlike_values SYSTOLE_GUARDED_BY(mutex);
};

// An array on one device: a buffer of the runtime, or the slice of one device of an array that the
// devices of a program share.
struct PJRT_Buffer {
  PJRT_Client* client = nullptr;
  PJRT_Device* device = nullptr;
  systole::TensorType type;
  int slice = -1;          // -1: the whole array
  size_t memory_kind = 0;  // the place in kMemoryKinds
  systole::plugin::Layout layout;

  mutable systole::Mutex mutex;
  std::shared_ptr<systole::runtime::Buffer> array
      SYSTOLE_GUARDED_BY(mutex);  // null once it is deleted
  // Others that read the memory. It stays as it is while there are any, also after a deletion.
  std::atomic<int> external_references = 0;
  std::shared_ptr<systole::runtime::Buffer> referenced_array SYSTOLE_GUARDED_BY(mutex);
};

struct PJRT_SerializedExecutable {
  std::string bytes;
};
struct PJRT_SerializedCompileOptions {
  std::string bytes;
};
struct PJRT_DeviceAssignmentSerialized {
  std::string bytes;
};
struct PJRT_SerializedTopology {
  std::string bytes;
};
struct PJRT_Device_Attributes {
  int unused = 0;
};
struct PJRT_ExecuteContext {
  int unused = 0;
};
// NOLINTEND(readability-identifier-naming)

namespace systole::plugin {

inline constexpr std::string_view kPlatformName = "systole";
// The caller promises one value of the parameter for all replicas, and the memory of only one of
// them is used: CompileOptions::replicated_parameters of the runtime.
inline constexpr std::string_view kReplicatedAttribute = "systole.replicated";

PJRT_Event* make_event(runtime::Event event);

// Makes the buffer of an array, or of slice `slice` of it.
PJRT_Buffer* make_buffer(PJRT_Client* client, PJRT_Device* device, TensorType type,
                         std::shared_ptr<runtime::Buffer> array, int slice = -1);
// Returns the array of a buffer. Errors: FAILED_PRECONDITION for a deleted buffer.
std::shared_ptr<runtime::Buffer> array_of(const PJRT_Buffer& buffer);
// Waits, and returns the elements of a buffer without a copy. Errors: the array's.
Tensor elements_of(const PJRT_Buffer& buffer);
// Returns those of an array that is ready, or of its slice, as a tensor of this type.
Tensor elements_of(const runtime::Buffer& array, int slice, const TensorType& type);

// Compiles a program. Errors: those of reading the program and of Client::compile().
struct Compiled {
  std::shared_ptr<const Program> program;
  std::shared_ptr<runtime::Executable> executable;
};
Compiled compile(runtime::Client& client, std::string_view code, std::string_view format,
                 std::string_view options);
PJRT_LoadedExecutable* load(PJRT_Client* client, Compiled compiled);
// Compiles a program again, so that each device has a value of its own of every parameter. Errors:
// as above.
std::unique_ptr<runtime::Executable> compile_for_unlike_values(const PJRT_LoadedExecutable& loaded);
// Returns whether the program has no device of its own: each execution names one.
inline bool is_portable(const PJRT_LoadedExecutable& loaded) {
  return loaded.program->options.portable && loaded.devices.size() == 1;
}
// Returns the client that the devices of a topology belong to.
runtime::Client& client_of(const PJRT_TopologyDescription& topology);

void fill_description(PJRT_DeviceDescription& description, const runtime::Device& device,
                      std::string_view platform);
std::unique_ptr<PJRT_Device> make_device(PJRT_Client* client, const runtime::Device& described,
                                         std::string_view platform);

}  // namespace systole::plugin
