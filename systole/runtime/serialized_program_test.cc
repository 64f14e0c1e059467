#include "systole/runtime/serialized_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/stablehlo/text/text.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kKind = "kind-1";

std::string open_error(std::string_view bytes) {
  return error_of([&] { open_sealed("here", kKind, bytes); });
}

TEST(Sealed, GivesTheBodyBack) {
  for (const std::string& body :
       {std::string(), std::string("a\nb\0c", 5), std::string(5000, 'x')}) {
    EXPECT_EQ(open_sealed("here", kKind, seal(kKind, body)), body);
  }
}

TEST(Sealed, TellsDamageFromOtherBytes) {
  const std::string bytes = seal(kKind, "body");
  EXPECT_THAT(open_error(""),
              "DATA_LOSS: here: compiled program, got 0 bytes of something else, "
              "expected 'kind-1' first");
  EXPECT_THAT(open_error(seal("kind-11", "body")), HasSubstr("something else"));
  EXPECT_THAT(open_error(bytes + "!"), HasSubstr("cut off or altered"));
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_THAT(open_error(std::string_view(bytes).substr(0, i)), StartsWith("DATA_LOSS")) << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(altered[i] ^ (1 << bit));
      EXPECT_THAT(open_error(altered), StartsWith("DATA_LOSS")) << i << " " << bit;
    }
  }
}

constexpr std::string_view kProgram = R"(module @twice {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32> loc("node")
    return %0 : tensor<2xf32>
  }
})";

TEST(SerializedProgram, KeepsProgramAndOptions) {
  const CompileOptions options{.program = {.bf16_products = true, .profile = true},
                               .num_replicas = 3,
                               .device_assignment = {4, 0, 2},
                               .replicated_parameters = {true},
                               .optimize = false,
                               .num_threads = 5,
                               .memory_limit = int64_t{1} << 40,
                               .cache_folder = "/of/this/machine"};
  const auto module = hlo::parse(kProgram);
  const ProgramSource source = read_program("here", write_program("here", *module, options));
  EXPECT_EQ(source.options.num_replicas, 3);
  EXPECT_EQ(source.options.num_partitions, 1);
  EXPECT_THAT(source.options.device_assignment, ElementsAre(4, 0, 2));
  EXPECT_THAT(source.options.replicated_parameters, ElementsAre(true));
  EXPECT_TRUE(source.options.program.bf16_products);
  EXPECT_FALSE(source.options.optimize);
  EXPECT_EQ(source.options.num_threads, 5);
  EXPECT_TRUE(source.options.program.profile);
  EXPECT_EQ(source.options.memory_limit, int64_t{1} << 40);
  EXPECT_EQ(source.options.cache_folder, "");
  EXPECT_EQ(hlo::print(*source.module, {.locations = true}),
            hlo::print(*module, {.locations = true}));
}

// Bytes with a right digest, of which no program wrote the body.
std::string body_error(const std::string& body) {
  return error_of([&] { read_program("here", seal("systole-program-1", body)); });
}

TEST(SerializedProgram, RefusesOptionsAndProgramsThatItDidNotWrite) {
  const std::string program(kProgram);
  EXPECT_EQ(body_error("1 1 0 0 1 {} -\n" + program), "no error");
  for (const char* const options :
       {"", "1", "1 1 0 0 1 {}", "1 1 0 0 1 {} -01 2 x", "99999999999 1 0 0 1 {} -",
        "1 1 0 0 7 {} -", "1 1 0 0 1 {fast} -"}) {
    EXPECT_THAT(body_error(options + ("\n" + program)),
                AllOf(StartsWith("DATA_LOSS"), HasSubstr("got options '")))
        << options;
  }
  EXPECT_THAT(body_error("1 1 0 0 1 {} -"), StartsWith("DATA_LOSS"));
  EXPECT_THAT(body_error("1 1 0 0 1 {} -\n" + program.substr(0, 90)),
              AllOf(StartsWith("DATA_LOSS: here: compiled program:"), HasSubstr("got")));
}

}  // namespace
}  // namespace systole::runtime
