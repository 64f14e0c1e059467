#include <cstdio>

#include "apps/systole/command.h"

namespace systole::app {

const Command kVersionCommand{
    .name = "version",
    .summary = "Prints the version",
    .add = [](CLI::App& app) { app.callback([] { std::puts("systole " SYSTOLE_VERSION); }); },
};

}  // namespace systole::app
