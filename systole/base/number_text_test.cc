#include "systole/base/number_text.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(NumberTextTest, AsFewDigitsAsGiveTheNumberBack) {
  const struct {
    Tensor tensor;
    const char* text;
  } rows[] = {
      {Tensor::of<float>({}, {0.96F}), "0.96"},
      {Tensor::of<float>({}, {1.0F}), "1"},
      {Tensor::of<float>({}, {0.094759256F}), "0.094759256"},
      {Tensor::of<float>({}, {1e-20F}), "1e-20"},
      {Tensor::of<double>({}, {0.1}), "0.1"},
      {Tensor::of<double>({}, {0.96F}), "0.9599999785423279"},
      {Tensor::of<int64_t>({}, {INT64_MAX}), "9223372036854775807"},
      {Tensor::of<uint64_t>({}, {UINT64_MAX}), "18446744073709551615"},
      {Tensor::of<int32_t>({}, {2147483647}), "2147483647"},
      {Tensor::of<bool>({}, {true}), "1"},
  };
  for (const auto& [tensor, text] : rows) EXPECT_EQ(number_text(tensor), text);
  EXPECT_EQ(number_text(Tensor::of<float>({2}, {0.25F, 0.5F}), 1), "0.5");
}

}  // namespace
}  // namespace systole
