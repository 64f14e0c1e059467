// XML as S3 writes and reads it, by pugixml. Names have no namespace prefix.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace systole::buckets {

// Returns the document, an empty one for text that is not well-formed.
pugi::xml_document parse_xml(std::string_view text);
// Returns the text of the first element with this name anywhere in the document, or "".
std::string xml_text(std::string_view document, const char* name);
// Escapes the characters that XML reserves.
std::string xml_escaped(const std::string& text);
// Returns "<Code>: <Message>" of an error's body, or "".
std::string xml_error_text(const std::string& body);

}  // namespace systole::buckets
