// Models and training configurations in Keras's JSON.
#include <nlohmann/json.hpp>

#include "systole/base/log.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/files/training_config.h"
#include "systole/keras/models/serialization.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  set_log_level(LogLevel::off);
  const std::string text(fuzz::text_of(data, size));
  Graph graph;
  const GraphScope scope(graph);
  fuzz::may_refuse([&] {
    const keras::Model model = keras::model_from_json(text);
    fuzz::may_refuse([&] { model.summary([](const std::string&) {}); });
    (void)keras::model_from_json(model.to_json());
  });
  fuzz::may_refuse([&] { (void)keras::compile_options_from(keras::parse_model_json(text)); });
  return 0;
}
