#include "systole/session/device/feeds.h"

#include <algorithm>

namespace systole {

const Tensor* FeedValues::find(Output key) const {
  const auto it = std::ranges::find(keys, key);
  return it == keys.end() ? nullptr : values[it - keys.begin()];
}

}  // namespace systole
