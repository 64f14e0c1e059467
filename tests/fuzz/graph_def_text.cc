// Graphs in protobuf's text format. One that is imported must be exported, and imported again.
#include "systole/base/log.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/session/graph_def/graph_def.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  set_log_level(LogLevel::off);
  fuzz::may_refuse([&] {
    tensorflow::GraphDef message;
    parse_message_text("f.pbtxt", fuzz::text_of(data, size), message);
    Graph graph;
    const GraphScope scope(graph);
    import_graph_def(message, {});
    const auto exported = to_graph_def(graph);
    Graph other;
    const GraphScope other_scope(other);
    import_graph_def(*exported, {});
  });
  return 0;
}
