// systole check with a library that stands for Google's compiler, and its errors for bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "systole/base/testing/temp_folder.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kProgram =
    "func.func public @main(%0: tensor<8x128xf32>) -> tensor<8x128xf32> {\n"
    "  %1 = stablehlo.tanh %0 : tensor<8x128xf32>\n"
    "  return %1 : tensor<8x128xf32>\n}\n";

class CheckCommands : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  // With the fake libtpu, for a v3-8.
  static ProgramResult check(const std::string& words) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    const auto library = program.parent_path().parent_path() / "lib/libsystole_fake_libtpu.so";
    return run_program("systole check " + words + " --compile v3-8 --tpu-library " +
                       library.string());
  }

  const TempFolder folder_;
};

TEST_F(CheckCommands, AskTheCompilerOfModels) {
  for (const char* name : {"digits", "iris"}) {
    const ProgramResult result = check("examples/configs/" + std::string(name) + ".yaml");
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_THAT(result.output, AllOf(HasSubstr("memory of a core: "), HasSubstr("of 15.5 GiB"),
                                     HasSubstr("Google's compiler (libtpu), for v3-8"),
                                     HasSubstr("fits: 16.0 KiB"), HasSubstr("largest arrays"),
                                     HasSubstr("net.cc:41")));
  }
}

TEST_F(CheckCommands, PrintOneJsonObject) {
  const ProgramResult model = check("examples/configs/iris.yaml --json --quiet");
  const auto of_model = nlohmann::json::parse(model.output);
  EXPECT_EQ(of_model["ok"], true);
  EXPECT_EQ(of_model["compiler"]["verdict"], "fits");
  EXPECT_EQ(of_model["estimate"]["system"], "v3-8");
  EXPECT_GT(of_model["memory"]["total"], 0);
  const ProgramResult program = check(write("m.mlir", kProgram) + " --json --quiet");
  const auto of_program = nlohmann::json::parse(program.output);
  EXPECT_EQ(of_program["compiler"]["bytes"]["total"], 16384);
  EXPECT_EQ(of_program["estimates"][0]["fits"], true);
}

TEST_F(CheckCommands, TakeSeveralFiles) {
  const std::string model = "examples/configs/iris.yaml";
  const std::string refused = write("refused.mlir", "// fake: too big\n" + std::string(kProgram));
  const std::string missing = folder_ / "none.yaml";
  const std::string program = write("m.mlir", kProgram);
  const std::string files = model + " " + refused + " " + missing + " " + program;
  const ProgramResult text = check(files);
  EXPECT_EQ(text.status, 1);
  for (const std::string& path : {model, refused, missing, program})
    EXPECT_THAT(text.output, HasSubstr(path + "\n")) << text.output;
  EXPECT_THAT(text.output,
              AllOf(HasSubstr("does not fit: 18.6 GiB"), HasSubstr("fits: 16.0 KiB"),
                    HasSubstr("FAILED_PRECONDITION: " + refused), HasSubstr("NOT_FOUND")));
  const auto list = nlohmann::json::parse(check(files + " --json 2>/dev/null").output);
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[0]["file"], model);
  EXPECT_EQ(list[0]["ok"], true);
  EXPECT_EQ(list[1]["compiler"]["verdict"], "too_big");
  EXPECT_THAT(list[2]["error"], HasSubstr("NOT_FOUND"));
  EXPECT_EQ(list[3]["file"], program);
  const ProgramResult good = check("examples/configs/*.yaml " + program);
  EXPECT_EQ(good.status, 0) << good.output;
  EXPECT_THAT(check(files + " --save x").output, HasSubstr("--save, got several files"));
  EXPECT_EQ(run_program("systole check").status, 2);
}

TEST_F(CheckCommands, TellWhatTheCompilerRefuses) {
  const std::string custom =
      "func.func @main(%0: tensor<8xf32>) -> tensor<8xf32> {\n"
      "  // fake: refuse\n"
      "  %1 = stablehlo.custom_call @my_kernel(%0) : (tensor<8xf32>) -> tensor<8xf32>\n"
      "  return %1 : tensor<8xf32>\n}\n";
  const ProgramResult refused = check(write("custom.mlir", custom));
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("1. line 3: custom_call @my_kernel"),
                    HasSubstr("refuses the program: Custom emitter for my_kernel not found"),
                    HasSubstr("yours is line 3: custom_call @my_kernel"),
                    HasSubstr("FAILED_PRECONDITION")));
  const ProgramResult too_big =
      check(write("big.mlir", "// fake: too big\n" + std::string(kProgram)));
  EXPECT_EQ(too_big.status, 1);
  EXPECT_THAT(too_big.output, AllOf(HasSubstr("does not fit: 18.6 GiB of 15.5 GiB"),
                                    HasSubstr("memory: ours 8.0 KiB (fits)")));
}

TEST_F(CheckCommands, SaveTheExecutable) {
  const std::string saved = folder_ / "step.tpu";
  const ProgramResult result = check(write("m.mlir", kProgram) + " --save " + saved);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("executable: " + saved));
  EXPECT_GT(std::filesystem::file_size(saved), 0U);
}

TEST_F(CheckCommands, NeedSenseOfTheirOptions) {
  const std::string file = write("m.mlir", kProgram);
  for (const char* option : {"--save x", "--effort low", "--time-limit 5", "--tpu-library x"}) {
    const ProgramResult result = run_program("systole check " + file + " " + option);
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.output, HasSubstr("needs --compile")) << option;
  }
  EXPECT_THAT(check(file + " --predict v2-8").output, HasSubstr("expected it without"));
  EXPECT_THAT(run_program("systole check " + file + " --compile v3-9 --tpu-library x").output,
              HasSubstr("expected v3-N with N = 8, 16"));
}

TEST_F(CheckCommands, RefuseOptionsOfModelsWithPrograms) {
  const std::string file = write("m.mlir", kProgram);
  for (const char* option : {"--steps 5", "--price 3", "--logdir x", "--predict cpu"}) {
    const ProgramResult result = run_program("systole check " + file + " " + option);
    EXPECT_EQ(result.status, 2) << option;
    EXPECT_THAT(result.output, AllOf(HasSubstr(std::string(option).substr(0, 7)),
                                     HasSubstr("expected it with a model")));
  }
}

TEST_F(CheckCommands, TellWhatIsNoVerdictOfATpu) {
  const std::string text(kProgram);
  const ProgramResult invalid =
      run_program("systole check " + write("bad.mlir", text.substr(0, text.size() - 3)));
  EXPECT_EQ(invalid.status, 1);
  EXPECT_THAT(invalid.output, AllOf(HasSubstr("no valid program"), HasSubstr("INVALID_ARGUMENT"),
                                    Not(HasSubstr("a TPU would refuse"))));
  const std::string good = write("m.mlir", kProgram);
  const ProgramResult unknown = run_program("systole check " + good + " --predict v9-8");
  EXPECT_THAT(unknown.output, AllOf(HasSubstr("TPU, got 'v9-8'"), Not(HasSubstr("would refuse"))));
  const std::string slow = write("slow.mlir", "// fake: hang\n" + text);
  const ProgramResult late = check(slow + " --time-limit 0.3");
  EXPECT_EQ(late.status, 1);
  EXPECT_THAT(late.output, AllOf(HasSubstr("DEADLINE_EXCEEDED"), HasSubstr("no verdict"),
                                 Not(HasSubstr("one that a TPU would refuse"))));
}

}  // namespace
}  // namespace systole::testing
