#include "systole/io/buckets/s3_xml.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "systole/base/number_text.h"
#include "systole/base/text.h"

namespace systole::buckets {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};

// Parses "#38" or "#x26".
std::optional<uint32_t> character_number(std::string_view text) {
  if (!text.starts_with('#') || text.size() > 8) return std::nullopt;
  text.remove_prefix(1);
  const bool hexadecimal = text.starts_with('x');
  if (!hexadecimal) return parse_number<uint32_t>(text);
  uint32_t value = 0;
  for (const char c : text.substr(1)) {
    const std::string_view digits = "0123456789abcdef";
    const size_t digit = digits.find('A' <= c && c <= 'F' ? static_cast<char>(c + 32) : c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<uint32_t>(digit);
  }
  return value;
}

}  // namespace

std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name) {
  std::vector<std::string_view> result;
  const std::string open = "<" + std::string(name);
  const std::string close = "</" + std::string(name) + ">";
  for (size_t at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at + 1)) {
    const size_t after = at + open.size();
    if (after >= xml.size() || (xml[after] != '>' && xml[after] != ' ' && xml[after] != '/')) {
      continue;
    }
    const size_t begin = xml.find('>', after);
    if (begin == std::string_view::npos) break;
    if (xml[begin - 1] == '/') {
      result.emplace_back();
      continue;
    }
    const size_t end = xml.find(close, begin);
    if (end == std::string_view::npos) break;
    result.push_back(xml.substr(begin + 1, end - begin - 1));
    at = end;
  }
  return result;
}

std::string xml_text(std::string_view xml, std::string_view name) {
  const auto elements = xml_elements(xml, name);
  if (elements.empty()) return "";
  const std::string_view text = elements.front();
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text[i] == '&' ? text.find(';', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      result += text[i];
      continue;
    }
    const std::string_view entity = text.substr(i, end - i + 1);
    bool known = false;
    for (const auto& [name_of, character] : kEntities) {
      if (entity != name_of) continue;
      result += character;
      known = true;
    }
    const auto number = character_number(entity.substr(1, entity.size() - 2));
    if (number && *number < 0x110000) append_utf8(result, *number);
    if (known || number) {
      i = end;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    bool reserved = false;
    for (const auto& [name, character] : kEntities) {
      if (c != character) continue;
      result += name;
      reserved = true;
    }
    if (!reserved) result += c;
  }
  return result;
}

std::string xml_error_text(const std::string& body) {
  if (body.find("<Error") == std::string::npos) return "";
  const std::string code = xml_text(body, "Code");
  const std::string message = xml_text(body, "Message");
  return message.empty() ? code : code + ": " + message;
}

}  // namespace systole::buckets
