#include "systole/session/host/host_kernel.h"
#include "systole/session/host/node_files.h"

namespace systole::kernels {

extern const HostKernelDef read_file_kernel{
    .op = "ReadFile",
    .run =
        [](KernelContext& c) {
          const auto name = c.input(0).item<std::string>();
          NodeFiles files(c.node);
          return std::vector{Tensor(systole::read_file(files, name))};
        },
};

}  // namespace systole::kernels
