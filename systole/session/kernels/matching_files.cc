#include <algorithm>

#include "systole/io/file_systems/file_pattern.h"
#include "systole/session/host/host_kernel.h"
#include "systole/session/host/node_files.h"

namespace systole::kernels {

extern const HostKernelDef matching_files_kernel{
    .op = "MatchingFiles",
    .run =
        [](KernelContext& c) {
          NodeFiles allowed(c.node);
          std::vector<std::string> files;
          for (const std::string& pattern : c.input(0).data<std::string>()) {
            std::ranges::move(files_matching(allowed, pattern), std::back_inserter(files));
          }
          std::ranges::sort(files);
          const Shape shape{static_cast<int64_t>(files.size())};
          return std::vector{Tensor::of<std::string>(shape, files)};
        },
};

}  // namespace systole::kernels
