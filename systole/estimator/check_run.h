// What a TPU would say of a run of a session: see docs/tpu_check.md.
//
//   const st::CheckReport report =
//       st::check_run({train_op, loss}, {{x, {1024, 784}}, {y, {1024}}}, {.compile = "v3-8"});
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/estimator/check_report.h"
#include "systole/session/session.h"

namespace systole {

// A tensor that a run is fed, or its name, and the shape of what it is fed.
struct FeedShape {
  FeedShape(Output key, Shape shape) : key(key), shape(std::move(shape)) {}
  template <std::convertible_to<std::string_view> Name>
  FeedShape(const Name& name, Shape shape)
      : name(std::string(std::string_view(name))), shape(std::move(shape)) {}

  Output key;  // invalid where there is a name
  std::string name;
  Shape shape;
};

// Returns what a TPU would refuse of Session::run(fetches) with feeds of these shapes, and the
// memory of a core; where the options name a system, also what Google's compiler says of the
// program. Nothing runs, and no session is needed. Placeholders of known shapes need no feed.
//   - What runs on the host, such as data sets and strings, is told as a note; its results are fed
//     to the program. Of several programs with host steps between them the largest is checked.
//   - Of a computation of tpu::rewrite, replicate or shard it checks what one core runs: its inputs
//     are fed, and its outputs are fetched.
// `options.mode` means nothing here. Errors: INVALID_ARGUMENT for a shape that its tensor cannot
// have, and for computations of different numbers of replicas; NOT_FOUND for another name; those of
// CheckReport::compile().
CheckReport check_run(const std::vector<Fetch>& fetches, const std::vector<FeedShape>& feeds = {},
                      const TPUCheckOptions& options = {}, const Graph& graph = Graph::current());

}  // namespace systole
