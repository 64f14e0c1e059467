#include "systole/runtime/program_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using ::testing::StartsWith;
using ::testing::StrEq;

TEST(ProgramOptions, AreReadFromTheirText) {
  EXPECT_EQ(to_text({}), "{}");
  EXPECT_EQ(to_text({.profile = true}), "{profile}");
  const std::string both = to_text({.bf16_products = true, .profile = true});
  EXPECT_EQ(both, "{bf16_products,profile}");
  const ProgramOptions read = program_options_of(both);
  EXPECT_TRUE(read.bf16_products && read.profile);
  EXPECT_FALSE(program_options_of("{profile}").bf16_products);
  EXPECT_FALSE(program_options_of("").profile);
  for (const char* const wrong : {"profile", "{", "{profile", "{profiles}", "{,profile}", "1"}) {
    EXPECT_THAT(error_of([&] { program_options_of(wrong); }),
                StartsWith("INVALID_ARGUMENT: program options, got '"))
        << wrong;
  }
}

TEST(ProgramOptions, AreRefusedByABackendWithoutThem) {
  const ProgramOptions options{.bf16_products = true, .profile = true};
  EXPECT_NO_THROW(check_program_options("here", options, {"bf16_products", "profile"}));
  EXPECT_THAT(error_of([&] { check_program_options("here", options, {"profile"}); }),
              StrEq("UNIMPLEMENTED: here: program option 'bf16_products', got true, expected "
                    "false: it has none"));
}

}  // namespace
}  // namespace systole::runtime
