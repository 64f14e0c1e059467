// From an instruction's attributes to text: the printing visitor of ir/attrs.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/attrs.h"
#include "systole/hlo/text/syntax.h"

namespace systole::hlo::text {

struct WrittenAttr {
  std::string name;
  std::string text;  // "" for a name alone
  bool present;      // it differs from its default, or has none
  bool in_syntax;    // in its short spelling; else in its full one
};

// In the order of their description. What `syntax` names, which may be null, is always there; other
// attributes are when they are present. Longer constants than `max_literal_elements` are
// hexadecimal.
std::vector<WrittenAttr> write_attrs(const Attrs& attrs, const Syntax* syntax,
                                     int64_t max_literal_elements);

// "a, b, c".
std::string join(const std::vector<std::string>& texts);

// "a = 1 : i64, b": those that no syntax names.
std::string dictionary_text(const std::vector<WrittenAttr>& attrs);

}  // namespace systole::hlo::text
