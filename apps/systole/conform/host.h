// A caller of a PJRT plugin through nothing but the C API, for checks: it owns what it made, and
// turns what it did not expect into Failure.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "systole/pjrt_abi/compile_options.h"
#include "systole/pjrt_abi/struct_size.h"

namespace systole::app::conform {

using pjrt_abi::make;

// What a check throws: the plugin did not do as a caller expects.
struct Failure {
  std::string what;
};
// What a check throws if the plugin does not have a function.
struct Absent {
  std::string function;
};

template <class... T>
[[noreturn]] void fail(fmt::format_string<T...> format, T&&... values) {
  throw Failure{fmt::format(format, std::forward<T>(values)...)};
}
template <class... T>
void expect(bool condition, fmt::format_string<T...> format, T&&... values) {
  if (!condition) throw Failure{fmt::format(format, std::forward<T>(values)...)};
}

// The function that takes Args: its place in PJRT_Api and its name.
template <class Args>
struct FunctionOf;
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define FUNCTION(name)                                          \
  template <>                                                   \
  struct FunctionOf<name##_Args> {                              \
    static constexpr auto kPlace = &PJRT_Api::name;             \
    static constexpr std::string_view kName = #name;            \
    static constexpr size_t kOffset = offsetof(PJRT_Api, name); \
  };
#include "systole/pjrt_abi/functions.def"
// NOLINTEND(cppcoreguidelines-macro-usage)

// Calls `visit(name, field)` for each field of a function's arguments that the function sets.
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define ARGS(name, ...)                                                                           \
  template <class Visit>                                                                          \
  void for_each_output([[maybe_unused]] name##_Args& args, [[maybe_unused]] const Visit& visit) { \
    __VA_ARGS__                                                                                   \
  }
#define STRUCT(name, ...)
#define PLAIN(name, ...)
#define IN(type, name)
#define OUT(type, name) visit(#name, args.name);
#define INOUT(type, name)
#define IN_FUNCTION(result, name, parameters)
#define OUT_FUNCTION(result, name, parameters) visit(#name, args.name);
#define UNION(...)
#include "systole/pjrt_abi/structs.def"
// NOLINTEND(cppcoreguidelines-macro-usage)

// Callers do not clear what a function sets. The kit fills it with these bytes.
inline constexpr unsigned char kNotSet = 0x5A;
template <class Field>
bool is_not_set(const Field& field) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&field);
  return std::all_of(bytes, bytes + sizeof(Field), [](unsigned char b) { return b == kNotSet; });
}

// Whether a function sets all that is not a pointer. Statistics have flags for what they set.
template <class Args>
inline constexpr bool kSetsAll = true;
template <>
inline constexpr bool kSetsAll<PJRT_Device_MemoryStats_Args> = false;

// An option of PJRT_Client_Create, as a string.
struct ClientOption {
  std::string name;
  std::string value;
};

struct Setup {
  std::string plugin;
  std::vector<ClientOption> options;
  std::string topology;  // of PJRT_TopologyDescription_Create
};

struct PluginError {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
};

// The library. Loaded once a process and never unloaded, as clients do.
class Host {
 public:
  // Errors: Failure if the library is no plugin.
  explicit Host(const Setup& setup);

  const PJRT_Api& api() const { return *api_; }
  const Setup& setup() const { return setup_; }
  int minor_version() const { return api_->pjrt_api_version.minor_version; }

  template <class Args>
  bool has() const {
    return FunctionOf<Args>::kOffset + sizeof(void*) <= api_->struct_size &&
           api_->*FunctionOf<Args>::kPlace != nullptr;
  }

  // Calls the function that takes Args. `set` sets the arguments. Returns them. Errors: Failure for
  // an error of the plugin, Absent if it is UNIMPLEMENTED or there is no such function.
  template <class Args, class Set>
  Args call(Set set) const {
    if (!has<Args>()) throw Absent{name<Args>()};
    return call_function(api_->*FunctionOf<Args>::kPlace, FunctionOf<Args>::kName, set);
  }

  // The same for a function of an extension.
  template <class Args, class Set>
  Args call_function(PJRT_Error* (*function)(Args*), std::string_view name, Set set) const {
    if (function == nullptr) throw Absent{std::string(name)};
    Args args = make<Args>();
    for_each_output(args, [](std::string_view, auto& field) {
      std::memset(static_cast<void*>(&field), kNotSet, sizeof(field));
    });
    set(args);
    if (PJRT_Error* const error = function(&args)) {
      const PluginError told = take(error);
      if (told.code == PJRT_Error_Code_UNIMPLEMENTED) throw Absent{std::string(name)};
      fail("{}: {}", name, told.message);
    }
    // Pointers may be left alone, as those to lists of no elements; so may fields that the plugin's
    // version does not have.
    if (!kSetsAll<Args> || minor_version() < PJRT_API_MINOR) return args;
    for_each_output(args, [&](std::string_view field, const auto& value) {
      if (std::is_pointer_v<std::remove_cvref_t<decltype(value)>>) return;
      expect(!is_not_set(value), "{}: '{}' was not set", name, field);
    });
    return args;
  }

  // Returns the plugin's extension of this type. Errors: Absent.
  template <class Extension>
  const Extension& extension(PJRT_Extension_Type type, std::string_view name) const {
    for (const PJRT_Extension_Base* at = api_->extension_start; at != nullptr; at = at->next) {
      if (at->type != type) continue;
      expect(at->struct_size >= pjrt_abi::kStructSize<Extension>,
             "size of the extension '{}', got {}", name, at->struct_size);
      return *reinterpret_cast<const Extension*>(at);
    }
    throw Absent{fmt::format("the extension '{}'", name)};
  }

  // Calls it and expects an error with a message. `why` says what is wrong with the arguments.
  template <class Args, class Set>
  PluginError refuses(std::string_view why, Set set) const {
    Args args = make<Args>();
    set(args);
    PJRT_Error* const error = start(args);
    expect(error != nullptr, "{} took {}", FunctionOf<Args>::kName, why);
    PluginError told = take(error);
    expect(!told.message.empty(), "{}: the error about {} has no message", FunctionOf<Args>::kName,
           why);
    return told;
  }

  // Calls the function with `args` as they are.
  template <class Args>
  PJRT_Error* start(Args& args) const {
    if (!has<Args>()) throw Absent{name<Args>()};
    return (api_->*FunctionOf<Args>::kPlace)(&args);
  }

  // Reads an error and destroys it.
  PluginError take(PJRT_Error* error) const;
  // Waits for an event and destroys it; returns its error, whose code is OK if there is none.
  PluginError wait(PJRT_Event* event) const;
  // Waits and expects no error.
  void await(PJRT_Event* event, std::string_view what) const;

 private:
  template <class Args>
  static std::string name() {
    return std::string(FunctionOf<Args>::kName);
  }

  Setup setup_;
  const PJRT_Api* api_ = nullptr;
};

// A handle that its owner destroys by the function that takes DestroyArgs, whose field `kField`
// names it.
template <class T, class DestroyArgs, T* DestroyArgs::*kField>
class Owned {
 public:
  Owned() = default;
  Owned(const Host& host, T* handle) : host_(&host), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : host_(other.host_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { reset(); }

  T* get() const { return handle_; }
  T* release() { return std::exchange(handle_, nullptr); }
  // Destroys it. An error of the plugin is left to the checks of destruction.
  void reset() noexcept {
    if (handle_ == nullptr) return;
    DestroyArgs args = make<DestroyArgs>();
    args.*kField = std::exchange(handle_, nullptr);
    (host_->api().*FunctionOf<DestroyArgs>::kPlace)(&args);
  }

 private:
  const Host* host_ = nullptr;
  T* handle_ = nullptr;
};

using Buffer = Owned<PJRT_Buffer, PJRT_Buffer_Destroy_Args, &PJRT_Buffer_Destroy_Args::buffer>;
using Loaded = Owned<PJRT_LoadedExecutable, PJRT_LoadedExecutable_Destroy_Args,
                     &PJRT_LoadedExecutable_Destroy_Args::executable>;
using Executable =
    Owned<PJRT_Executable, PJRT_Executable_Destroy_Args, &PJRT_Executable_Destroy_Args::executable>;
using Event = Owned<PJRT_Event, PJRT_Event_Destroy_Args, &PJRT_Event_Destroy_Args::event>;
using Topology = Owned<PJRT_TopologyDescription, PJRT_TopologyDescription_Destroy_Args,
                       &PJRT_TopologyDescription_Destroy_Args::topology>;
using TransferManager =
    Owned<PJRT_AsyncHostToDeviceTransferManager, PJRT_AsyncHostToDeviceTransferManager_Destroy_Args,
          &PJRT_AsyncHostToDeviceTransferManager_Destroy_Args::transfer_manager>;

// An array in host memory.
struct HostArray {
  PJRT_Buffer_Type type = PJRT_Buffer_Type_F32;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;

  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};
HostArray floats(std::vector<float> values);
HostArray matrix(int64_t rows, int64_t columns, std::vector<float> values);

// An array on its way to the device, and the event after which its memory is free.
struct Sent {
  Buffer buffer;
  Event done;
};

// How Client::run() runs a program.
struct RunOptions {
  PJRT_Device* device = nullptr;       // of a portable program
  std::span<const int64_t> kept = {};  // arguments that must not be donated
  bool waits = true;                   // for the end of the execution
};

// A client of the plugin, and what callers do with it all the time.
class Client {
 public:
  explicit Client(const Host& host);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Host& host() const { return *host_; }
  PJRT_Client* get() const { return client_; }
  // Destroys it. Errors: Failure.
  void destroy();

  std::vector<PJRT_Device*> devices() const;  // addressable
  PJRT_Device* device() const { return devices().at(0); }

  // Copies an array to the device and waits until the host's memory is free.
  Buffer put(const HostArray& array, PJRT_Device* device = nullptr) const;
  // Copies an array, whose memory the caller keeps as `semantics` say.
  Sent send(std::span<const float> data, PJRT_HostBufferSemantics semantics) const;
  HostArray get(PJRT_Buffer* buffer) const;
  std::vector<float> get_floats(PJRT_Buffer* buffer) const;

  // Compiles StableHLO text. Errors: Failure.
  Loaded compile(std::string_view text, const pjrt_abi::CompileOptions& options = {}) const;
  Executable executable(const Loaded& loaded) const;
  // Runs a program of one device on the arguments and returns its results.
  std::vector<Buffer> run(const Loaded& loaded, std::span<PJRT_Buffer* const> arguments,
                          size_t num_results = 1, const RunOptions& options = {}) const;
  // Runs a program of several devices: `arguments[d]` are those of device d. Returns the results by
  // device.
  std::vector<std::vector<Buffer>> run_on_all(
      const Loaded& loaded, const std::vector<std::vector<PJRT_Buffer*>>& arguments,
      size_t num_results = 1, bool waits = true) const;
  // The same, expecting an error.
  PluginError refuses_to_run(std::string_view why, const Loaded& loaded,
                             std::span<PJRT_Buffer* const> arguments, size_t num_results = 1) const;

 private:
  PJRT_Error* execute(const Loaded& loaded, std::span<PJRT_Buffer* const> arguments,
                      std::span<PJRT_Buffer*> results, PJRT_Event** event,
                      const RunOptions& run = {}) const;

  const Host* host_;
  PJRT_Client* client_ = nullptr;
};

// main(x, y) = x + y, of four floats.
inline constexpr std::string_view kSum = R"(module @sum {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";
// The same, written over x if x may be donated.
inline constexpr std::string_view kSumInPlace = R"(module @sum_in_place {
  func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";

// A check: what it does, and the functions that it is about.
struct Check {
  std::string_view name;       // "destroy a client while its buffers live"
  std::string_view functions;  // "PJRT_Client_Destroy PJRT_Buffer_Destroy"
  void (*run)(const Host& host);
};

// The checks, a family each.
std::span<const Check> table_checks();
std::span<const Check> client_checks();
std::span<const Check> buffer_checks();
std::span<const Check> transfer_checks();
std::span<const Check> compile_checks();
std::span<const Check> execute_checks();
std::span<const Check> thread_checks();
std::span<const Check> launch_checks();
std::span<const Check> pending_checks();
std::span<const Check> extension_checks();
std::span<const Check> profiler_checks();
std::span<const Check> topology_checks();
std::span<const Check> own_checks();

// Returns whether an event is ready, and the error of one that is.
bool is_ready(const Host& host, const Event& event);
Event ready_event(const Host& host, PJRT_Buffer* buffer);
std::string text_of(const char* text, size_t size);
// Bytes of an element on the host; 0 for types that the kit does not use.
size_t element_size(PJRT_Buffer_Type type);

}  // namespace systole::app::conform
