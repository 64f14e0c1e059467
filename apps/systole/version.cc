#include <cstdio>

#include "apps/systole/base/command.h"

namespace systole::app {

const Command kVersionCommand{
    .name = "version",
    .summary = "Prints the version",
    .add = [](CommandLine& line) { line.on_run([] { std::puts("systole " SYSTOLE_VERSION); }); },
};

}  // namespace systole::app
