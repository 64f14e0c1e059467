// The host of libtpu in the compiler's process. Internal to this folder.
#pragma once

#include <string>

#include "systole/tpu_check/process.h"

namespace systole::tpu_check {

// Loads the library, compiles the program and writes what it learned to `folder`/values. Writes to
// `folder`/stage what it begins. Compilers that fail a check of their own end the process.
void compile_in_this_process(const CompilerJob& job, const std::string& folder);

// Values as bytes, and back. decode() stops at bytes that are cut off.
std::string encode_values(const std::map<std::string, std::string>& values);
std::map<std::string, std::string> decode_values(std::string_view bytes);

}  // namespace systole::tpu_check
