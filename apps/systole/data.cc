// systole data: the files that training reads.
#include "apps/systole/command.h"
#include "apps/systole/data/data_commands.h"

namespace systole::app {
namespace {

constexpr Command kCommands[] = {
    {"convert", "Makes TFRecord files of other data", add_convert_command},
    {"inspect", "Shows what TFRecord files hold", add_inspect_data_command},
    {"bench", "Times an input pipeline and each of its stages", add_bench_data_command},
};

}  // namespace

const Command kDataCommand{
    .name = "data",
    .summary = "Converts, inspects and times the data that training reads",
    .add = [](CommandLine& line) { add_commands(line, kCommands); },
};

}  // namespace systole::app
