// What we print is MLIR to MLIR's own tool, and what that prints of it means the same to us.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "apps/systole/hlo/programs.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/hlo/ir/opcode.h"
#include "systole/hlo/semantics/example_program.h"
#include "systole/stablehlo/text/text.h"

namespace systole::app {
namespace {

using systole::testing::TempFolder;

std::string print_all(const std::vector<std::unique_ptr<hlo::Module>>& modules,
                      const hlo::PrintOptions& options) {
  std::string text;
  for (const auto& module : modules) {
    if (!text.empty()) text.append("\n// -----\n\n");
    text.append(print(*module, options));
  }
  return text;
}

// Attributes that are not ours are kept as they were written, and `3` is `3 : i64` to MLIR.
std::string without_default_types(std::string text) {
  constexpr std::string_view kType = " : i64";
  for (size_t at = 0; (at = text.find(kType, at)) != std::string::npos;)
    text.erase(at, kType.size());
  return text;
}

// The smallest program of every opcode on every element type that it takes.
std::vector<std::unique_ptr<hlo::Module>> every_opcode() {
  std::vector<std::unique_ptr<hlo::Module>> modules;
  // Types that are younger than the MLIR of the test.
  const std::set<DType> newer = {DType::f4e2m1fn, DType::f8e3m4, DType::f8e4m3, DType::f8e8m0fnu};
  for (int opcode = 0; opcode < hlo::kNumOpcodes; ++opcode) {
    for (int dtype = 0; dtype < kNumDTypes; ++dtype) {
      if (newer.contains(static_cast<DType>(dtype))) continue;
      const std::string text =
          hlo::example_program(static_cast<hlo::Opcode>(opcode), static_cast<DType>(dtype));
      if (text.empty() || !is_numeric(static_cast<DType>(dtype))) continue;
      try {
        for (auto& module : parse_programs(text, "support")) modules.push_back(std::move(module));
      } catch (const Error&) {
        // Not a type of this op.
      }
    }
  }
  return modules;
}

// The programs of tests/conformance: attributes, regions and constants in many forms.
std::vector<std::unique_ptr<hlo::Module>> conformance_programs() {
  std::vector<std::unique_ptr<hlo::Module>> modules;
  for (const auto& entry : std::filesystem::directory_iterator("tests/conformance/stablehlo")) {
    if (entry.path().extension() != ".mlir") continue;
    for (auto& module : hlo::parse_all(read_text(entry.path()), entry.path().string()))
      modules.push_back(std::move(module));
  }
  return modules;
}

class MlirOptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v mlir-opt-19 > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "mlir-opt-19 is not installed (package mlir-19-tools)";
  }

  // The text as MLIR prints it in its generic form.
  std::string through_mlir(const std::string& text) {
    std::ofstream(folder_ / "ours.mlir") << text;
    const std::string command =
        "mlir-opt-19 --allow-unregistered-dialect --split-input-file "
        "--mlir-print-op-generic --mlir-print-debuginfo ";
    const std::string files = folder_ / "ours.mlir" + " -o " + (folder_ / "theirs.mlir");
    EXPECT_EQ(std::system((command + files + " 2> " + (folder_ / "errors")).c_str()), 0)
        << read_text(folder_ / "errors").substr(0, 2000);
    return read_text(folder_ / "theirs.mlir");
  }

  void expect_round_trip(const std::vector<std::unique_ptr<hlo::Module>>& modules,
                         const hlo::PrintOptions& options) {
    ASSERT_GT(modules.size(), 10U);
    const std::string theirs = through_mlir(print_all(modules, options));
    EXPECT_EQ(without_default_types(print_all(hlo::parse_all(theirs, "theirs.mlir"), options)),
              without_default_types(print_all(modules, options)));
  }

 private:
  TempFolder folder_;
};

TEST_F(MlirOptTest, EveryOpcode) { expect_round_trip(every_opcode(), {}); }
TEST_F(MlirOptTest, EveryOpcodeWithLocations) {
  expect_round_trip(every_opcode(), {.locations = true});
}
TEST_F(MlirOptTest, ConformancePrograms) { expect_round_trip(conformance_programs(), {}); }
TEST_F(MlirOptTest, ConstantsAsHexStrings) {
  expect_round_trip(conformance_programs(), {.max_literal_elements = 1});
}

}  // namespace
}  // namespace systole::app
