// Characters of UTF-8 texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace systole::keras {

// The characters of a text, each as its bytes. A byte that is not UTF-8 is a character.
std::vector<std::string_view> utf8_characters(std::string_view text);

// The text in lower case: Latin, Greek, Cyrillic, Armenian and full-width letters, one for one.
// Other characters, and bytes that are not UTF-8, stay.
std::string utf8_lower(std::string_view text);

}  // namespace systole::keras
