// The reference of configuration files, for docs/training.md.
#pragma once

#include <string>

namespace systole::app {

// Markdown: tables of the sections, layers, losses, optimizers and pipelines.
std::string config_reference();

}  // namespace systole::app
