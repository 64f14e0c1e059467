// Strings: bytes, of any length, in tensors of any shape. They live on the host: no device holds
// them, a session runs these ops before and after the programs of the device.
// (tensorflow/python/ops/string_ops.py)
//
// Elementwise ops take any shape. reshape, slice, stack, concat, gather, equal and the like
// (array_ops.h) take strings too. Errors when run: INVALID_ARGUMENT with the op, the string, the
// node and the user's line. No gradient.
#pragma once

#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

struct StringLengthOptions {
  std::string unit = "BYTE";  // or UTF8_CHAR
  std::string name = {};
};
// The number of bytes of each string, or of its UTF-8 characters. -> s32 (tf.strings.length)
Output string_length(const Input& input, const StringLengthOptions& options = {});

struct SubstrOptions {
  std::string unit = "BYTE";  // or UTF8_CHAR
  std::string name = {};
};
// `len` bytes from `pos` on of each string; a negative pos counts from the end. pos and len are
// integers of the shape of `input`, or scalars. Errors: a pos outside the string. (tf.substr)
Output substr(const Input& input, const Input& pos, const Input& len,
              const SubstrOptions& options = {});

struct StringJoinOptions {
  std::string separator = {};
  std::string name = {};
};
// Strings at the same place, joined; scalars go with every place. (tf.string_join)
Output string_join(const InputList& inputs, const StringJoinOptions& options = {});

struct StringSplitOptions {
  std::string delimiter = " ";  // each of its bytes ends a part; "" splits into bytes
  bool skip_empty = true;
  std::string name = {};
};
// Parts of each string of a vector, as a matrix whose rows are filled with "" after their lengths.
struct StringSplit {
  Output values;   // string[n, longest]
  Output lengths;  // s64[n]
};
StringSplit string_split(const Input& source, const StringSplitOptions& options = {});
// The parts of one string, a scalar: string[parts].
Output string_split_scalar(const Input& source, const StringSplitOptions& options = {});

// Without white space at both ends; ASCII letters in lower or upper case. (tf.strings.strip, lower,
// upper)
Output string_strip(const Input& input, const NameOptions& options = {});
Output string_lower(const Input& input, const NameOptions& options = {});
Output string_upper(const Input& input, const NameOptions& options = {});

struct RegexReplaceOptions {
  bool replace_global = true;
  std::string name = {};
};
// What matches `pattern` (RE2's syntax) replaced by `rewrite`, in which \1 to \9 are the groups.
// Errors: a pattern or a rewrite that RE2 does not take. (tf.regex_replace)
Output regex_replace(const Input& input, const std::string& pattern, const std::string& rewrite,
                     const RegexReplaceOptions& options = {});
// Whether all of a string matches. (tf.strings.regex_full_match)
Output regex_full_match(const Input& input, const std::string& pattern,
                        const NameOptions& options = {});

struct AsStringOptions {
  int64_t precision = -1;   // digits after the point of floating values
  bool scientific = false;  // 1.5e+00
  bool shortest = false;    // %g in place of %f
  int64_t width = -1;       // at least so long
  // What fills it up: "", " " or "0"; "-" aligns left, "+" puts signs. Nothing without a width.
  std::string fill = {};
  std::string name = {};
};
// Numbers and bools ("true", "false") as text. (tf.as_string)
Output as_string(const Input& input, const AsStringOptions& options = {});

struct StringToNumberOptions {
  DType out_type = DType::f32;  // f32, f64, s32 or s64
  std::string name = {};
};
// The number that each string spells, white space at its ends left out. (tf.string_to_number)
Output string_to_number(const Input& string_tensor, const StringToNumberOptions& options = {});

}  // namespace systole
