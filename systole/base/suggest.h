// "Did you mean": the known name nearest to a misspelled one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace systole {

// Returns the optimal string alignment distance: the least number of insertions, deletions,
// replacements and swaps of neighbours that turns a into b.
size_t edit_distance(std::string_view a, std::string_view b);

// Returns the candidate nearest to `name`, ignoring case, or one that contains it ("AdamOptimizer"
// for "Adam"); "" if none is near. The first wins a tie.
std::string closest_name(std::string_view name, std::span<const std::string> candidates);

// Returns ", did you mean 'x'?" to end a message, or "".
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace systole
