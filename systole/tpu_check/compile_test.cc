// Programs that a library which stands for libtpu takes, refuses, crashes on or never finishes.
#include "systole/tpu_check/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tpu_check/find_libtpu.h"

namespace systole::tpu_check {
namespace {

namespace fs = std::filesystem;
using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string fake_path() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / "lib/libsystole_fake_libtpu.so").string();
}

// Files of compilers go to a folder of this test.
class Compile : public ::testing::Test {
 protected:
  Compile() {
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
    ::setenv("SYSTOLE_CACHE_DIR", "", 1);
  }
  ~Compile() override { ::unsetenv("TMPDIR"); }

  CompileOptions options() const {
    return {.system = "v3-8", .library = fake_path(), .max_seconds = 60};
  }
  CompileReport compile(const std::string& program) const {
    return tpu_check::compile(program, "nets/m.mlir", options());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }

  TempFolder folder_;
};

TEST_F(Compile, tells_bytes_cycles_and_lines) {
  const CompileReport report = compile("module @m {}");
  EXPECT_EQ(report.verdict, Verdict::fits);
  EXPECT_EQ(report.total, 16384);
  EXPECT_EQ(report.limit, 16624107520);
  EXPECT_EQ(report.arguments, 4096);
  EXPECT_EQ(report.temporaries, 8192);
  // The loop runs ten times.
  EXPECT_EQ(report.cycles, 9400 + 10 * 100);
  EXPECT_NEAR(report.seconds(), 10400 / 0.94e9, 1e-9);
  ASSERT_EQ(report.longest.size(), 2U);
  EXPECT_EQ(report.longest[0].source, "'dense/MatMul' at net.cc:41");
  EXPECT_EQ(report.longest[0].kind, "fusion:Output");
  EXPECT_EQ(report.longest[1].source, "'jit(step)/add' at m.mlir:4");
  EXPECT_EQ(report.longest[1].times, 10);
  ASSERT_EQ(report.largest.size(), 2U);
  EXPECT_EQ(report.largest[0].bytes, 8192);
  EXPECT_EQ(report.largest[0].type, "f32[8,128]");
  EXPECT_EQ(report.largest[0].source, "'dense/MatMul' at net.cc:41");
  EXPECT_THAT(report.to_string(),
              AllOf(HasSubstr("for v3-8"), HasSubstr("fits: 16.0 KiB of 15.5 GiB"),
                    HasSubstr("net.cc:41"), HasSubstr("10 times")));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Compile, tells_what_does_not_fit) {
  const CompileReport report = compile("// fake: too big");
  EXPECT_EQ(report.verdict, Verdict::too_big);
  EXPECT_EQ(report.total, 20000000000);
  EXPECT_EQ(report.largest.size(), 2U);
  EXPECT_THAT(report.to_string(), HasSubstr("does not fit: 18.6 GiB of 15.5 GiB"));
}

TEST_F(Compile, repeats_the_words_of_a_refusal) {
  const CompileReport report = compile("// fake: refuse");
  EXPECT_EQ(report.verdict, Verdict::refused);
  EXPECT_EQ(report.message,
            "Custom emitter for my_kernel not found Suspected Python Code Location: m.mlir:3");
  EXPECT_THAT(compile("// fake: lock").message, HasSubstr("lockfile"));
}

TEST_F(Compile, survives_a_crash) {
  const CompileReport report = compile("// fake: crash");
  EXPECT_EQ(report.verdict, Verdict::crashed);
  EXPECT_THAT(report.message,
              AllOf(HasSubstr("SIGABRT while compiling"), HasSubstr("check failed: element type")));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Compile, ends_at_the_time_limit) {
  CompileOptions wanted = options();
  wanted.max_seconds = 0.2;
  const CompileReport report = tpu_check::compile("// fake: hang", "m.mlir", wanted);
  EXPECT_EQ(report.verdict, Verdict::out_of_time);
  EXPECT_THAT(report.to_string(), HasSubstr("--time-limit"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Compile, ends_with_an_error_of_the_callers) {
  CompileOptions wanted = options();
  wanted.progress = [](double) { throw make_error(Code::cancelled, "enough"); };
  EXPECT_EQ(error_of([&] { tpu_check::compile("// fake: hang", "m.mlir", wanted); }),
            "CANCELLED: enough");
  EXPECT_THAT(files(), IsEmpty());
}

// A process that compiles and gets a signal, as Ctrl-C sends it to all that run in front.
TEST_F(Compile, leaves_nothing_behind_a_signal) {
  for (const int signal : {SIGINT, SIGKILL}) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::setpgid(0, 0);
      compile("// fake: hang");
      ::_exit(0);
    }
    for (int i = 0; i < 200 && files().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    ASSERT_FALSE(files().empty());
    // SIGKILL only to the caller: its children notice.
    ::kill(signal == SIGINT ? -process : process, signal);
    ::waitpid(process, nullptr, 0);
    for (int i = 0; i < 200 && !files().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    EXPECT_THAT(files(), IsEmpty());
  }
}

TEST_F(Compile, saves_the_executable) {
  CompileOptions wanted = options();
  wanted.save = folder_.path() + "/step.tpu";
  const CompileReport report = tpu_check::compile("module @m {}", "m.mlir", wanted);
  EXPECT_EQ(report.saved, wanted.save);
  EXPECT_EQ(read_file(default_file_system(), wanted.save), "a program for v3:2x2");
  // Before minutes of work.
  wanted.save = folder_.path() + "/none/step.tpu";
  EXPECT_THAT(error_of([&] { tpu_check::compile("// fake: hang", "m.mlir", wanted); }),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("/none/step.tpu")));
}

TEST_F(Compile, keeps_verdicts) {
  const TempFolder cache;
  ::setenv("SYSTOLE_CACHE_DIR", (cache.path() + "/systole").c_str(), 1);
  const CompileReport first = compile("module @m {}");
  const CompileReport second = compile("module @m {}");
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.cycles, first.cycles);
  EXPECT_EQ(second.longest[1].source, first.longest[1].source);
  EXPECT_FALSE(compile("module @other {}").cached);
  // Reports name the file.
  EXPECT_FALSE(tpu_check::compile("module @m {}", "other.mlir", options()).cached);
  EXPECT_FALSE(compile("// fake: crash").cached);
  EXPECT_FALSE(compile("// fake: crash").cached);
  ::setenv("SYSTOLE_CACHE_DIR", "", 1);
}

TEST_F(Compile, names_what_is_no_libtpu) {
  CompileOptions wanted = options();
  const auto error = [&] { return error_of([&] { tpu_check::compile("", "m.mlir", wanted); }); };
  wanted.library = folder_.path() + "/libtpu.so";
  EXPECT_THAT(error(), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("no such file"),
                             HasSubstr("pip install libtpu")));
  write_file_atomically(default_file_system(), wanted.library, "no library");
  EXPECT_THAT(error(), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("cannot be loaded")));
  wanted.library = "/lib/x86_64-linux-gnu/libm.so.6";
  if (fs::exists(wanted.library)) {
    EXPECT_THAT(error(), HasSubstr("no function GetPjrtApi"));
  }
}

// Another platform's plugin, and a libtpu of another age.
TEST_F(Compile, names_other_plugins) {
  const auto error = [&] { return error_of([&] { compile("module @m {}"); }); };
  ::setenv("FAKE_LIBTPU_PLATFORM", "cuda", 1);
  EXPECT_THAT(error(), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr(fake_path()),
                             HasSubstr("compiles for the platform 'cuda'")));
  ::unsetenv("FAKE_LIBTPU_PLATFORM");
  ::setenv("FAKE_LIBTPU_MAJOR", "7", 1);
  EXPECT_THAT(error(),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("version of the PJRT API, got 7."),
                    HasSubstr("expected 0.x")));
  ::unsetenv("FAKE_LIBTPU_MAJOR");
  EXPECT_EQ(error(), "no error");
}

TEST_F(Compile, names_what_is_no_tpu) {
  CompileOptions wanted = options();
  const auto error = [&] { return error_of([&] { tpu_check::compile("", "m.mlir", wanted); }); };
  wanted.system = "v5e-4";
  EXPECT_THAT(error(), AllOf(HasSubstr("'v5e:2x2' of v5e-4"), HasSubstr("not divisible")));
  wanted.system = "v3-8";
  wanted.replicas = 16;
  wanted.partitions = 1;
  EXPECT_THAT(tpu_check::compile("", "m.mlir", wanted).message, HasSubstr("for 16 devices"));
}

TEST_F(Compile, takes_a_module) {
  const auto module = hlo::parse(
      "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }");
  EXPECT_TRUE(tpu_check::compile(*module, options()).fits());
}

TEST(FindLibtpu, looks_where_it_is_installed) {
  const TempFolder folder;
  const std::string packages = folder.path() + "/lib/python3.11/site-packages";
  fs::create_directories(packages + "/libtpu");
  fs::create_directories(packages + "/libtpu-0.0.42.1.dist-info");
  const std::string library = packages + "/libtpu/libtpu.so";
  write_file_atomically(default_file_system(), library, "");
  ::unsetenv("TPU_LIBRARY_PATH");
  ::unsetenv("CONDA_PREFIX");
  ::unsetenv("VIRTUAL_ENV");
  EXPECT_THAT(error_of([] { find_libtpu(""); }),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("pip install libtpu==")));
  ::setenv("VIRTUAL_ENV", folder.path().c_str(), 1);
  EXPECT_EQ(find_libtpu("").path, library);
  EXPECT_EQ(find_libtpu("").version, "0.0.42.1");
  ::unsetenv("VIRTUAL_ENV");
  EXPECT_EQ(find_libtpu(packages + "/libtpu").path, library);
  ::setenv("TPU_LIBRARY_PATH", "/no/such/libtpu.so", 1);
  EXPECT_THAT(error_of([] { find_libtpu(""); }), HasSubstr("TPU_LIBRARY_PATH"));
  ::unsetenv("TPU_LIBRARY_PATH");
}

}  // namespace
}  // namespace systole::tpu_check
