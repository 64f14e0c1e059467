// Writes JSON text. Numbers that are not finite become the strings "NaN", "Infinity", "-Infinity",
// as TensorBoard writes them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace systole::board {

// Appends the shortest text that reads back as the same number.
void append_number(std::string& out, double value);
// Appends a quoted and escaped string; invalid UTF-8 becomes U+FFFD.
void append_string(std::string& out, std::string_view text);

// Returns a number, or a string for one that is not finite.
nlohmann::json json_number(double value);
// Returns the text of a value. Never throws for invalid UTF-8.
std::string json_text(const nlohmann::json& value);

}  // namespace systole::board
