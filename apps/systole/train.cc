// systole train, evaluate, export, check and profile.
#include "apps/systole/base/command.h"
#include "apps/systole/train/train_commands.h"

namespace systole::app {

const Command kTrainCommand{
    .name = "train",
    .summary = "Trains the model of a configuration file",
    .add = add_train_command,
    .examples = {"examples/configs/iris.yaml",
                 "net.yaml --model_dir runs/1 --set train.max_steps=1000", "--keys > keys.md"},
};

const Command kEvaluateCommand{
    .name = "evaluate",
    .summary = "Evaluates the model of a configuration file",
    .add = add_evaluate_command,
    .examples = {"examples/configs/iris.yaml",
                 "net.yaml --set evaluate.checkpoint_path=runs/1/model.ckpt-500"},
};

const Command kExportCommand{
    .name = "export",
    .summary = "Exports the model of a configuration file as a SavedModel",
    .add = add_export_command,
    .examples = {"examples/configs/iris.yaml",
                 "net.yaml --output served --checkpoint_path runs/1/model.ckpt-500"},
};

const Command kCheckCommand{
    .name = "check",
    .summary = "Checks what a TPU would refuse of a model, and predicts the time of a step",
    .add = add_check_command,
    .examples = {"examples/configs/iris.yaml", "step.mlir --compile v3-8",
                 "net.yaml --predict v3-8 --price 8", "--predict v2-8 --csv networks.tsv"},
};

const Command kProfileCommand{
    .name = "profile",
    .summary = "Shows where the time of a training goes, and what to change",
    .add = add_profile_command,
    .examples = {"examples/configs/iris.yaml", "net.yaml --set estimator.train_batch_size=4096",
                 "--pid 4711", "report runs/2 --against runs/1"},
};

}  // namespace systole::app
