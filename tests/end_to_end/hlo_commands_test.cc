// Every command below systole hlo, and its errors for bad input.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "systole/base/testing/temp_folder.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kDouble =
    "func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
    "  %0 = stablehlo.add %x, %x : tensor<2x2xf32>\n"
    "  return %0 : tensor<2x2xf32>\n}\n";

// A program that checks 1 + 1 == `sum`.
std::string sum_check(const std::string& sum) {
  return "func.func @test() {\n"
         "  %0 = stablehlo.constant dense<1> : tensor<i32>\n"
         "  %1 = stablehlo.add %0, %0 : tensor<i32>\n"
         "  check.expect_eq_const %1, dense<" +
         sum + "> : tensor<i32>\n  return\n}\n";
}

class HloCommands : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  const TempFolder folder_;
};

TEST_F(HloCommands, HelpNamesThem) {
  const ProgramResult help = run_program("systole help hlo");
  EXPECT_EQ(help.status, 0);
  for (const char* name : {"run", "test", "opt", "bench", "support"})
    EXPECT_THAT(help.output, HasSubstr(name));
  EXPECT_THAT(run_program("systole hlo run --help").output, HasSubstr("--input"));
}

TEST_F(HloCommands, RunPrintsResultsOrWritesThem) {
  const std::string file = write("double.mlir", kDouble);
  const ProgramResult written =
      run_program("systole hlo run " + file + " --random 1 --output " + path("out"));
  EXPECT_EQ(written.status, 0) << written.output;
  EXPECT_TRUE(std::filesystem::exists(path("out/0.npy")));
  // Four times the input: the output of the first run is the input of the second.
  const ProgramResult cpu =
      run_program("systole hlo run " + file + " --input 0=" + path("out/0.npy"));
  EXPECT_EQ(cpu.status, 0) << cpu.output;
  EXPECT_THAT(cpu.output, StartsWith("result 0: f32[2,2]\n{{"));
  EXPECT_EQ(
      run_program("systole hlo run " + file + " --backend reference --input 0=" + path("out/0.npy"))
          .output,
      cpu.output);
}

TEST_F(HloCommands, TranslateWritesBytecodeThatAllCommandsTake) {
  const std::string file = write("double.mlir", kDouble);
  const std::string bytecode = path("double.mlirbc");
  const ProgramResult written = run_program(
      fmt::format("systole hlo translate {} --output {} --target-version 1.8.0", file, bytecode));
  EXPECT_EQ(written.status, 0) << written.output;
  EXPECT_EQ(run_program("systole hlo translate " + bytecode).output,
            run_program("systole hlo translate " + file).output);
  EXPECT_EQ(run_program("systole hlo run " + bytecode + " --random 1").output,
            run_program("systole hlo run " + file + " --random 1").output);
  EXPECT_EQ(run_program("systole hlo translate --raw " + bytecode).status, 0);
  EXPECT_THAT(run_program("systole inspect " + bytecode).output, HasSubstr("main"));
  EXPECT_THAT(
      run_program("systole hlo translate --output-format bytecode --target-version 9.0.0 " + file)
          .output,
      HasSubstr(
          "INVALID_ARGUMENT: bytecode: version of VHLO, got 9.0.0, expected 0.9.0 to 1.20.0"));
}

TEST_F(HloCommands, RunSaysWhatItMisses) {
  const std::string file = write("double.mlir", kDouble);
  const ProgramResult none = run_program("systole hlo run " + file);
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.output, AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("f32[2,2]"),
                                 HasSubstr("--random SEED")));
  EXPECT_THAT(run_program("systole hlo run " + path("none.mlir")).output, HasSubstr("NOT_FOUND"));
  EXPECT_THAT(run_program("systole hlo run " + file + " --random 1 --backend abacus").output,
              AllOf(HasSubstr("abacus"), HasSubstr("cpu")));
  const std::string bad = write("bad.mlir", "func.func @main() { %0 = stablehlo.add }");
  EXPECT_THAT(run_program("systole hlo run " + bad).output, HasSubstr("bad.mlir:1:"));
}

TEST_F(HloCommands, RunRefusesWhatDoesNotFitInMemory) {
  const std::string file = write("large.mlir",
                                 "func.func @main(%x: tensor<f64>) -> tensor<1000000000000xf64> {\n"
                                 "  %0 = stablehlo.broadcast_in_dim %x, dims = [] : "
                                 "(tensor<f64>) -> tensor<1000000000000xf64>\n"
                                 "  return %0 : tensor<1000000000000xf64>\n}\n");
  for (const std::string backend : {"cpu", "reference"}) {
    const ProgramResult result =
        run_program(fmt::format("systole hlo run {} --random 1 --backend {}", file, backend));
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.output, AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("7.3 TiB"),
                                     HasSubstr("f64[1000000000000]")));
  }
}

TEST_F(HloCommands, TestCountsVerdicts) {
  write("a.mlir", sum_check("2"));
  write("b.mlir", sum_check("3"));
  write("c.mlir", sum_check("2") + "\n// -----\n\n" + sum_check("4"));
  write("d.mlir", "func.func @test() { %0 = stablehlo.conjure : tensor<f32> }");
  write("e.mlir",
        "func.func @test(%a: tensor<?xf32>) { check.expect_eq %a, %a : tensor<?xf32>\n"
        "return }");
  write("f.mlir", kDouble);
  const ProgramResult result =
      run_program("systole hlo test --jobs 2 --backend cpu " + folder_.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("a.mlir: PASS\n"));
  EXPECT_THAT(result.output,
              HasSubstr("b.mlir: FAIL check.expect_eq_const (number 1 of 1): s32[], index [], "
                        "got 2, expected 3; 1 of 1 elements\n"));
  EXPECT_THAT(result.output, HasSubstr("c.mlir: FAIL program 2 of 2: check.expect_eq_const"));
  EXPECT_THAT(result.output, HasSubstr("e.mlir: UNSUPPORTED UNIMPLEMENTED"));
  EXPECT_THAT(result.output, Not(HasSubstr("f.mlir:")));
  EXPECT_THAT(result.output, EndsWith("1 file without checks left out\n"
                                      "1 passed, 2 failed, 2 unsupported\n"));
  EXPECT_EQ(run_program("systole hlo test " + path("a.mlir")).status, 0);
}

TEST_F(HloCommands, TestOutlivesAProgramThatHangs) {
  // Odd numbers never reach zero.
  const std::string file = write(
      "endless.mlir",
      "func.func @main() {\n"
      "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
      "  %r = stablehlo.while(%x = %one) : tensor<i32>\n"
      "    cond {\n"
      "      %c = stablehlo.compare NE, %x, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "      stablehlo.return %c : tensor<i1>\n"
      "    } do {\n"
      "      %y = stablehlo.add %x, %two : tensor<i32>\n"
      "      stablehlo.return %y : tensor<i32>\n"
      "    }\n"
      "  check.expect_eq %r, %r : tensor<i32>\n  return\n}\n");
  const ProgramResult result = run_program("systole hlo test --timeout 0.5 " + file);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("FAIL no end after 0.5 s\n0 passed, 1 failed"));
}

TEST_F(HloCommands, OptPrintsAProgramAfterPasses) {
  const std::string file = write("twice.mlir",
                                 "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                                 "  %0 = stablehlo.exponential %x : tensor<2xf32>\n"
                                 "  %1 = stablehlo.exponential %x : tensor<2xf32>\n"
                                 "  %2 = stablehlo.add %0, %1 : tensor<2xf32>\n"
                                 "  return %2 : tensor<2xf32>\n}\n");
  const ProgramResult all = run_program("systole hlo opt --pretty " + file);
  EXPECT_EQ(all.status, 0) << all.output;
  const size_t first = all.output.find("stablehlo.exponential");
  ASSERT_NE(first, std::string::npos) << all.output;
  EXPECT_EQ(all.output.find("stablehlo.exponential", first + 1), std::string::npos);
  // The printed program can be read again, also from standard input.
  EXPECT_EQ(run_program("systole hlo opt --pretty " + file + " | " +
                        std::filesystem::read_symlink("/proc/self/exe").parent_path().string() +
                        "/systole hlo opt --pretty -")
                .output,
            all.output);
  const ProgramResult dump = run_program("systole hlo opt --dump " + file);
  EXPECT_THAT(dump.output, ContainsRegex("// after cse, [0-9.]+ ms\n"));
  EXPECT_THAT(run_program("systole hlo opt --passes dce " + file).output,
              HasSubstr("exponential\"(%arg0)"));
}

TEST_F(HloCommands, OptListsItsPasses) {
  const std::string file = write("double.mlir", kDouble);
  const ProgramResult result = run_program("systole hlo opt --passes cse,fly " + file);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("NOT_FOUND: hlo opt: pass, got 'fly'"),
                                   HasSubstr("inline_calls, dce"), HasSubstr("fusion")));
}

TEST_F(HloCommands, BenchTellsWhereTheTimeGoes) {
  const std::string file =
      write("dot.mlir",
            "func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {\n"
            "  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] "
            ": (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n"
            "  %1 = stablehlo.tanh %0 : tensor<64x64xf32>\n"
            "  return %1 : tensor<64x64xf32>\n}\n");
  const ProgramResult table = run_program("systole hlo bench --runs 3 --threads 1 " + file);
  EXPECT_EQ(table.status, 0) << table.output;
  EXPECT_THAT(table.output, AllOf(HasSubstr("median of 3"), HasSubstr("dot_general f32[64,64]"),
                                  HasSubstr("measured now")));
  const ProgramResult json = run_program("systole hlo bench --json --runs 3 --threads 1 " + file);
  // The product has 2 * 64^3; tanh is a transcendental function.
  EXPECT_THAT(json.output, HasSubstr("\"flops\": 524288.0"));
  EXPECT_THAT(json.output, HasSubstr("\"argument_bytes\": 16384"));
  EXPECT_THAT(run_program("systole hlo bench --runs 2 --backend reference " + file).output,
              HasSubstr("reference does not tell"));
  const ProgramResult compile = run_program("systole hlo bench --compile --threads 1 " + file);
  EXPECT_THAT(compile.output, AllOf(HasSubstr("ms of processor time"),
                                    HasSubstr("algebraic_simplifier"), HasSubstr("emit code")));
  EXPECT_THAT(run_program("systole hlo bench --compile --json " + file).output,
              HasSubstr("\"processor_seconds\": "));
}

TEST_F(HloCommands, BenchTakesInputsAndDonates) {
  const auto program = [&](const char* alias) {
    return write("step.mlir",
                 fmt::format("func.func @main(%n: tensor<i32>{}, %x: tensor<4xf32>) -> "
                             "(tensor<i32>, tensor<f32>) {{\n"
                             "  %c = stablehlo.constant dense<1> : tensor<i32>\n"
                             "  %0 = stablehlo.add %n, %c : tensor<i32>\n"
                             "  %1 = stablehlo.slice %x [0:1] : (tensor<4xf32>) -> tensor<1xf32>\n"
                             "  %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>\n"
                             "  return %0, %2 : tensor<i32>, tensor<f32>\n}}\n",
                             alias));
  };
  run_program("systole hlo run " + program("") + " --random 1 --output " + path("out"));
  const std::string number = path("out/0.npy");
  const std::string bench = "systole hlo bench --runs 2 --donate --input 0=" + number + " ";
  for (const char* backend : {"cpu", "reference"}) {
    const ProgramResult result = run_program(fmt::format(
        "{}--backend {} {}", bench, backend, program(" {tf.aliasing_output = 0 : i32}")));
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_THAT(result.output, HasSubstr("median of 2"));
  }
  const std::string turns = fmt::format("systole hlo bench --turns {} <", program(""));
  const ProgramResult measured = run_program(turns + write("seconds", "0.01\n0\n"));
  EXPECT_EQ(measured.status, 0) << measured.output;
  EXPECT_THAT(measured.output, ContainsRegex("compile_seconds.*\n.*seconds\":\\[.*\n.*seconds"));
  EXPECT_THAT(run_program(turns + write("seconds", "soon\n")).output,
              HasSubstr("expected seconds"));
  const ProgramResult none = run_program(bench + program(""));
  EXPECT_NE(none.status, 0);
  EXPECT_THAT(none.output, HasSubstr("--donate, got no parameter that a result replaces"));
  const ProgramResult wrong =
      run_program("systole hlo bench --input 1=" + number + " " + program(""));
  EXPECT_NE(wrong.status, 0);
  EXPECT_THAT(wrong.output, HasSubstr("expected"));
}

}  // namespace
}  // namespace systole::testing
