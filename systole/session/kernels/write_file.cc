#include "systole/session/host/host_kernel.h"
#include "systole/session/host/node_files.h"

namespace systole::kernels {

extern const HostKernelDef write_file_kernel{
    .op = "WriteFile",
    .run =
        [](KernelContext& c) {
          const auto name = c.input(0).item<std::string>();
          NodeFiles files(c.node);
          files.make_directories(parent_path(name));
          write_file_atomically(files, name, c.input(1).data<std::string>()[0]);
          return std::vector<Tensor>();
        },
};

}  // namespace systole::kernels
