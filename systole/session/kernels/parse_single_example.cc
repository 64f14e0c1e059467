#include "systole/session/host/example_parser.h"

namespace systole::kernels {

extern const HostKernelDef parse_single_example_kernel{
    .op = "ParseSingleExample",
    .run =
        [](KernelContext& c) {
          return parse_examples(*schema_of(c), c.input(0).data<std::string>(), false,
                                c.inputs.subspan(1));
        },
};

}  // namespace systole::kernels
