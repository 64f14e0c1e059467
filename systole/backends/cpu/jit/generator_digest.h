// The version of this backend's code generator, as part of the key of compiled code.
#pragma once

#include <string_view>

namespace systole::cpu {

// SHA-256, in hexadecimal digits, of the sources that the code of an optimised program depends on
// (backends/cpu/CMakeLists.txt names their folders). The build generates its definition, so that
// code which another version of them has compiled is never run.
std::string_view generator_digest();

}  // namespace systole::cpu
