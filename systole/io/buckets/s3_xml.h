// The parts of XML that S3 writes: elements without attributes of interest, text with entities.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace systole::buckets {

// Returns the contents of all elements with this name that do not lie in another of the same name,
// in order. Skips what is not closed.
std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name);
// Returns the text of the first such element with its entities resolved, or "".
std::string xml_text(std::string_view xml, std::string_view name);
// Escapes the characters that XML reserves.
std::string xml_escaped(std::string_view text);
// Returns "<Code>: <Message>" of an error's body, or "".
std::string xml_error_text(const std::string& body);

}  // namespace systole::buckets
