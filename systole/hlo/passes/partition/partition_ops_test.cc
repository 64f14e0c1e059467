// Each op with random shardings of its operands and results.
#include <gtest/gtest.h>

#include "systole/hlo/testing/partitioned.h"
#include "systole/hlo/testing/partitioned_ops.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo::testing {
namespace {

class PartitionOps : public ::testing::TestWithParam<PartitionedOp> {};

TEST_P(PartitionOps, EqualTheWhole) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const int num_devices = seed < 8 ? 8 : seed < 10 ? 4 : 2;
    const std::string text = text_of(GetParam(), num_devices, seed);
    const auto module = parse(text);
    ASSERT_EQ(partition_difference(*module, num_devices, seed), "") << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, PartitionOps, ::testing::ValuesIn(partitioned_ops()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace systole::hlo::testing
