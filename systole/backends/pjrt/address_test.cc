#include "systole/backends/pjrt/address.h"

#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"

namespace systole::pjrt {
namespace {

TEST(PjrtAddress, HasAPluginAndTypedOptions) {
  EXPECT_EQ(parse_address("cuda").plugin, "cuda");
  EXPECT_TRUE(parse_address("cuda").options.empty());
  const Address address =
      parse_address("/lib/a.so?cores=8&memory_fraction=0.5&preallocate=false&allocator=bfc&empty=");
  EXPECT_EQ(address.plugin, "/lib/a.so");
  const std::vector<CreateOption> expected = {{"cores", int64_t{8}},
                                              {"memory_fraction", 0.5F},
                                              {"preallocate", false},
                                              {"allocator", std::string("bfc")},
                                              {"empty", std::string()}};
  EXPECT_EQ(address.options, expected);
  EXPECT_EQ(systole::testing::error_of([] { parse_address("cuda?cores"); }),
            "INVALID_ARGUMENT: pjrt: option of the plugin, got 'cores', expected name=value");
}

}  // namespace
}  // namespace systole::pjrt
