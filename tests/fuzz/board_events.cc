// Loads an event file as `systole board` does and asks for everything in it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "apps/board/board.h"
#include "apps/board/logdir.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace {

using systole::board::Board;
using systole::board::Request;
using systole::board::TagData;
using systole::board::TagKind;

void ask(const Board& board, const char* path, const std::string& tag) {
  board.handle(
      {.method = "GET", .path = path, .params = {{"run", "."}, {"tag", tag}}, .host = "localhost"});
}

void ask_for_tag(const Board& board, TagKind kind, const std::string& tag) {
  switch (kind) {
    case TagKind::scalars:
      board.handle({.method = "POST",
                    .path = "/api/scalars",
                    .host = "localhost",
                    .body = R"({"tag": "loss", "runs": [0], "smoothing": 0.9, "points": 10})"});
      ask(board, "/data/plugin/scalars/scalars", tag);
      break;
    case TagKind::histograms:
      ask(board, "/api/histograms", tag);
      break;
    case TagKind::images:
      ask(board, "/data/plugin/images/images", tag);
      break;
    case TagKind::text:
      ask(board, "/api/text", tag);
      break;
    case TagKind::pr_curves:
      ask(board, "/api/pr_curves", tag);
      break;
    case TagKind::other:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  systole::MemoryFileSystem files(
      {{"logs/events.out.tfevents.1.h", std::string(reinterpret_cast<const char*>(data), size)}});
  systole::board::Logdir logdir(files, "logs", {.max_memory_bytes = 100'000});
  logdir.refresh();
  logdir.refresh();
  const Board board(logdir);
  board.handle({.method = "GET", .path = "/api/index", .host = "localhost"});
  ask(board, "/api/graph", "");
  const auto run = logdir.find_run(".");
  std::vector<std::pair<TagKind, std::string>> tags;
  {
    const auto hold = run->lock();
    for (const TagData& tag : run->tags()) tags.emplace_back(tag.kind, tag.name);
  }
  for (const auto& [kind, tag] : tags) ask_for_tag(board, kind, tag);
  return 0;
}
