// Ops that refer to functions of their module: call, composite, custom_call.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns the functions that the attributes name, with repetitions.
std::vector<std::string> callees(const Attrs& attrs);

// Returns all functions of the module in an order in which callees precede their callers, as far as
// there is one: recursive calls, which the verifier rejects, are ignored where they close a circle.
std::vector<Computation*> callees_first(const Module& module);
// Returns a function that calls itself, if only by way of others; nullptr if there is none. Callees
// that the module lacks are ignored.
const Computation* find_recursion(const Module& module);

// Returns `function` and all functions that it calls, if only by way of others.
std::unordered_set<const Computation*> reached_from(const Computation& function);

}  // namespace systole::hlo
