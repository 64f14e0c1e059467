// Programs of jax.export, with inputs and the outputs of the platform that they were exported for
// (../shared/golden/jax_export).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "systole/base/error.h"
#include "systole/hlo/bytecode/bytecode.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npy.h"
#include "systole/runtime/client.h"
#include "systole/runtime/registry.h"

namespace systole::conformance {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The arrays <stem>.<kind>0.npy, <stem>.<kind>1.npy...
std::vector<Tensor> arrays(const fs::path& program, std::string_view kind) {
  std::vector<Tensor> result;
  for (int i = 0;; ++i) {
    fs::path path = program;
    path.replace_extension(fmt::format("{}{}.npy", kind, i));
    if (!fs::exists(path)) return result;
    result.push_back(read_npy(default_file_system(), path.string()));
  }
}

std::vector<std::string> targets(const fs::path& program) {
  fs::path path = program;
  path.replace_extension("json");
  return nlohmann::json::parse(contents(path)).at("custom_call_targets");
}

void run_and_compare(const fs::path& program) {
  const auto module = hlo::read_bytecode(contents(program), program.string());
  const auto executable = runtime::client("cpu").compile(*module);
  const std::vector<Tensor> results = runtime::run(*executable, arrays(program, "in"));
  const std::vector<Tensor> expected = arrays(program, "out");
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(hlo::testing::difference(results[i], expected[i], 0), "") << "result " << i;
  }
}

// The programs whose custom calls only place values run. The others are refused by the name of a
// target, or as those of unknown shapes or of several devices.
TEST(JaxExport, RunsOnTheCpu) {
  const fs::path folder = "../shared/golden/jax_export";
  if (!fs::exists(folder)) GTEST_SKIP() << "the folder " << folder << " is absent";
  int ran = 0;
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".mlirbc") continue;
    SCOPED_TRACE(entry.path());
    try {
      run_and_compare(entry.path());
      ++ran;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unimplemented);
      const std::string& message = error.message();
      const auto is_named = [&](const std::string& target) {
        return message.find(fmt::format("'{}'", target)) != std::string::npos;
      };
      EXPECT_TRUE(std::ranges::any_of(targets(entry.path()), is_named) ||
                  message.find("got a dynamic size") != std::string::npos ||
                  message.find("exported for several devices") != std::string::npos)
          << message;
      ++refused;
    }
  }
  EXPECT_EQ(ran, 5);
  EXPECT_EQ(refused, 43);
}

}  // namespace
}  // namespace systole::conformance
