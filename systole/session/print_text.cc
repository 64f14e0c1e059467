#include "systole/session/print_text.h"

#include <algorithm>

#include "systole/base/number_text.h"

namespace systole {

std::string print_text(const Node& node, std::span<const Tensor> printed) {
  std::string text = node.attr<std::string>("message");
  const auto summarize = node.attr<int64_t>("summarize");
  for (const Tensor& value : printed) {
    const int64_t size = value.num_elements();
    const int64_t shown = summarize < 0 ? size : std::min(size, summarize);
    text += '[';
    for (int64_t i = 0; i < shown; ++i) {
      if (i > 0) text += ' ';
      text += value.dtype() == DType::string ? value.data<std::string>()[static_cast<size_t>(i)]
                                             : number_text(value, i);
    }
    text += shown < size ? "...]" : "]";
  }
  return text;
}

}  // namespace systole
