#include "systole/session/host/example_parser.h"

namespace systole::kernels {

extern const HostKernelDef parse_example_kernel{
    .op = "ParseExample",
    .run =
        [](KernelContext& c) {
          return parse_examples(*schema_of(c), c.input(0).data<std::string>(), true,
                                c.inputs.subspan(1));
        },
};

}  // namespace systole::kernels
