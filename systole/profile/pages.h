// The pages of a profile, as JSON. The first four have the layout of the Cloud TPU profile plugin,
// tables of Google Charts: {cols: [{id, label, type}], rows: [{c: [{v}]}], p: {...}}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "systole/profile/analysis.h"

namespace systole::profile {

nlohmann::json overview_page(const Analysis& analysis);
nlohmann::json input_pipeline_page(const Analysis& analysis);
// Trees of ops by category, by name scope ("dense/MatMul") and by source line.
nlohmann::json op_profile_page(const Analysis& analysis);
// The memory of the program whose steps took longest: buffers in program order. From the memory
// plan alone.
nlohmann::json memory_page(const tracing::Recording& recording, const Analysis& analysis);
nlohmann::json pod_page(const Analysis& analysis);
// Returns all figures of an Analysis: the file NAME.systole.json, which report.h reads.
nlohmann::json analysis_page(const tracing::Recording& recording, const Analysis& analysis);

// Returns the text of a page. Names of a program may have any encoding: what is not UTF-8 is
// replaced.
std::string text_of(const nlohmann::json& page);

}  // namespace systole::profile
