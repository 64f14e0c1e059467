// interleave with threads where something fails: it gives what the serial one gives, errors in
// their places, and ends.
#include <gtest/gtest.h>

#include "systole/base/random.h"
#include "systole/data/dataset.h"
#include "systole/data/stage.h"
#include "systole/data/testing/elements.h"

namespace systole::data {
namespace {

const ElementSpec kInt{TensorType{DType::s64, {}}};

int64_t number(const Element& x) { return x.leaf().item<int64_t>(); }

// `inputs` data sets of 0 to 4 elements, of which an input, a maker or an element may fail.
Dataset failing(uint64_t seed, int64_t calls) {
  RandomStream random(seed);
  const auto inputs = static_cast<int64_t>(random.next_below(8));
  const auto cycle = static_cast<int64_t>(1 + random.next_below(4));
  const auto block = static_cast<int64_t>(1 + random.next_below(3));
  const auto fails = [=](const char* what, int64_t i) {
    RandomStream draw(mix(seed, static_cast<uint64_t>(i) + static_cast<uint64_t>(what[0]) * 1000));
    if (draw.next_below(4) == 0) throw std::runtime_error(what);
  };
  const auto input = [=](const Element& x) {
    fails("input", number(x));
    return x;
  };
  const auto make = [=](const Element& x) {
    fails("maker", number(x));
    const int64_t size = number(x) * 7 % 5;
    return Dataset::range(10 * number(x), 10 * number(x) + size)
        .map_cpp(
            [=](const Element& y) {
              fails("element", number(y));
              return y;
            },
            kInt);
  };
  return Dataset::range(inputs)
      .map_cpp(input, kInt)
      .interleave(make, {.cycle_length = cycle,
                         .block_length = block,
                         .num_parallel_calls = calls,
                         .element_spec = kInt});
}

TEST(InterleaveErrorsTest, ThreadsGiveWhatTheSerialOneGives) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const auto serial = elements(failing(seed, 0));
    EXPECT_EQ(elements(failing(seed, 2)), serial) << seed;
    EXPECT_EQ(elements(failing(seed, 5)), serial) << seed;
  }
}

TEST(InterleaveErrorsTest, ResumesAtEveryPosition) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Dataset dataset = failing(seed, 2);
    const auto all = elements(dataset);
    for (size_t position = 0; position <= all.size(); ++position) {
      Iterator first(dataset);
      auto got = rest(first, static_cast<int64_t>(position));
      Iterator second(dataset);
      second.restore_state(first.save_state());
      for (const std::string& element : rest(second)) got.push_back(element);
      EXPECT_EQ(got, all) << seed << " at " << position;
    }
  }
}

}  // namespace
}  // namespace systole::data
