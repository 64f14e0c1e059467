#include "systole/backends/cpu/analysis/causal_mask.h"

#include <gtest/gtest.h>

#include <limits>

#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Value;

// The shift of query + of_query >= key + of_key.
std::optional<int64_t> shift_of(double of_query, double of_key) {
  hlo::Module module("masks");
  hlo::Builder b(module.add_function("main"));
  const TensorType positions{DType::s32, {20, 30}};
  const auto beyond = [&](int64_t axis, double number) {
    const Value position = b.iota(positions, axis);
    return b.add(position, b.splat_like(position, number));
  };
  return causal_shift(
      b.compare(beyond(0, of_query), beyond(1, of_key), hlo::ComparisonDirection::ge));
}

TEST(CausalMask, ComparesPositions) {
  EXPECT_EQ(shift_of(0, 0), 0);
  EXPECT_EQ(shift_of(10, 3), 7);
  EXPECT_EQ(shift_of(-10, 0), -10);
}

// query + 2^31 - 1 is negative for all queries but the first.
TEST(CausalMask, DoesNotTakeSumsThatWrapAround) {
  constexpr double kMaxInt = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(shift_of(kMaxInt, 0), std::nullopt);
  EXPECT_EQ(shift_of(0, kMaxInt), std::nullopt);
  EXPECT_EQ(shift_of(-kMaxInt, 0), std::nullopt);
}

}  // namespace
}  // namespace systole::cpu
