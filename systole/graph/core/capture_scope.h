// How a graph that is traced as a function takes tensors of the graph around it.
#pragma once

#include <functional>

#include "systole/graph/core/graph.h"

namespace systole {

// While it lives, on this thread, `capture` gives `function`, a graph of its own, what stands in it
// for a tensor of another graph. An error that it throws is that of the op.
class CaptureScope {
 public:
  using Capture = std::function<Output(const Output&)>;
  CaptureScope(const Graph& function, Capture capture);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

  // Null when none is in force for `function`.
  static const Capture* of(const Graph& function);

 private:
  const Graph& function_;
  const Capture capture_;
  const CaptureScope* const previous_;
};

}  // namespace systole
