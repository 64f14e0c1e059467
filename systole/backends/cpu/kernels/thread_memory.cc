#include "systole/backends/cpu/kernels/thread_memory.h"

#include "systole/base/tensor.h"

namespace systole::cpu {

float* thread_memory(int64_t elements) {
  thread_local Tensor memory(DType::f32, {0});
  if (memory.shape().num_elements() < elements) memory = Tensor(DType::f32, {elements});
  return memory.data<float>().data();
}

}  // namespace systole::cpu
