// Makes clients of plugins.
#pragma once

#include <memory>

#include "systole/backends/pjrt/address.h"
#include "systole/backends/pjrt/device_array.h"

namespace systole::pjrt {

// Loads the plugin, makes its client and describes its devices. Errors: those of find_plugin(), of
// Plugin::load() and of the plugin; UNAVAILABLE if this process has no device.
std::shared_ptr<const Session> open_session(const Address& address);

// Errors: the plugin's; UNIMPLEMENTED if it cannot tell.
runtime::MemoryStats memory_stats(const Session& session, PJRT_Device* device);

// The version of StableHLO that the plugin reads, "1.8.0"; "" if it does not tell.
std::string stablehlo_version(const Plugin& plugin);

}  // namespace systole::pjrt
