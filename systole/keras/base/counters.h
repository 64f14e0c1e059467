// What Keras hands out for a graph: names of layers, and seeds of what draws random numbers and has
// no seed of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace systole::keras {

// Keeps the graph that is current when the outermost scope begins as the one whose seed and
// counters count, on this thread, while Keras builds in graphs of its own.
class UserGraphScope {
 public:
  UserGraphScope();
  ~UserGraphScope();
  UserGraphScope(const UserGraphScope&) = delete;
  UserGraphScope& operator=(const UserGraphScope&) = delete;

 private:
  bool outermost_;
};

// Returns the next seed of the user's graph: the same sequence after set_random_seed() with the
// same seed, or after clear_session(); from the operating system when the graph has no seed.
int64_t next_seed();

// "dense", then "dense_1", ...: unique in the current graph since clear_session().
std::string unique_layer_name(std::string_view class_name);
// "SeparableConv2D" -> "separable_conv2d".
std::string snake_case(std::string_view class_name);

// Forgets layer names and seeds handed out so far in the current graph.
// (tf.keras.backend.clear_session)
void clear_session();

}  // namespace systole::keras
