// Files and records.
#include <algorithm>

#include "systole/io/file_systems/file_pattern.h"
#include "systole/session/host/host_kernel.h"
#include "systole/session/kernels/example_parser.h"
#include "systole/session/kernels/node_files.h"

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

extern const HostKernelDef read_file_kernel{
    .op = "ReadFile",
    .run =
        [](KernelContext& c) {
          const auto name = c.input(0).item<std::string>();
          NodeFiles files(c.node);
          return std::vector{Tensor(systole::read_file(files, name))};
        },
};

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

extern const HostKernelDef parse_example_kernel{
    .op = "ParseExample",
    .run =
        [](KernelContext& c) {
          return parse_examples(*schema_of(c), c.input(0).data<std::string>(), true,
                                c.inputs.subspan(1));
        },
};

extern const HostKernelDef parse_single_example_kernel{
    .op = "ParseSingleExample",
    .run =
        [](KernelContext& c) {
          return parse_examples(*schema_of(c), c.input(0).data<std::string>(), false,
                                c.inputs.subspan(1));
        },
};

}  // namespace systole::kernels
