// Programs as bytes: the plugin's own, with what the plugin does not tell of them.
#pragma once

#include <string>
#include <string_view>

#include "systole/backends/pjrt/device_array.h"
#include "systole/backends/pjrt/interface.h"

namespace systole::pjrt {

struct SavedProgram {
  Interface interface;
  std::string_view code;  // the plugin's bytes
};

// Returns the bytes of a program. Other devices, and other versions of the plugin, do not read
// them.
std::string save_program(const Session& session, const Interface& interface, std::string_view code);
// Reads what save_program() wrote; `code` is a part of `bytes`. Errors: DATA_LOSS for other bytes,
// and for a program of another plugin, version or kind of device; INVALID_ARGUMENT for devices that
// this process does not have.
SavedProgram read_program(const Session& session, std::string_view bytes);

}  // namespace systole::pjrt
