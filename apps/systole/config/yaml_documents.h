// How many documents a YAML text holds.
#pragma once

#include <string>

namespace systole::app {

// Of text without values 0. Errors: YAML::Exception, also for a comma where a document begins:
// yaml-cpp goes no further there, and YAML::LoadAll() would give documents without end.
int count_yaml_documents(const std::string& yaml);

}  // namespace systole::app
