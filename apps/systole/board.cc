// systole board.
#include "apps/board/board_command.h"
#include "apps/systole/base/command.h"

namespace systole::app {

const Command kBoardCommand{
    .name = "board",
    .summary = "Shows the event files of training runs in the browser, live",
    .add = board::add_board_command,
    .examples = {"runs", "runs --port 0", "/mnt/runs --host 0.0.0.0"},
};

}  // namespace systole::app
