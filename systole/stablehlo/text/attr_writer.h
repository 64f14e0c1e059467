// Converts an instruction's attributes to text: the printing visitor of ir/attrs.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/attrs.h"
#include "systole/stablehlo/text/syntax.h"

namespace systole::hlo::text {

struct WrittenAttr {
  std::string name;
  std::string text;  // "" for a name alone
  bool present;      // differs from its default, or has no default
  bool in_syntax;    // named by the pretty form, and in its short spelling
};

// Returns the attributes in the order of describe(): all that `syntax`, which may be null, names,
// and all others that are present. Constants with more than `max_literal_elements` elements are
// hexadecimal.
std::vector<WrittenAttr> write_attrs(const Attrs& attrs, const Syntax* syntax,
                                     int64_t max_literal_elements);

// "a, b, c".
std::string join(const std::vector<std::string>& texts);

// Returns "a = 1 : i64, b": the attributes that the pretty form does not name.
std::string dictionary_text(const std::vector<WrittenAttr>& attrs);

}  // namespace systole::hlo::text
