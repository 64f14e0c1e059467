// What is told of StableHLO programs without Google's compiler.
#include "systole/tpu_check/program_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tpu_check/target.h"

namespace systole::tpu_check {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Target, maps_names_to_topologies) {
  struct Case {
    const char* system;
    const char* topology;
    int devices;
  };
  const std::vector<Case> cases = {
      {"v2-8", "v2:2x2", 8},         {"v2-32", "v2:4x4", 32},       {"v2-256", "v2:8x16", 256},
      {"v2-512", "v2:16x16", 512},   {"v3-8", "v3:2x2", 8},         {"v3-1024", "v3:16x32", 1024},
      {"v3-2048", "v3:32x32", 2048}, {"v4-8", "v4:2x2x1", 4},       {"v4-16", "v4:2x2x2", 8},
      {"v4-128", "v4:4x4x4", 64},    {"v5e-4", "v5e:2x2", 4},       {"v5e-8", "v5e:2x4", 8},
      {"v5p-8", "v5p:2x2x1", 4},     {"v6e-256", "v6e:16x16", 256}, {"tpu7x-8", "tpu7x:2x2x1", 8},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(target_of(c.system).topology, c.topology) << c.system;
    EXPECT_EQ(target_of(c.system).devices, c.devices) << c.system;
  }
  EXPECT_EQ(target_of("v4-8").chip_config, "megacore");
  EXPECT_EQ(target_of("v5p-8").chip_config, "");
}

TEST(Target, names_what_there_is) {
  EXPECT_THAT(error_of([] { target_of("v9-8"); }), HasSubstr("v2-8, v3-8, v4-8"));
  EXPECT_THAT(error_of([] { target_of("v3"); }), HasSubstr("expected a name such as"));
  EXPECT_THAT(error_of([] { target_of("v3-12"); }), HasSubstr("v3-N with N = 8, 16, ... 2048"));
  EXPECT_THAT(error_of([] { target_of("v5e-1"); }), HasSubstr("hosts have 4 chips"));
  EXPECT_THAT(error_of([] { target_of("v2-1024"); }), HasSubstr("... 512"));
}

std::string function(const std::string& body) { return "func.func @main() {\n" + body + "\n}\n"; }

// The only finding of a body whose op is on line 2.
std::string only_finding(const std::string& body) {
  const auto found = findings_of(function(body), true);
  return found.size() == 1 ? found[0].to_string() : fmt::format("{} findings", found.size());
}

TEST(Findings, name_what_libtpu_alone_refuses) {
  struct Case {
    const char* op;
    const char* what;
  };
  const std::vector<Case> cases = {
      {"%0 = stablehlo.tanh %a : tensor<4xcomplex<f64>>",
       "tanh of complex<f64>; Google's compiler "
       "crashes"},
      {"%0 = stablehlo.tan %a : tensor<4xcomplex<f64>>", "tan of complex<f64>"},
      {"%0 = stablehlo.exponential_minus_one %a : tensor<4xcomplex<f64>>",
       "exponential_minus_one of complex<f64>"},
      {"%0 = stablehlo.cholesky %a, lower = true : tensor<4x4xcomplex<f64>>",
       "cholesky of complex<f64>"},
      {R"(%0 = "stablehlo.triangular_solve"(%a, %b) {lower = true} : (tensor<4x4xcomplex<f64>>, tensor<4x4xcomplex<f64>>) -> tensor<4x4xcomplex<f64>>)",
       "triangular_solve of complex<f64>"},
      {"%0 = stablehlo.fft %a, type = FFT, length = [16] : (tensor<8x16xcomplex<f64>>) -> "
       "tensor<8x16xcomplex<f64>>",
       "fft of complex<f64>"},
      {"%0 = stablehlo.custom_call @my_kernel(%a) : (tensor<4xf32>) -> tensor<4xf32>",
       "custom_call @my_kernel"},
      {R"(%0 = "stablehlo.custom_call"(%a) {call_target_name = "lapack_sgesdd"} : (tensor<4xf32>) -> tensor<4xf32>)",
       "custom_call @lapack_sgesdd"},
      {"%0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) : (tensor<4xf32>) -> "
       "tensor<4xf32>",
       "a callback into Python runs on the host"},
      {R"(%0 = "stablehlo.send"(%a, %t) {is_host_transfer = true} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token)",
       "send to or from the host"},
      {R"(%0:2 = "stablehlo.recv"(%t) {is_host_transfer = true} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token))",
       "recv to or from the host"},
      {"%0 = stablehlo.add %a, %b : tensor<4x!quant.uniform<i8:f32, 0.1>>",
       "add of a quantized type"},
      {"%0 = stablehlo.add %a, %b : tensor<4xi2>", "add of 2-bit integers"},
      {"%0 = stablehlo.abs %a : tensor<?xf32>", "abs of an unbounded dynamic shape"},
  };
  for (const Case& c : cases)
    EXPECT_THAT(only_finding(c.op), AllOf(HasSubstr("line 2: "), HasSubstr(c.what))) << c.op;
}

// A refusal, and a note on the type.
TEST(Findings, name_refusals_of_types_that_are_emulated) {
  const auto products = findings_of(
      function(
          "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x4xi64>, "
          "tensor<4x4xi64>) -> tensor<4x4xi64>"),
      true);
  ASSERT_THAT(products, SizeIs(2));
  EXPECT_TRUE(products[0].refused);
  EXPECT_EQ(products[0].what, "dot_general of 64-bit integers");
  EXPECT_FALSE(products[1].refused);
  const auto random = findings_of(
      function("%0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f64>, tensor<f64>, "
               "tensor<1xi32>) -> tensor<4xf64>"),
      true);
  ASSERT_THAT(random, SizeIs(2));
  EXPECT_EQ(random[0].what, "rng of f64");
}

TEST(Findings, say_what_emulated_types_cost) {
  const auto found = findings_of(
      function("%0 = stablehlo.add %a, %b : tensor<4xf64>\n"
               "%1 = stablehlo.dot %a, %b : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>"),
      true);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_FALSE(found[0].refused);
  EXPECT_EQ(found[0].place, "line 2 and 1 more");
  EXPECT_THAT(found[0].why,
              AllOf(HasSubstr("Cloud TPUs of 2018"), HasSubstr("pairs of f32"), HasSubstr("(v2)")));
}

TEST(Findings, pass_what_tpus_take) {
  for (const char* op : {
           "%0 = stablehlo.custom_call @Qr(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>",
           "%0 = stablehlo.custom_call @Sharding(%a) : (tensor<4xf32>) -> tensor<4xf32>",
           "%0 = stablehlo.custom_call @mhlo.topk(%a) : (tensor<4xf32>) -> tensor<4xf32>",
           "%0 = stablehlo.add %a, %b : tensor<4xcomplex<f64>>",
           "%0 = stablehlo.add %a, %b : tensor<4xbf16> // of my_kernel, tensor<?xf32>",
           "%0 = stablehlo.abs %a : tensor<?xf32, #stablehlo.bounds<4>>",
           "%0 = stablehlo.slice %a [0:4] : (tensor<8xf32>) -> tensor<4xf32>",
       })
    EXPECT_THAT(findings_of(function(op), true), IsEmpty()) << op;
}

TEST(Findings, prefer_the_source_that_a_location_names) {
  const auto found = findings_of(R"(#loc = loc("step.py":12:4)
#loc2 = loc("jit(step)/callback"(#loc))
func.func @main() {
  %0 = stablehlo.custom_call @other(%a) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc2)
}
)",
                                 true);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].place, "'jit(step)/callback' at step.py:12");
}

constexpr const char* kStep =
    R"(func.func @main(%w: tensor<1024x1024xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<64x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<1024x1024xf32>
  %1 = stablehlo.add %w, %0 : tensor<1024x1024xf32>
  return %1 : tensor<1024x1024xf32>
})";

TEST(CheckProgram, tells_memory_flops_and_time) {
  const ProgramReport report = check_program(kStep, "m.mlir", {"v2-8", "v3-8"});
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.flops, 2.0 * 64 * 1024 * 1024);
  ASSERT_THAT(report.estimates, SizeIs(2));
  // The parameters; the result is written over one.
  EXPECT_GE(report.estimates[0].bytes, 4 * (1024 * 1024 + 64 * 1024));
  EXPECT_LT(report.estimates[0].bytes, 4 * 3 * 1024 * 1024);
  EXPECT_GT(report.estimates[0].seconds, report.estimates[1].seconds);
  EXPECT_THAT(report.to_string(), AllOf(HasSubstr("nothing that a TPU would refuse"),
                                        HasSubstr("v3-8"), HasSubstr("fits")));
}

TEST(CheckProgram, is_told_of_bytecode_and_exported_artifacts_too) {
  const std::string bytecode = hlo::write_bytecode(*hlo::parse(kStep));
  const std::string size = {static_cast<char>(bytecode.size()),
                            static_cast<char>(bytecode.size() >> 8U), 0, 0};
  ASSERT_LT(bytecode.size(), 65536U);
  const std::string artifact = std::string("\x18\0\0\0flatbuffer", 14) + size + bytecode + "rest";
  EXPECT_EQ(program_in(artifact), bytecode);
  EXPECT_EQ(program_in(bytecode), bytecode);
  EXPECT_EQ(program_in("module {}"), "module {}");
  EXPECT_EQ(check_program(bytecode, "m.mlirbc", {"v2-8"}).flops, 2.0 * 64 * 1024 * 1024);
}

TEST(CheckProgram, tells_findings_of_programs_that_it_cannot_read) {
  const ProgramReport report = check_program(
      function("%0 = stablehlo.custom_call @mine(%a) : (tensor<?xf32>) -> tensor<?xf32>"), "m.mlir",
      {"v2-8"});
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(report.estimates, IsEmpty());
  EXPECT_THAT(report.unknown, HasSubstr("m.mlir:2"));
  EXPECT_THAT(report.to_string(), HasSubstr("1. line 2: custom_call @mine"));
}

TEST(CheckProgram, tells_where_the_compiler_disagrees) {
  ProgramReport report = check_program(kStep, "m.mlir", {"v3-8"});
  report.compiled = CompileReport{.system = "v3-8",
                                  .verdict = Verdict::too_big,
                                  .total = int64_t{20} << 30,
                                  .limit = int64_t{15} << 30};
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(report.differences(), ElementsAre(HasSubstr("Google's compiler 20.0 GiB (does not "
                                                          "fit)")));
  report.compiled = CompileReport{.system = "v3-8", .verdict = Verdict::refused, .message = "no"};
  EXPECT_THAT(report.differences(), ElementsAre(HasSubstr("we found nothing to refuse")));
  report.findings = {{.place = "line 41", .what = "x", .why = "y", .refused = true}};
  EXPECT_THAT(report.differences(), ElementsAre("yours is line 41: x; y"));
}

}  // namespace
}  // namespace systole::tpu_check
