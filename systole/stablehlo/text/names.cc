#include "systole/stablehlo/text/names.h"

#include <charconv>

namespace systole::hlo::text {

void Scopes::define(const Lexer& lexer, const Token& name, std::vector<NamedValue> values) {
  if (find(name.text) != nullptr) {
    throw lexer.error_at(name.offset,
                         fmt::format("name, got {} again, expected a new one", name.text));
  }
  scopes_.back().names[std::string(name.text)] = std::move(values);
}

const NamedValue& Scopes::read(Lexer& lexer) const {
  const Token name = lexer.expect(TokenKind::value, "operands", "a name such as %0");
  const std::vector<NamedValue>* values = find(name.text);
  if (values == nullptr) {
    throw lexer.error_at(
        name.offset,
        fmt::format("operand, got {}, expected a name that is defined before", name.text));
  }
  size_t index = 0;
  if (lexer.peek().is(TokenKind::hash)) {
    const std::string_view number = lexer.take().text.substr(1);
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), index);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == number.data() + number.size();
    if (!whole || index >= values->size()) {
      throw lexer.error_at(name.offset, fmt::format("operand, got {}#{}, expected one of {} values",
                                                    name.text, number, values->size()));
    }
  }
  return (*values)[index];
}

const std::vector<NamedValue>* Scopes::find(std::string_view name) const {
  for (size_t i = scopes_.size(); i-- > 0;) {
    const auto found = scopes_[i].names.find(std::string(name));
    if (found != scopes_[i].names.end()) return &found->second;
    if (scopes_[i].isolated) return nullptr;
  }
  return nullptr;
}

std::vector<NamedValue> group(const std::vector<TypeTree>& types, std::vector<Value> values) {
  std::vector<NamedValue> groups;
  auto next = values.begin();
  for (const TypeTree& type : types) {
    const auto end = next + static_cast<std::ptrdiff_t>(type.num_leaves());
    groups.push_back({type, {next, end}});
    next = end;
  }
  return groups;
}

}  // namespace systole::hlo::text
