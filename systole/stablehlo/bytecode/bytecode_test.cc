#include "systole/stablehlo/bytecode/bytecode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "systole/base/error.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/example_program.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<Module> round_trip(const Module& module, const char* version = "1.20.0") {
  return read_bytecode(write_bytecode(module, {.version = version}), "ours");
}

void expect_kept(std::string_view text, const char* version = "1.20.0") {
  const auto module = parse(text);
  EXPECT_EQ(print(*round_trip(*module, version)), print(*module));
}

// The error of writing `text`; "" if there is none.
std::string write_error(std::string_view text, const char* version) {
  try {
    write_bytecode(*parse(text), {.version = version});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// The smallest program of every opcode on every element type that it takes.
TEST(Bytecode, EveryOpcodeOnEveryType) {
  int programs = 0;
  for (int opcode = 0; opcode < kNumOpcodes; ++opcode) {
    for (int dtype = 0; dtype < kNumDTypes; ++dtype) {
      if (!is_numeric(static_cast<DType>(dtype))) continue;
      const std::string text =
          example_program(static_cast<Opcode>(opcode), static_cast<DType>(dtype));
      if (text.empty()) continue;
      std::unique_ptr<Module> module;
      try {
        module = parse(text);
      } catch (const Error&) {
        continue;  // not a type of this op
      }
      SCOPED_TRACE(text);
      EXPECT_EQ(print(*round_trip(*module)), print(*module));
      ++programs;
    }
  }
  EXPECT_GT(programs, 500);
}

TEST(Bytecode, AttributesOfModulesFunctionsParametersAndResults) {
  expect_kept(
      R"(module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32} {
    func.func private @outside(tensor<2xf32>, tensor<i32>) -> tensor<f32>
    func.func public @main(%arg0: tensor<2xf32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"},
                           %arg1: tensor<i1> {tf.aliasing_output = 1 : i32, "x.odd name" = [1 : i8, -2.5 : f64]})
        -> (tensor<2xf32> {jax.result_info = "x[\22a\22]", x.mark}, tensor<i1>) attributes {note = {a = 1 : i32, b = f32}} {
      return %arg0, %arg1 : tensor<2xf32>, tensor<i1>
    }
  })");
}

TEST(Bytecode, Constants) {
  expect_kept(
      R"(func.func @main() -> (tensor<9xi1>, tensor<3xi1>, tensor<12xi1>, tensor<2xi4>, tensor<0x3xf32>,
                                      tensor<1000000xf32>, tensor<2xcomplex<f32>>, tensor<bf16>, tensor<20xi64>,
                                      tensor<ui64>, tensor<2xf16>) {
    %0 = stablehlo.constant dense<[true, false, true, true, false, false, true, false, true]> : tensor<9xi1>
    %1 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %2 = stablehlo.constant dense<true> : tensor<12xi1>
    %3 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %4 = stablehlo.constant dense<> : tensor<0x3xf32>
    %5 = stablehlo.constant dense<0xFFC00001> : tensor<1000000xf32>
    %6 = stablehlo.constant dense<[(1.0, -2.0), (0.0, 3.5)]> : tensor<2xcomplex<f32>>
    %7 = stablehlo.constant dense<-1.5> : tensor<bf16>
    %8 = stablehlo.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, -20]> : tensor<20xi64>
    %9 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
    %10 = stablehlo.constant dense<[0x7C00, 1.0]> : tensor<2xf16>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<9xi1>, tensor<3xi1>, tensor<12xi1>, tensor<2xi4>,
        tensor<0x3xf32>, tensor<1000000xf32>, tensor<2xcomplex<f32>>, tensor<bf16>, tensor<20xi64>, tensor<ui64>,
        tensor<2xf16>
  })");
}

TEST(Bytecode, ConstantsOfSmallTypes) {
  expect_kept(
      R"(func.func @main() -> (tensor<4xf8E4M3FN>, tensor<2xf8E5M2>, tensor<3xf4E2M1FN>, tensor<20xf8E3M4>, tensor<40xf8E8M0FNU>,
                                      tensor<4xi2>, tensor<2xui2>, tensor<f8E4M3B11FNUZ>) {
    %0 = stablehlo.constant dense<[1.0, -0.0, 0x7F, 448.0]> : tensor<4xf8E4M3FN>
    %1 = stablehlo.constant dense<[0x7C, 57344.0]> : tensor<2xf8E5M2>
    %2 = stablehlo.constant dense<[0.5, -6.0, 0.0]> : tensor<3xf4E2M1FN>
    %3 = stablehlo.constant dense<"0x000102030405060708090A0B0C0D0E0F10111213"> : tensor<20xf8E3M4>
    %4 = stablehlo.constant dense<2.0> : tensor<40xf8E8M0FNU>
    %5 = stablehlo.constant dense<[-2, -1, 0, 1]> : tensor<4xi2>
    %6 = stablehlo.constant dense<[0, 3]> : tensor<2xui2>
    %7 = stablehlo.constant dense<0x80> : tensor<f8E4M3B11FNUZ>
    return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4xf8E4M3FN>, tensor<2xf8E5M2>, tensor<3xf4E2M1FN>, tensor<20xf8E3M4>,
        tensor<40xf8E8M0FNU>, tensor<4xi2>, tensor<2xui2>, tensor<f8E4M3B11FNUZ>
  })");
}

constexpr std::string_view kCalls = R"(module @calls {
  func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.custom_call @lapack(%a) {
      api_version = 4 : i32, backend_config = {lower = 76 : ui8, name = "x", on = true, scale = 0.5 : f32},
      called_computations = [@f], operand_layouts = [dense<0> : tensor<1xindex>],
      result_layouts = [dense<0> : tensor<1xindex>], mhlo.frontend_attributes = {a = "b"},
      output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}
      : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.composite "my.op" %a {composite_attributes = {k = 3 : i64}, decomposition = @f, version = 2 : i32}
      : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
})";

TEST(Bytecode, CustomCallsAndComposites) { expect_kept(kCalls); }

TEST(Bytecode, VersionsRefuseWhatTheyLack) {
  constexpr std::string_view kDynamicRoot =
      R"(func.func @main(%a: tensor<2xf32>, %r: tensor<1xi32>) -> tensor<2xf32> {
    %0 = "stablehlo.collective_broadcast"(%a, %r) {has_dynamic_root = true, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
        : (tensor<2xf32>, tensor<1xi32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })";
  constexpr std::string_view kTan = R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.tan %a : tensor<2xf32>
    return %0 : tensor<2xf32>
  })";
  EXPECT_EQ(write_error(kTan, "1.3.0"),
            "UNIMPLEMENTED: bytecode: tan, from 'tan' in 'main', got VHLO 1.3.0, expected a "
            "version that has this op");
  EXPECT_EQ(write_error(kTan, "1.4.0"), "");
  expect_kept(kTan, "1.4.0");
  EXPECT_THAT(write_error(kDynamicRoot, "1.19.0"),
              HasSubstr("got 2 operands, expected one in VHLO 1.19.0"));
  EXPECT_THAT(write_error(kCalls, "1.2.0"),
              HasSubstr("got a dictionary as backend_config, expected a string"));
  EXPECT_THAT(write_error(kTan, "1.21.0"), HasSubstr("got 1.21.0, expected 0.9.0 to 1.20.0"));
  EXPECT_THAT(write_error(kTan, "new"), HasSubstr("got 'new', expected one such as 1.20.0"));
}

TEST(Bytecode, LocationsKeepNames) {
  const auto module = parse(R"(func.func @main(%a: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.sine %a : tensor<f32> loc("net/sine"("f.py":3:7))
    return %0 : tensor<f32>
  })");
  for (const char* version : {"0.9.0", "1.20.0"}) {
    EXPECT_THAT(print(*round_trip(*module, version), {.locations = true}),
                HasSubstr(R"(loc("net/sine"))"));
  }
}

TEST(Bytecode, RandomPrograms) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto module = testing::random_module(seed, {.transcendental = false}).module;
    for (const char* version : {"0.9.0", "0.11.0", "0.13.0", "0.14.1", "1.20.0"}) {
      SCOPED_TRACE(fmt::format("seed {}, version {}", seed, version));
      const auto read = round_trip(*module, version);
      verify(*read);
      EXPECT_EQ(print(*read), print(*module));
    }
  }
}

TEST(Bytecode, EitherFormOfAFile) {
  const auto module = parse(kCalls);
  const std::string bytes = write_bytecode(*module);
  EXPECT_TRUE(is_bytecode(bytes));
  EXPECT_FALSE(is_bytecode(kCalls));
  ASSERT_EQ(read_modules(bytes, "f").size(), 1U);
  EXPECT_EQ(print(*read_modules(bytes, "f")[0]), print(*read_modules(kCalls, "f")[0]));
  EXPECT_EQ(read_modules(std::string(kCalls) + "\n// -----\n" + std::string(kCalls), "f").size(),
            2U);
}

// Text that our printer makes of a program is what the conversion to text gives, up to the order of
// attributes.
TEST(Bytecode, ConvertsToText) {
  const auto module = parse(kCalls);
  EXPECT_EQ(print(*parse(bytecode_to_text(write_bytecode(*module)))), print(*module));
}

// StableHLO's parser takes these attributes as arrays alone; VHLO stores tensors.
TEST(Bytecode, TextHasArraysWhereStableHloDoes) {
  const auto module = parse(
      R"(func.func @main(%x: tensor<f32>, %y: tensor<1x1x4x4xf32>, %k: tensor<1x1x2x2xf32>) -> (tensor<2x3xf32>, tensor<1x1x3x3xf32>, tensor<2xi64>) {
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %1 = "stablehlo.convolution"(%y, %k) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, window_reversal = array<i1: true, false>} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x3x3xf32>
    %2 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    return %0, %1, %2 : tensor<2x3xf32>, tensor<1x1x3x3xf32>, tensor<2xi64>
  })");
  const std::string text = bytecode_to_text(write_bytecode(*module));
  EXPECT_THAT(text, HasSubstr("broadcast_dimensions = array<i64>"));
  EXPECT_THAT(text, HasSubstr("window_strides = array<i64: 1, 1>"));
  EXPECT_THAT(text, HasSubstr("window_reversal = array<i1: true, false>"));
  EXPECT_THAT(text, HasSubstr("value = dense<[1, 2]> : tensor<2xi64>"));
  EXPECT_EQ(print(*parse(text)), print(*module));
}

// Bytecode that MLIR's own tool makes of our text: the container and the builtin dialect.
TEST(Bytecode, ReadsWhatMlirWrites) {
  if (std::system("command -v mlir-opt-19 > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "mlir-opt-19 is not installed (package mlir-19-tools)";
  }
  const systole::testing::TempFolder folder;
  for (const Opcode opcode :
       {Opcode::gather, Opcode::convolution, Opcode::while_, Opcode::sort, Opcode::constant}) {
    const auto module = parse(example_program(opcode, DType::f32));
    std::ofstream(folder / "ours.mlir") << print(*module);
    const std::string files = (folder / "ours.mlir") + " -o " + (folder / "theirs.bc");
    ASSERT_EQ(
        std::system(("mlir-opt-19 --allow-unregistered-dialect --emit-bytecode " + files).c_str()),
        0);
    std::ifstream file(folder / "theirs.bc", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(print(*read_bytecode(bytes, "theirs")), print(*module));
  }
}

// As MLIR does, in whatever order the entries are written.
TEST(Bytecode, DictionariesAreSortedByName) {
  const auto module = parse(R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @f(%a) {api_version = 4 : i32, backend_config = {alpha = 1 : i32, beta = 2 : i32}} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })");
  std::string bytes = write_bytecode(*module);
  const size_t at = bytes.find("alpha");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'z';
  const auto sorted = read_bytecode(bytes);
  EXPECT_THAT(print(*sorted), ::testing::HasSubstr("{beta = 2 : i32, zlpha = 1 : i32}"));
  const std::string again = write_bytecode(*sorted);
  EXPECT_EQ(write_bytecode(*read_bytecode(again)), again);
}

TEST(Bytecode, ErrorsOfProgramsNameTheOffsetOfTheOp) {
  auto module = parse(R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @f(%a) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })");
  std::string bytes = write_bytecode(*module);
  // Another op of the same length, that does not exist.
  const size_t at = bytes.find("custom_call_v2");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 14, "custom_calx_v1");
  try {
    read_bytecode(bytes, "f.mlirbc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), StartsWith("f.mlirbc: byte "));
  }
}

TEST(Bytecode, CutAnywhereIsAnError) {
  const std::string bytes = write_bytecode(*parse(kCalls));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(read_bytecode(std::string_view(bytes).substr(0, size)), Error) << size;
  }
  EXPECT_THROW(read_bytecode(bytes + "x"), Error);
}

TEST(Bytecode, AnyBitMayBeWrong) {
  for (const char* version : {"0.9.0", "1.20.0"}) {
    const std::string text = version[0] == '0' ? example_program(Opcode::reduce_window, DType::f32)
                                               : std::string(kCalls);
    const std::string bytes = write_bytecode(*parse(text), {.version = version});
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      try {
        read_bytecode(damaged, "f");
      } catch (const Error& error) {
        EXPECT_THAT(error.message(), HasSubstr("f:")) << bit;
      }
    }
  }
}

}  // namespace
}  // namespace systole::hlo
