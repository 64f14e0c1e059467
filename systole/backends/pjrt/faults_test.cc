// Plugins that are absent, broken, of other versions, or fail in a call.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "systole/backends/pjrt/pjrt_backend.h"
#include "systole/backends/pjrt/plugin.h"
#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/stablehlo/text/text.h"

namespace systole::pjrt {
namespace {

namespace fs = std::filesystem;
using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

fs::path library_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib";
}

// Another text for the same library each time, so that it is taken for a new plugin.
std::string faulty_path() {
  static int count = 0;
  std::string path = library_folder().string();
  for (int i = ++count; i > 0; --i) path += "/.";
  return path + "/libsystole_pjrt_faulty.so";
}

// Sets the faults of the library. It has none at the end.
class Faults {
 public:
  Faults() : library_(dlopen(faulty_path().c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw not_found("{}", dlerror());
  }
  ~Faults() {
    fail("");
    announce(PJRT_API_MAJOR, PJRT_API_MINOR);
    hide_table(false);
    set_saving(true);
  }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  void fail(const char* function, Code code = Code::resource_exhausted) const {
    reinterpret_cast<void (*)(const char*, int)>(dlsym(library_, "faulty_fail"))(
        function, static_cast<int>(code));
  }
  // Whether the plugin has the functions that write and read programs.
  void set_saving(bool present) const {
    reinterpret_cast<void (*)(bool)>(dlsym(library_, "faulty_set_saving"))(present);
  }
  void announce(int major, int minor, size_t size = PJRT_Api_STRUCT_SIZE,
                size_t version_size = PJRT_Api_Version_STRUCT_SIZE) const {
    reinterpret_cast<void (*)(int, int, size_t, size_t)>(dlsym(library_, "faulty_announce"))(
        major, minor, size, version_size);
  }
  int64_t calls(const char* function) const {
    return reinterpret_cast<int64_t (*)(const char*)>(dlsym(library_, "faulty_calls"))(function);
  }
  void hide_table(bool hidden) const {
    reinterpret_cast<void (*)(bool)>(dlsym(library_, "faulty_hide_table"))(hidden);
  }

 private:
  void* library_;
};

std::string load_error(const std::string& path) {
  return error_of([&] { Plugin::load(path); });
}

class TestFile {
 public:
  TestFile(const std::string& name, const std::string& bytes)
      : path_(fs::temp_directory_path() / fmt::format("systole_{}_{}", ::getpid(), name)) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TestFile() { fs::remove(path_); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

TEST(PjrtFaults, NamesFilesThatAreNoPlugins) {
  EXPECT_THAT(load_error("/nowhere/libtpu.so"),
              AllOf(StartsWith("NOT_FOUND"), HasSubstr("'/nowhere/libtpu.so': no such file")));
  const TestFile text("text.so", "not a library");
  EXPECT_THAT(load_error(text.path()),
              AllOf(StartsWith("FAILED_PRECONDITION"), HasSubstr(text.path()),
                    HasSubstr("cannot be loaded on this machine")));
  // The same library for another architecture: e_machine of its ELF header is that of AArch64.
  std::ifstream own(library_folder() / "libsystole_pjrt.so", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(own), {}};
  bytes[18] = static_cast<char>(0xB7);
  const TestFile foreign("foreign.so", bytes);
  EXPECT_THAT(load_error(foreign.path()),
              AllOf(StartsWith("FAILED_PRECONDITION"), HasSubstr(foreign.path()),
                    HasSubstr("cannot be loaded on this machine")));
  EXPECT_THAT(load_error("libm.so.6"), HasSubstr("no function GetPjrtApi"));
}

TEST(PjrtFaults, ChecksVersionsAndSizes) {
  const Faults faults;
  faults.hide_table(true);
  EXPECT_THAT(load_error(faulty_path()), HasSubstr("GetPjrtApi returned NULL"));
  faults.hide_table(false);
  faults.announce(1, 0);
  EXPECT_THAT(load_error(faulty_path()),
              HasSubstr("version of the PJRT API, got 1.0, expected 0.x"));
  faults.announce(0, 10, 400);
  EXPECT_THAT(load_error(faulty_path()),
              HasSubstr("size of PJRT_Api, got 400, expected at least 760"));
  faults.announce(0, 112, PJRT_Api_STRUCT_SIZE, 16);
  EXPECT_THAT(load_error(faulty_path()), HasSubstr("size of PJRT_Api_Version, got 16"));
}

TEST(PjrtFaults, NamesWhereAPluginIsLookedFor) {
  EXPECT_THAT(error_of([] { find_plugin("abacus"); }),
              AllOf(StartsWith("NOT_FOUND"), HasSubstr("'abacus'"), HasSubstr("systole"),
                    HasSubstr("PJRT_NAMES_AND_LIBRARY_PATHS")));
  EXPECT_THAT(error_of([] { find_plugin(""); }), HasSubstr("SYSTOLE_PJRT_PLUGIN"));
  setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "abacus:/lib/abacus.so,cuda:/lib/cuda.so", 1);
  setenv("SYSTOLE_PJRT_PLUGIN", "cuda", 1);
  EXPECT_EQ(find_plugin("abacus"), "/lib/abacus.so");
  EXPECT_EQ(find_plugin(""), "/lib/cuda.so");
  setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "abacus", 1);
  EXPECT_THAT(error_of([] { find_plugin("abacus"); }), HasSubstr("expected name:path"));
  unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
  unsetenv("SYSTOLE_PJRT_PLUGIN");
}

constexpr std::string_view kSum = R"(
func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
})";

const Tensor& row() {
  static const Tensor value = Tensor::of<float>({4}, {1, 2, 3, 4});
  return value;
}

// Calls every function of a plugin that a client uses.
void use_plugin(const std::string& path) {
  const auto client = make_client({{"plugin", path}});
  const auto program = client->compile(*hlo::parse(kSum));
  program->optimized_program();
  client->deserialize(program->serialize());
  const auto x = client->buffer_from_host(row());
  x->ready().wait();
  std::unique_ptr<runtime::Buffer> sum;
  program->execute({{{.buffer = x.get()}}}, {{{.device = &sum}}}).wait();
  if (!sum->to_host().identical(Tensor::of<float>({4}, {2, 4, 6, 8}))) throw internal_error("sum");
  static_cast<void>(client->memory_stats(0));
}

TEST(PjrtFaults, RunsOnOlderAndNewerPlugins) {
  const Faults faults;
  // Without the functions that were added since 0.28, which are those that only describe programs.
  faults.announce(0, 28, offsetof(PJRT_Api, PJRT_Compile) + sizeof(void*));
  EXPECT_EQ(error_of([] { use_plugin(faulty_path()); }), "no error");
  // The table of a later version is longer.
  faults.announce(0, 200, PJRT_Api_STRUCT_SIZE + 64);
  EXPECT_EQ(error_of([] { use_plugin(faulty_path()); }), "no error");
}

TEST(PjrtFaults, ReportsAFailureOfEachFunction) {
  const Faults faults;
  const std::string path = faulty_path();
  EXPECT_EQ(error_of([&] { use_plugin(path); }), "no error");
  for (const char* const function : {"PJRT_Client_Create",
                                     "PJRT_Client_PlatformName",
                                     "PJRT_Client_PlatformVersion",
                                     "PJRT_Client_AddressableDevices",
                                     "PJRT_Device_GetDescription",
                                     "PJRT_DeviceDescription_Id",
                                     "PJRT_DeviceDescription_ProcessIndex",
                                     "PJRT_DeviceDescription_Kind",
                                     "PJRT_DeviceDescription_Attributes",
                                     "PJRT_Device_MemoryStats",
                                     "PJRT_Plugin_Attributes",
                                     "PJRT_Client_Compile",
                                     "PJRT_LoadedExecutable_GetExecutable",
                                     "PJRT_Executable_NumOutputs",
                                     "PJRT_Executable_GetCostAnalysis",
                                     "PJRT_Executable_GetCompiledMemoryStats",
                                     "PJRT_Executable_OptimizedProgram",
                                     "PJRT_Executable_Serialize",
                                     "PJRT_Executable_DeserializeAndLoad",
                                     "PJRT_Client_BufferFromHostBuffer",
                                     "PJRT_Buffer_ReadyEvent",
                                     "PJRT_Event_IsReady",
                                     "PJRT_Event_Error",
                                     "PJRT_LoadedExecutable_Execute",
                                     "PJRT_Buffer_GetMemoryLayout",
                                     "PJRT_Buffer_ToHostBuffer"}) {
    faults.fail(function);
    EXPECT_THAT(error_of([&] { use_plugin(path); }),
                AllOf(StartsWith("RESOURCE_EXHAUSTED"),
                      HasSubstr(fmt::format("injected into {}", function))))
        << function;
    faults.fail("");
    EXPECT_EQ(error_of([&] { use_plugin(path); }), "no error") << "after " << function;
  }
  faults.fail("PJRT_Plugin_Initialize");
  EXPECT_THAT(load_error(faulty_path()), HasSubstr("injected into PJRT_Plugin_Initialize"));
}

TEST(PjrtFaults, SaysThatAPluginDoesNotSavePrograms) {
  const Faults faults;
  const auto client = make_client({{"plugin", faulty_path()}});
  const auto program = client->compile(*hlo::parse(kSum));
  const std::string bytes = program->serialize();
  faults.fail("PJRT_Executable_Serialize", Code::unimplemented);
  EXPECT_THAT(error_of([&] { program->serialize(); }),
              AllOf(StartsWith("UNIMPLEMENTED: systole: PJRT_Executable_Serialize"),
                    HasSubstr("does not write its programs")));
  faults.fail("PJRT_Executable_DeserializeAndLoad", Code::unimplemented);
  EXPECT_THAT(error_of([&] { client->deserialize(bytes); }),
              StartsWith("UNIMPLEMENTED: PJRT_Executable_DeserializeAndLoad"));
  faults.fail("");
  faults.set_saving(false);
  EXPECT_THAT(error_of([&] { program->serialize(); }),
              AllOf(StartsWith("UNIMPLEMENTED"), HasSubstr("does not write its programs")));
  EXPECT_THAT(error_of([&] { client->deserialize(bytes); }),
              AllOf(StartsWith("UNIMPLEMENTED"), HasSubstr("does not read programs")));
}

TEST(PjrtFaults, ReadsProgramsOfTheSamePluginAndDevices) {
  const Faults faults;
  const std::string path = faulty_path();
  const auto client = make_client({{"plugin", path + "?cores=2"}});
  const auto program = client->compile(*hlo::parse(kSum), {.device_assignment = {1}});
  const std::string bytes = program->serialize();
  EXPECT_THAT(error_of([&] {
                make_client({{"plugin", path}})->deserialize(bytes);
              }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("device")));
  EXPECT_THAT(error_of([&] {
                make_client({{"plugin", path + "?cores=2&core_kind=abacus"}})->deserialize(bytes);
              }),
              AllOf(StartsWith("DATA_LOSS"), HasSubstr("compiled program, got one for 'systole"),
                    HasSubstr("abacus")));
  const auto again = make_client({{"plugin", path + "?cores=2"}})->deserialize(bytes);
  EXPECT_TRUE(runtime::run(*again, {{row()}})[0].identical(Tensor::of<float>({4}, {2, 4, 6, 8})));
}

// Nobody waits for the end of these: the log tells.
TEST(PjrtFaults, LogsFailuresOfDestruction) {
  const Faults faults;
  const std::string path = faulty_path();
  for (const char* const function :
       {"PJRT_Buffer_Destroy", "PJRT_Event_Destroy", "PJRT_Executable_Destroy",
        "PJRT_LoadedExecutable_Destroy", "PJRT_Client_Destroy"}) {
    const LogCapture log;
    faults.fail(function);
    EXPECT_EQ(error_of([&] { use_plugin(path); }), "no error") << function;
    EXPECT_THAT(log.messages(), Contains(HasSubstr(fmt::format("injected into {}", function))));
  }
}

TEST(PjrtFaults, CopiesNothingBetweenLaunches) {
  const Faults faults;
  const auto client = make_client({{"plugin", faulty_path() + "?cores=2"}});
  const std::string step = R"(
func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>)
    -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
})";
  const auto program = client->compile(*hlo::parse(step),
                                       {.num_replicas = 2, .replicated_parameters = {true, true}});
  // The variable is on the first device until the first launch copies it to both.
  const auto variable = client->buffer_from_host(row());
  const int devices[] = {0, 1};
  const auto one = client->buffer_from_host(row(), {.device_ids = devices});
  const auto run = [&] {
    program->execute({{{.buffer = variable.get(), .donate = true}, {.buffer = one.get()}}}, {{{}}})
        .wait();
  };
  run();
  const auto copies = [&] {
    return faults.calls("PJRT_Buffer_ToHostBuffer") +
           faults.calls("PJRT_Client_BufferFromHostBuffer");
  };
  const int64_t before = copies();
  for (int i = 0; i < 5; ++i) run();
  EXPECT_EQ(copies(), before);
  EXPECT_TRUE(variable->to_host().identical(Tensor::of<float>({4}, {7, 14, 21, 28})));
}

TEST(PjrtFaults, LeavesTheErrorOfALaunchInItsBuffers) {
  const Faults faults;
  const auto client = make_client({{"plugin", faulty_path()}});
  const auto program = client->compile(*hlo::parse(kSum));
  const auto x = client->buffer_from_host(row());
  faults.fail("PJRT_LoadedExecutable_Execute");
  std::unique_ptr<runtime::Buffer> sum;
  const runtime::Event done =
      program->execute({{{.buffer = x.get(), .donate = true}}}, {{{.device = &sum}}});
  faults.fail("");
  ASSERT_NE(done.error(), nullptr);
  EXPECT_EQ(done.error()->code(), Code::resource_exhausted);
  EXPECT_THAT(error_of([&] { x->to_host(); }), HasSubstr("injected"));
  EXPECT_THAT(error_of([&] { sum->to_host(); }), HasSubstr("injected"));
  const runtime::Event next = program->execute({{{.buffer = x.get()}}}, {{{.device = &sum}}});
  ASSERT_NE(next.error(), nullptr) << "it reads a buffer with an error";
}

}  // namespace
}  // namespace systole::pjrt
