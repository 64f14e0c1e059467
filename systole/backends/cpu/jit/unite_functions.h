// Makes one function of those that differ in numbers alone: the same steps on arrays of other
// sizes, as the updates of a network's parameters are. Code is made of each form once.
#pragma once

namespace llvm {
class Module;
}

namespace systole::cpu {

// Functions of a module that are equal but for constants become calls of one function,
// "<name>.form", which takes the constants that differ as parameters. Constants that say how code
// is shaped stay: divisors in loops, booleans, what intrinsics and structs demand. Leaves main,
// small functions, and those with the attribute optnone as they are. Deterministic.
void unite_functions(llvm::Module& module);

}  // namespace systole::cpu
