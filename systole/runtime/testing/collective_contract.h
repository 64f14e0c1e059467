// What every group of processes promises: see collective.h. Each function is called with a new
// group on all of its ranks together.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "systole/base/testing/error_of.h"
#include "systole/runtime/collective.h"

namespace systole::runtime::contract {

using systole::testing::error_of;
using ::testing::HasSubstr;

inline void adds_in_pairs(Collective& rank) {
  // In f32, (1e8 + 1) - 1e8 is 0, and 1e8 + (1 - 1e8) is 8.
  const float values[] = {1e8F, 1, -1e8F, 0.5F, 3};
  std::vector<float> sums(values, values + rank.size());
  while (sums.size() > 1) {
    std::vector<float> pairs;
    for (size_t i = 0; i < sums.size(); i += 2) {
      pairs.push_back(i + 1 < sums.size() ? sums[i] + sums[i + 1] : sums[i]);
    }
    sums = pairs;
  }
  // Within a message, in one chunk of a slice, and in many.
  for (const int64_t count : {2, 5'001, 3'000'001}) {
    for (int i = 0; i < 3; ++i) {
      Tensor value = Tensor::full(DType::f32, {count}, values[rank.rank()]);
      value.data<float>().back() = static_cast<float>(i);
      rank.all_reduce(value, Reduction::sum);
      Tensor expected = Tensor::full(DType::f32, {count}, sums[0]);
      expected.data<float>().back() = static_cast<float>(i * rank.size());
      EXPECT_TRUE(value.identical(expected)) << count;
    }
  }
}

inline void reduces_every_kind_of_number(Collective& rank) {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::s32, DType::s64, DType::u8}) {
    for (const int64_t count : {1, 40'000}) {
      const auto reduced = [&](Reduction reduction) {
        Tensor value = Tensor::full(dtype, {count}, rank.rank() + 1);
        rank.all_reduce(value, reduction);
        EXPECT_EQ(value.as_double(0), value.as_double(count - 1));
        return value.as_double(0);
      };
      const int n = rank.size();
      EXPECT_EQ(reduced(Reduction::sum), n * (n + 1) / 2);
      EXPECT_EQ(reduced(Reduction::min), 1);
      EXPECT_EQ(reduced(Reduction::max), n);
    }
  }
}

inline void rounds_halves_once(Collective& rank) {
  // In bf16 256 + 1 is 256.
  Tensor value = Tensor::full(DType::bf16, {}, rank.rank() == 0 ? 256 : 1);
  rank.all_reduce(value, Reduction::sum);
  EXPECT_EQ(value.as_double(0), rank.size() >= 3 ? 254 + 2 * (rank.size() / 2 + 1) : 256);
}

inline void gathers_and_broadcasts(Collective& rank) {
  const Tensor own = Tensor::of<int32_t>({2}, {rank.rank(), 10 * rank.rank()});
  const Tensor all = rank.all_gather(own);
  EXPECT_EQ(all.shape(), (Shape{rank.size(), 2}));
  for (int r = 0; r < rank.size(); ++r) {
    EXPECT_EQ(all.data<int32_t>()[2 * r + 1], 10 * r);
  }
  const int last = rank.size() - 1;
  Tensor value = own.clone();
  rank.broadcast(value, last);
  EXPECT_TRUE(value.identical(Tensor::of<int32_t>({2}, {last, 10 * last})));
  Tensor large = Tensor::full(DType::f32, {300'000}, rank.rank());
  rank.broadcast(large, 0);
  EXPECT_EQ(large.as_double(299'999), 0);
  rank.barrier();
}

inline void tells_every_rank_of_types_that_differ(Collective& rank) {
  EXPECT_THAT(error_of([&] {
                Tensor value = Tensor::zeros(DType::f32, {rank.rank() == 1 ? 2 : 3});
                rank.all_reduce(value, Reduction::sum);
              }),
              HasSubstr("INVALID_ARGUMENT: collective: operation"));
}

inline void tells_every_rank_of_operations_that_differ(Collective& rank) {
  EXPECT_THAT(error_of([&] {
                Tensor value(1.0F);
                if (rank.rank() == 0) rank.broadcast(value, 0);
                if (rank.rank() != 0) rank.barrier();
              }),
              HasSubstr("broadcast from 0 of f32[] on one rank and barrier"));
}

inline void ends_when_a_rank_leaves(std::unique_ptr<Collective> rank) {
  rank->barrier();
  if (rank->rank() == 1) return;
  EXPECT_THAT(error_of([&] { rank->barrier(); }), HasSubstr("ABORTED"));
  EXPECT_THAT(error_of([&] { rank->barrier(); }), HasSubstr("ABORTED"))
      << "the group cannot be used after it";
}

inline void refuses_what_has_no_order(Collective& rank) {
  Tensor flag(true);
  EXPECT_THAT(error_of([&] { rank.all_reduce(flag, Reduction::sum); }),
              HasSubstr("INVALID_ARGUMENT: all_reduce: dtype, got pred"));
}

}  // namespace systole::runtime::contract
