// Symbols of a text that no computation reads: Shardy's meshes, and functions without a body. A
// module keeps each as the text of an attribute, so that symbols that refer to it stay valid when
// the module is printed.
#pragma once

#include <string>
#include <string_view>

namespace systole::hlo::text {

inline constexpr std::string_view kMesh = "sdy.mesh";
// Prefixes of the attributes' names; the symbol's name follows. The parser refuses attributes in
// texts whose quoted names begin with one of these.
inline constexpr std::string_view kMeshAttribute = "sdy.mesh @";
inline constexpr std::string_view kDeclaration = "func.func private @";  // "(T, U) -> V"

}  // namespace systole::hlo::text
