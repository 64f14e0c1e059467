// systole train, evaluate, export and check.
#include "apps/systole/command.h"
#include "apps/systole/train/train_commands.h"

namespace systole::app {

const Command kTrainCommand{
    .name = "train",
    .summary = "Trains the model of a configuration file",
    .add = add_train_command,
};

const Command kEvaluateCommand{
    .name = "evaluate",
    .summary = "Tells how good the model of a configuration file is",
    .add = add_evaluate_command,
};

const Command kExportCommand{
    .name = "export",
    .summary = "Writes the model of a configuration file as a SavedModel",
    .add = add_export_command,
};

const Command kCheckCommand{
    .name = "check",
    .summary = "Says what a TPU would refuse of the model of a configuration file",
    .add = add_check_command,
};

}  // namespace systole::app
