#include "systole/keras/base/counters.h"

#include <cctype>
#include <random>

#include "systole/base/random.h"
#include "systole/graph/core/graph.h"

namespace systole::keras {
namespace {

thread_local Graph* user_graph = nullptr;

Graph& users_graph() { return user_graph != nullptr ? *user_graph : Graph::current().root(); }

// Counters start anew with each clear_session(): their names contain how many there were.
std::string counter_name(Graph& graph, std::string_view what) {
  return fmt::format("keras/{}/{}", graph.counter("keras/sessions_cleared"), what);
}

}  // namespace

UserGraphScope::UserGraphScope() : outermost_(user_graph == nullptr) {
  if (outermost_) user_graph = &Graph::current().root();
}

UserGraphScope::~UserGraphScope() {
  if (outermost_) user_graph = nullptr;
}

int64_t next_seed() {
  Graph& graph = users_graph();
  if (!graph.seed()) {
    std::random_device entropy;
    return static_cast<int64_t>(entropy()) << 31 ^ static_cast<int64_t>(entropy());
  }
  const auto count = static_cast<uint64_t>(graph.counter(counter_name(graph, "seeds"))++);
  RandomStream stream(static_cast<uint64_t>(*graph.seed()), /*stream=*/0x6b65726173);
  stream.seek(2 * count);
  return static_cast<int64_t>(stream.next_u64() >> 1);
}

std::string snake_case(std::string_view class_name) {
  // As Keras: "_" before a capital that follows a small letter or precedes a small letter or digit.
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string text;
  for (size_t i = 0; i < class_name.size(); ++i) {
    const char c = class_name[i];
    const char next = i + 1 < class_name.size() ? class_name[i + 1] : ' ';
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && i > 0 &&
        (is_lower(class_name[i - 1]) || is_lower(next) || (next >= '0' && next <= '9'))) {
      text += '_';
    }
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string unique_layer_name(std::string_view class_name) {
  Graph& graph = users_graph();
  const std::string base = snake_case(class_name);
  const int64_t count = graph.counter(counter_name(graph, base))++;
  return count == 0 ? base : fmt::format("{}_{}", base, count);
}

void clear_session() { ++users_graph().counter("keras/sessions_cleared"); }

}  // namespace systole::keras
