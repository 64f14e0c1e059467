// The options of PJRT_Client_Create.
#pragma once

#include <span>
#include <string>

#include "systole/pjrt_abi/pjrt_c_api.h"
#include "systole/runtime/client_options.h"

namespace systole::plugin {

// A backend and the options of its client.
struct BackendChoice {
  std::string backend = "cpu";
  runtime::ClientOptions options;
};

// Reads `backend` ("cpu", "reference") and the options of that backend: `cores`, `core_memory`,
// `core_kind`, or, for these three, `tpu`: "v2-8" or "v3-8", the cores of that Cloud TPU with their
// memory. Options that are not given are those of SYSTOLE_PJRT_OPTIONS, "backend=cpu,cores=8";
// where neither `cores` nor `tpu` is given, SYSTOLE_CORES and SYSTOLE_TPU are. A text is taken for
// a number where the option is one: some hosts pass nothing else. Ignores the names that frameworks
// pass to every plugin.
// Errors: INVALID_ARGUMENT for other names and for values of other types; UNIMPLEMENTED for several
// processes.
BackendChoice read_client_options(std::span<const PJRT_NamedValue> values);

// "backend=cpu,cores=8", which parse_choice() reads.
std::string to_text(const BackendChoice& choice);
BackendChoice parse_choice(std::string_view text);

}  // namespace systole::plugin
