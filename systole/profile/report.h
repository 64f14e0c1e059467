// The report of a profile, as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "systole/base/file_system.h"

namespace systole::profile {

// Finds the figures of the newest profile in a folder: a logdir, a run of plugins/profile, or the
// file itself. Errors: NOT_FOUND, with what was looked for; DATA_LOSS for another file.
nlohmann::json read_profile(FileSystem& file_system, const std::string& path);

struct ReportOptions {
  int ops = 15;  // rows of the table of ops
};
// Returns the report, with the formula beside each figure.
std::string report_text(const nlohmann::json& profile, const ReportOptions& options = {});
// Returns what got slower or faster from `before` to `after`: steps, their parts, ops (matched by
// scope, category and shape), input stages.
std::string comparison_text(const nlohmann::json& before, const nlohmann::json& after,
                            const ReportOptions& options = {});

}  // namespace systole::profile
