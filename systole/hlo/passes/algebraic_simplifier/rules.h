// The tables of rules, one per file, in the order in which they are tried.
#pragma once

#include "systole/hlo/passes/algebraic_simplifier/rule.h"

namespace systole::hlo {

std::span<const Rule> canonical_rules();      // one form for what can be written in several
std::span<const Rule> identity_rules();       // x + 0, x * 1, f(x, x), f(f(x))
std::span<const Rule> arithmetic_rules();     // signs, powers, division by a power of two
std::span<const Rule> logic_rules();          // compare, select, not
std::span<const Rule> convert_rules();        // conversions
std::span<const Rule> broadcast_rules();      // broadcasts, elementwise operations on them
std::span<const Rule> reshape_rules();        // reshape
std::span<const Rule> transpose_rules();      // transpose and reverse
std::span<const Rule> slice_rules();          // slice
std::span<const Rule> dynamic_slice_rules();  // slices and gathers at constants
std::span<const Rule> concatenate_rules();    // concatenate, pad
std::span<const Rule> reduce_rules();         // reduce, reduce_window, sort
std::span<const Rule> dot_rules();            // dot_general
std::span<const Rule> convolution_rules();    // convolution
std::span<const Rule> control_flow_rules();   // if, case, while

// All tables.
const RuleIndex& all_rules();

}  // namespace systole::hlo
