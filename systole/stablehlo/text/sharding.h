// Shardings of values in a text. A module has them as custom calls, whose forms ir/placement.h
// tells.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/ir/placement.h"
#include "systole/stablehlo/text/attribute.h"
#include "systole/stablehlo/text/parsed_op.h"

namespace systole::hlo::text {

// Attributes of Shardy whose names the pretty forms leave out.
inline constexpr std::string_view kShardingPerValue = "sdy.sharding_per_value";
inline constexpr std::string_view kManualAxes = "sdy.manual_axes";

// Returns the text of an attribute of Shardy, with its name and in angle brackets:
// "#sdy.sharding<@mesh, [{"x"}]>", "#sdy<manual_axes{"x"}>".
std::string sharding_text(Lexer& lexer, const Attribute& attribute);
// Returns the text for each result of an op: the elements of #sdy.sharding_per_value<[...]>, or
// GSPMD's string.
std::vector<std::string> sharding_texts(Lexer& lexer, const Attribute& attribute);

// Appends a custom call that gives `value` the sharding, and returns its result; `value` itself if
// it is a scalar that is the same everywhere.
Value add_sharding(Builder& builder, Value value, std::string_view attribute, std::string text);

// The texts of a manual computation.
struct ManualShardings {
  std::string in;
  std::string out;
  std::string axes;
};
// Errors: INVALID_ARGUMENT if one is missing.
ManualShardings read_manual_shardings(Lexer& lexer, const ParsedOp& op);

// Appends a custom call of `target`, one of the two that begin and end a manual computation, and
// returns its results, of `types`. No values: appends nothing.
std::vector<Value> add_shape_change(Builder& builder, std::string_view target,
                                    const std::vector<Value>& values,
                                    const std::vector<TensorType>& types,
                                    const ManualShardings& shardings);

}  // namespace systole::hlo::text
