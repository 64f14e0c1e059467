// What a shell may offer for the value of an option.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/base/command_line.h"

namespace systole::app {

// Returns the values that the option takes: {"GZIP", "ZLIB"} for "GZIP|ZLIB"; none if any will do.
std::vector<std::string> choices_of(const OptionText& option);

// What the value of an option is: nothing (a flag), one of a few words, a folder, a file or any
// text (which may name a file), or a number or address, for which a shell can offer nothing.
enum class ValueKind { none, choices, folder, file, other };
ValueKind kind_of(const OptionText& option);

// Returns the text up to the first bracket or the end of the first sentence: what fits one line.
std::string short_text(std::string_view text);

}  // namespace systole::app
