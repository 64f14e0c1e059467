// The pjrt backend: devices of a PJRT plugin.
#pragma once

#include <memory>
#include <span>

#include "systole/runtime/client.h"
#include "systole/runtime/client_options.h"

namespace systole::pjrt {

// "plugin", "program_format".
std::span<const runtime::OptionDef> client_options();

// Errors: those of loading the plugin and of making its client.
std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options);

}  // namespace systole::pjrt
