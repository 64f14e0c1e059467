// Programs with loops, for tests of passes over them.
#pragma once

#include <string>

namespace systole::hlo::testing {

// main(x: 4x3x2, y: 4x3x5) of s32: a loop over the rows of both that carries %acc of `acc_type`
// (all 7 at first). `body` defines %next of %i (0 to 3), %acc, %a and %b (the rows, 3x2 and 3x5).
std::string loop_over_rows(const std::string& acc_type, const std::string& body);

// main(x: 4x3x5, u: 2x5, w: 5x2) of s32: a recurrent loop, h = (x[t] + h u) w, that stacks h before
// each step, and a loop back through it that computes the sum x[t] + h u again from the stack and
// adds it up. `back` is the op between the two in the later loop: "add".
std::string loop_and_back(const std::string& back);

}  // namespace systole::hlo::testing
