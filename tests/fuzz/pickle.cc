// Pickles: every value that can be reached is asked for in every way.
#include "systole/io/tables/pickle.h"

#include <vector>

#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  fuzz::may_refuse([&] {
    const Pickle pickle("f", fuzz::text_of(data, size));
    std::vector<PickleValue> values = {pickle.root()};
    constexpr size_t kMaxValues = 200;  // a pickle may contain itself
    for (size_t i = 0; i < values.size(); ++i) {
      const PickleValue value = values[i];
      (void)pickle.text(value);
      fuzz::may_refuse([&] { (void)pickle.at(value, "data"); });
      fuzz::may_refuse([&] { (void)pickle.elements(value); });
      fuzz::may_refuse([&] { (void)pickle.int_list(value); });
      fuzz::may_refuse([&] { (void)pickle.byte_array(value); });
      for (const PickleValue& item : pickle.items(value)) {
        if (values.size() < kMaxValues) values.push_back(item);
      }
    }
  });
  return 0;
}
