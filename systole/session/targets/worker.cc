#include "systole/base/error.h"
#include "systole/session/targets/targets.h"

namespace systole {

TargetScheme worker_scheme() {
  return {.scheme = "grpc",
          .forms = "'grpc://host:port' (a worker)",
          .resolve = [](std::string_view target, std::string_view) -> Target {
            if (!target.starts_with("grpc://")) {
              throw invalid_argument("Session: target, got '{}', expected 'grpc://host:port'",
                                     target);
            }
            throw make_error(
                Code::unavailable,
                "Session: target '{}': no worker answers, expected '' (this machine) or 'local' "
                "(a virtual TPU); this version has no remote workers",
                target);
          }};
}

}  // namespace systole
