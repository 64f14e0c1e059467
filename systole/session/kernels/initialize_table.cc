#include "systole/session/host/vocabulary.h"

namespace systole::kernels {

extern const HostKernelDef initialize_table_kernel{
    .op = "InitializeTable",
    .run =
        [](KernelContext& c) {
          vocabulary_of(c);
          return std::vector<Tensor>();
        },
};

}  // namespace systole::kernels
