#include "systole/io/file_systems/file_systems.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {

extern const HostKernelDef read_file_kernel;
const HostKernelDef read_file_kernel{
    .op = "ReadFile",
    .run =
        [](KernelContext& c) {
          const auto name = c.input(0).item<std::string>();
          return std::vector{Tensor(systole::read_file(default_file_system(), name))};
        },
};

}  // namespace systole::kernels
