// systole inspect and systole predict.
#include "apps/systole/base/command.h"
#include "apps/systole/inspect/inspect_commands.h"

namespace systole::app {

const Command kInspectCommand{
    .name = "inspect",
    .summary = "Shows the contents of a checkpoint, SavedModel, event file, TFRecord or HLO file",
    .add = add_inspect_command,
    .examples = {"runs/1", "runs/1 --tensor dense/kernel", "runs/1 --plot curves.svg",
                 "runs/1 --verify"},
};

const Command kPredictCommand{
    .name = "predict",
    .summary = "Runs a SavedModel or a program on a file, or a configured model on its data",
    .add = add_predict_command,
    .examples = {"examples/configs/iris.yaml --count 5", "runs/1/export --input flowers.npy",
                 "runs/1/export --input a=a.npy --input b=b.npy --output answers",
                 "model.mlir --input images.npy --device tpu_v1"},
};

}  // namespace systole::app
