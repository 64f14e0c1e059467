// Programs that cost a careless compiler time, memory or its stack, and options out of range.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/base/testing/sanitized.h"
#include "systole/hlo/testing/bombs.h"
#include "systole/runtime/host_client.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::testing::error_of;
using systole::testing::kSanitized;
using ::testing::HasSubstr;

// Bytes of "VmRSS", "VmHWM" (the most that was), and so on.
int64_t process_number(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
  }
  return -1;
}

// The most memory that `action` took beyond what the process had, in bytes; 0 where it cannot be
// known.
int64_t peak_bytes(const std::function<void()>& action) {
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM = VmRSS
  const int64_t before = process_number("VmRSS");
  action();
  return (process_number("VmHWM") - before) * 1024;
}

// What docs/stablehlo.md promises of the compiler.
int64_t promised_bytes(const std::string& program) {
  return (int64_t{64} << 20) + int64_t{1000} * static_cast<int64_t>(program.size());
}

// Compiles in a space that is a few times that of the promise, and returns the error.
std::string compile_within_promise(const std::string& text) {
  testing::client().compile(*hlo::parse(hlo::testing::chain_of_ops(1)));  // loads LLVM
  std::string error;
  const int64_t bytes =
      peak_bytes([&] { error = error_of([&] { testing::client().compile(*hlo::parse(text)); }); });
  if (!kSanitized) {
    EXPECT_LE(bytes, promised_bytes(text)) << text.substr(0, 400);
  }
  return error;
}

TEST(HostilePrograms, AreRefusedWithinThePromisedMemory) {
  EXPECT_THAT(compile_within_promise(hlo::testing::doubling_calls(40)),
              HasSubstr("RESOURCE_EXHAUSTED: inline_calls"));
  EXPECT_THAT(compile_within_promise(hlo::testing::doubling_calls(40, true)),
              HasSubstr("RESOURCE_EXHAUSTED: inline_calls"));
  EXPECT_THAT(compile_within_promise(hlo::testing::loops_in_calls(40, 50)),
              HasSubstr("RESOURCE_EXHAUSTED: while: regions"));
}

TEST(HostilePrograms, CompileWithinThePromisedMemory) {
  const int scale = kSanitized ? 10 : 1;
  EXPECT_EQ("no error", compile_within_promise(hlo::testing::chain_of_ops(20000 / scale)));
  EXPECT_EQ("no error", compile_within_promise(hlo::testing::fan_out(6000 / scale)));
  EXPECT_EQ("no error", compile_within_promise(hlo::testing::nested_loops(20)));
  EXPECT_EQ("no error", compile_within_promise(hlo::testing::doubling_concatenations(28)));
  EXPECT_EQ("no error", compile_within_promise(hlo::testing::foldable_constants(500, 1 << 16)));
  EXPECT_EQ("no error",
            compile_within_promise(hlo::testing::sort_with_long_comparator(2000 / scale, false)));
  EXPECT_EQ("no error", compile_within_promise(hlo::testing::sort_with_long_comparator(60, true)));
}

TEST(HostilePrograms, CompileOnASmallStack) {
  testing::client();
  const size_t stack = (kSanitized ? 8 : 1) << 20;
  const auto compile = [&](const std::string& text) {
    return hlo::testing::on_stack_of(stack, [&] { testing::client().compile(*hlo::parse(text)); });
  };
  EXPECT_EQ("", compile(hlo::testing::chain_of_calls(5000)));
  EXPECT_EQ("", compile(hlo::testing::nested_loops(60)));
  EXPECT_EQ("", compile(hlo::testing::loops_in_calls(2, 60)));
  EXPECT_EQ("", compile(hlo::testing::sort_with_long_comparator(3000, false)));
}

TEST(HostileOptions, AreRefusedByNumber) {
  const auto module = hlo::parse(hlo::testing::chain_of_ops(1));
  const auto error = [&](const runtime::CompileOptions& options) {
    return error_of([&] { runtime::client("cpu").compile(*module, options); });
  };
  const int most = runtime::max_threads();
  EXPECT_THAT(error({.num_threads = most + 1}),
              HasSubstr(fmt::format("INVALID_ARGUMENT: cpu: num_threads, got {}, expected 0 to {}",
                                    most + 1, most)));
  EXPECT_THAT(error({.num_threads = 100000}), HasSubstr("num_threads, got 100000"));
  EXPECT_THAT(error({.num_replicas = 2147483647}),
              HasSubstr("num_replicas, got 2147483647, expected 1 to 2048"));
  EXPECT_THAT(error({.num_partitions = 2147483647}), HasSubstr("num_partitions, got 2147483647"));
  EXPECT_THAT(error({.device_assignment = std::vector<int>(100000)}),
              HasSubstr("device_assignment, got 100000 devices, expected 1"));
  EXPECT_THAT(error({.device_assignment = {2147483647}}), HasSubstr("device, got 2147483647"));
}

TEST(HostileOptions, PoolsOfThreadsLiveAsLongAsTheirPrograms) {
  const auto module = hlo::parse(hlo::testing::chain_of_ops(1));
  testing::client().compile(*module);
  const int64_t before = process_number("Threads");
  for (int threads = 20; threads < 30; ++threads) {
    const auto program = testing::client().compile(*module, {.num_threads = threads});
    EXPECT_LE(process_number("Threads"), before + threads);
  }
  EXPECT_EQ(process_number("Threads"), before);
}

TEST(HostileOptions, PoolsOfThreadsAreLimitedTogether) {
  const auto module = hlo::parse(hlo::testing::chain_of_ops(1));
  std::vector<std::unique_ptr<runtime::Executable>> programs;
  const auto fill = [&] {
    for (int threads = runtime::max_threads(); threads > 2; --threads) {
      programs.push_back(testing::client().compile(*module, {.num_threads = threads}));
    }
  };
  EXPECT_THAT(error_of(fill), HasSubstr("RESOURCE_EXHAUSTED: cpu: threads of all programs, got "));
  programs.clear();
  testing::client().compile(*module, {.num_threads = runtime::max_threads()});
}

}  // namespace
}  // namespace systole::cpu
