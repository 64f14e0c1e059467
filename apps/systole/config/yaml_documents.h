// Counts the documents of a YAML text.
#pragma once

#include <string>

namespace systole::app {

// Returns 0 for text without values. Errors: YAML::Exception, also for a comma at the start of a
// document, at which YAML::LoadAll() would loop forever.
int count_yaml_documents(const std::string& yaml);

}  // namespace systole::app
