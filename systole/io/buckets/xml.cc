#include "systole/io/buckets/xml.h"

#include <sstream>

namespace systole::buckets {
namespace {

pugi::xml_node find_element(const pugi::xml_document& document, std::string_view name) {
  return document.find_node([&](const pugi::xml_node& node) { return node.name() == name; });
}

}  // namespace

pugi::xml_document parse_xml(std::string_view text) {
  pugi::xml_document document;
  if (!document.load_buffer(text.data(), text.size())) document.reset();
  return document;
}

std::string xml_text(std::string_view document, const char* name) {
  return find_element(parse_xml(document), name).text().get();
}

std::string xml_escaped(const std::string& text) {
  pugi::xml_document document;
  document.append_child(pugi::node_pcdata).set_value(text.c_str());
  std::ostringstream escaped;
  document.print(escaped, "", pugi::format_raw | pugi::format_no_declaration);
  return escaped.str();
}

std::string xml_error_text(const std::string& body) {
  const pugi::xml_document document = parse_xml(body);
  const pugi::xml_node error = find_element(document, "Error");
  if (!error) return "";
  const std::string code = error.child_value("Code");
  const std::string message = error.child_value("Message");
  return message.empty() ? code : code + ": " + message;
}

}  // namespace systole::buckets
