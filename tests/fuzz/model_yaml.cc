// The model of a configuration file: its layers are built on a feature of the type [?, 8].
#include "apps/systole/config/config_node.h"
#include "apps/systole/train/training_config.h"
#include "systole/base/log.h"
#include "systole/graph/api/array_ops.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  set_log_level(LogLevel::off);
  const std::string text(fuzz::text_of(data, size));
  fuzz::may_refuse([&] {
    const app::ConfigNode root = app::ConfigNode::parse(text, "f.yaml");
    fuzz::may_refuse([&] { (void)app::parse_run_config(root["run_config"]); });
    const ModelFn model = app::parse_model(root);
    Graph graph;
    const GraphScope scope(graph);
    const Output x = placeholder(DType::f32, {kUnknown, 8}, "x");
    const Output y = placeholder(DType::s32, {kUnknown}, "y");
    for (const Mode mode : {Mode::predict, Mode::train}) {
      fuzz::may_refuse([&] { (void)model(Nest<Output>(x), Nest<Output>(y), mode, {}); });
    }
  });
  return 0;
}
