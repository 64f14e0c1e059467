// The command line: every command and its help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandLine, Version) {
  const ProgramResult result = run_program("systole version");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, StartsWith("systole "));
}

TEST(CommandLine, HelpWhereItIsLookedFor) {
  EXPECT_EQ(run_program("systole --version").output, run_program("systole version").output);
  const ProgramResult alone = run_program("systole");
  EXPECT_EQ(alone.status, 0);
  EXPECT_EQ(alone.output, run_program("systole help").output);
  EXPECT_THAT(run_program("systole help data convert").output,
              HasSubstr("Usage: systole data convert [OPTIONS] COMMAND"));
  const ProgramResult half = run_program("systole data");
  EXPECT_EQ(half.status, 2);
  EXPECT_THAT(half.output, HasSubstr("systole data: command, got none, expected one of convert, "));
}

TEST(CommandLine, HelpForEveryCommand) {
  const ProgramResult all = run_program("systole help");
  EXPECT_EQ(all.status, 0);
  for (const std::string command : {"check", "data", "devices", "evaluate", "export", "flops",
                                    "hlo", "inspect", "predict", "train", "version"}) {
    EXPECT_THAT(all.output, HasSubstr(command));
    const ProgramResult one = run_program("systole help " + command);
    EXPECT_EQ(one.status, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr("Usage: systole " + command));
    const bool takes_something = command != "devices" && command != "version";
    EXPECT_EQ(one.output.find("\nExamples:\n  systole " + command) != std::string::npos,
              takes_something)
        << one.output;
  }
}

TEST(CommandLine, OptionsOfAllCommands) {
  EXPECT_EQ(run_program("systole -V").output, run_program("systole version").output);
  EXPECT_THAT(run_program("systole --color=always inspect nothing").output,
              StartsWith("\x1b[31msystole:\x1b[0m "));
  EXPECT_THAT(run_program("systole trian").output, StartsWith("systole: no command 'trian'"));
  EXPECT_THAT(run_program("systole devices --color=blue").output,
              HasSubstr("--color: got 'blue', expected auto or always or never"));
  EXPECT_THAT(run_program("systole version -q -v").output,
              HasSubstr("got --quiet and --verbose, expected one of them"));
  EXPECT_THAT(run_program("systole help environment").output,
              AllOf(HasSubstr("TPU_NAME"), HasSubstr("SYSTOLE_WORKER_CA")));
  EXPECT_THAT(run_program("systole help worker").output, HasSubstr("--listen HOST:PORT "));
}

TEST(CommandLine, Json) {
  const auto json = [](const std::string& command) {
    const ProgramResult result = run_program("systole " + command + " --json 2>/dev/null");
    EXPECT_EQ(result.status, 0) << command;
    return nlohmann::json::parse(result.output);
  };
  const nlohmann::json devices = json("devices");
  EXPECT_EQ(devices["backends"]["cpu"][0]["name"], "cpu:0");
  EXPECT_GE(devices["machine"]["cores"], 1);
  EXPECT_TRUE(json("cache info").contains("limit_bytes"));
  EXPECT_EQ(json("tpu-v1 profile MLP1-R")["programs"][0]["tiles"], 85);
  EXPECT_EQ(json("tpu-v1 roofline MLP1-R")["programs"][0]["name"], "MLP1-R");
}

TEST(CommandLine, Devices) {
  const ProgramResult result = run_program("systole devices");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("cores"), HasSubstr("cpu:0"), HasSubstr("PJRT plugins")));
}

TEST(CommandLine, DevicesShowsPluginsOfTheEnvironment) {
  setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "cuda:/nowhere/plugin.so", 1);
  const ProgramResult result = run_program("systole devices");
  unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
  EXPECT_THAT(result.output, HasSubstr("/nowhere/plugin.so (no such file)"));
}

TEST(CommandLine, DevicesTellsOfAPluginListThatDoesNotParse) {
  setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "garbage,cuda:/nowhere/plugin.so", 1);
  const ProgramResult result = run_program("systole devices");
  unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("entry, got 'garbage', expected name:path"),
                                   HasSubstr("/nowhere/plugin.so (no such file)")));
}

TEST(CommandLine, Flops) {
  const ProgramResult result = run_program("systole flops --size 64 --count 3 --cores 1");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("3 products of [64,64] f32 on 1 core:"), HasSubstr("TFLOP/s")));
  const ProgramResult cores = run_program("systole flops --size 64 --cores 1000000");
  EXPECT_EQ(cores.status, 1);
  EXPECT_THAT(cores.output, HasSubstr("num_threads, got 1000000, expected 0 to "));
}

TEST(CommandLine, MachineKeepsItsMeasurement) {
  const std::string path = ::testing::TempDir() + "systole_machine.json";
  const ProgramResult result = run_program("systole machine --output " + path);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("GFLOP/s"), HasSubstr("GB/s"), HasSubstr("kept in " + path)));
  const ProgramResult again = run_program("systole machine --output /nowhere/machine.json");
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.output, HasSubstr("/nowhere/machine.json"));
}

TEST(CommandLine, CheckPredictsAStepOnThisMachine) {
  const ProgramResult result =
      run_program("systole check examples/configs/iris.yaml --predict cpu --steps 1000");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("cpu with batches of 32:"), HasSubstr("1000 steps"),
                                   HasSubstr("CPU cores")));
  EXPECT_THAT(result.output, Not(HasSubstr("infeed")));
}

TEST(CommandLine, BadInput) {
  const ProgramResult unknown = run_program("systole fly");
  EXPECT_NE(unknown.status, 0);
  EXPECT_THAT(unknown.output, HasSubstr("fly"));
  EXPECT_THAT(run_program("systole trian").output, HasSubstr("'trian', did you mean 'train'?"));
  EXPECT_THAT(run_program("systole data covnert").output,
              HasSubstr("systole data: no command 'covnert', did you mean 'convert'?"));
  EXPECT_THAT(run_program("systole help data covnert").output,
              AllOf(HasSubstr("did you mean 'convert'?"), HasSubstr("systole help lists")));
  EXPECT_EQ(run_program("systole flops --size many").status, 2);
  EXPECT_EQ(run_program("iris_session --epochs 0").status, 2);
  const ProgramResult dtype = run_program("systole flops --dtype int32");
  EXPECT_EQ(dtype.status, 2);
  EXPECT_THAT(dtype.output, HasSubstr("--dtype: got 'int32', expected float32, bfloat16, "));
  EXPECT_NE(run_program("systole flops --size 0").status, 0);
  EXPECT_THAT(run_program("systole help hlo fly").output,
              HasSubstr("systole help: systole hlo: no command 'fly'"));
  for (const char* command : {"systole help", "systole train --keys"}) {
    const ProgramResult full = run_program(std::string(command) + " > /dev/full");
    EXPECT_EQ(full.status, 1);
    EXPECT_THAT(full.output, HasSubstr("systole: standard output: cannot write"));
  }
  const ProgramResult no_model = run_program("systole predict Makefile --input x.csv");
  EXPECT_EQ(no_model.status, 1);
  EXPECT_THAT(no_model.output,
              HasSubstr("Makefile: model, got a file of kind 'unknown', expected a SavedModel"));
}

}  // namespace
}  // namespace systole::testing
