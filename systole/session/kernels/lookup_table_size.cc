#include "systole/session/host/vocabulary.h"

namespace systole::kernels {

extern const HostKernelDef lookup_table_size_kernel{
    .op = "LookupTableSizeV2",
    .run = [](KernelContext& c) { return std::vector{Tensor(vocabulary_of(c)->size())}; },
};

}  // namespace systole::kernels
