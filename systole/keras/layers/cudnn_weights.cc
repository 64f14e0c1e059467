#include "systole/keras/layers/cudnn_weights.h"

#include <vector>

#include "systole/graph/api/array_ops.h"

namespace systole::keras::layers {

Output from_cudnn_kernel(const Output& kernel, int64_t gates) {
  std::vector<Output> blocks = split(kernel, gates, {.axis = 1});
  for (Output& block : blocks) {
    const int64_t rows = block.shape()[0];
    const int64_t units = block.shape()[1];
    block = transpose(reshape(block, {units, rows}), {.perm = {1, 0}});
  }
  return concat(blocks, 1);
}

}  // namespace systole::keras::layers
