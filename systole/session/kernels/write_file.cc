#include "systole/io/file_systems/file_systems.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {

extern const HostKernelDef write_file_kernel;
const HostKernelDef write_file_kernel{
    .op = "WriteFile",
    .run =
        [](KernelContext& c) {
          const auto name = c.input(0).item<std::string>();
          default_file_system().make_directories(parent_path(name));
          write_file_atomically(default_file_system(), name, c.input(1).data<std::string>()[0]);
          return std::vector<Tensor>();
        },
};

}  // namespace systole::kernels
