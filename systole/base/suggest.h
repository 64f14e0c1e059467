// "Did you mean": the known name nearest to a mistyped one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace systole {

// The least number of characters inserted, removed, replaced or swapped with their neighbour that
// turns a into b (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, in upper or lower case, or one of which it is a part ("Adam" of
// "AdamOptimizer"); "" when none is near enough to be meant. The first wins a tie.
std::string closest_name(std::string_view name, std::span<const std::string> candidates);

// ", did you mean 'x'?" to end a message with, or "".
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace systole
