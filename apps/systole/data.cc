// systole data: the files that training reads.
#include "apps/systole/base/command.h"
#include "apps/systole/data/data_commands.h"

namespace systole::app {
namespace {

constexpr Command kCommands[] = {
    {.name = "convert",
     .summary = "Converts data to TFRecord files",
     .add = add_convert_command,
     .examples = {"idx mnist -o records", "csv flowers.csv -o records --name flowers",
                  "images photos -o records --shard_size 200MB"}},
    {.name = "inspect",
     .summary = "Shows the contents of TFRecord files",
     .add = add_inspect_data_command,
     .examples = {"records/train-*",
                  "records/train-00000-of-00001 --records 3 --sheet digits.png"}},
    {.name = "bench",
     .summary = "Times an input pipeline and each of its stages",
     .add = add_bench_data_command,
     .examples = {"'[tfrecord: records/train-*, shuffle: 10000, batch: 1024]'",
                  "pipeline.yaml --seconds 2 --json"}},
};

}  // namespace

const Command kDataCommand{
    .name = "data",
    .summary = "Converts, inspects and times the data that training reads",
    .add = [](CommandLine& line) { add_commands(line, kCommands); },
    .examples = {"convert idx mnist -o records", "inspect records/train-*"},
};

}  // namespace systole::app
