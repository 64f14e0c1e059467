// Answers the bytes of an HTTP request as `systole board` does.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "apps/board/board.h"
#include "apps/board/logdir.h"
#include "apps/board/server.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace {

// A directory with one run that has a value of each kind.
struct World {
  World() {
    systole::EventWriter writer(files, "logs/a");
    writer.add_graph("");
    writer.add_scalar("loss", 1, 0.5);
    writer.add_histogram("weights", 1, systole::Tensor::of<float>({2}, {1, 2}));
    writer.add_image("digit", 1, {.height = 1, .width = 1, .colorspace = 1, .encoded = "x"});
    writer.add_text("note", 1, systole::Tensor("hello"));
    writer.close();
    logdir.refresh();
  }
  systole::MemoryFileSystem files;
  systole::board::Logdir logdir{files, "logs"};
  systole::board::Board board{logdir};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto world = std::make_unique<World>();
  systole::board::answer_bytes(world->board,
                               std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
