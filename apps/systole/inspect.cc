// systole inspect and systole predict.
#include "apps/systole/command.h"
#include "apps/systole/inspect/inspect_commands.h"

namespace systole::app {

const Command kInspectCommand{
    .name = "inspect",
    .summary = "Shows what a checkpoint, SavedModel, event file, TFRecord or HLO file holds",
    .add = add_inspect_command,
};

const Command kPredictCommand{
    .name = "predict",
    .summary = "Runs a SavedModel on a file, or a model of a configuration file on its data",
    .add = add_predict_command,
};

}  // namespace systole::app
