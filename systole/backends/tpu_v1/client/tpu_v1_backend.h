// The backend "tpu_v1": runs quantized programs on the value machine, bit for bit.
#pragma once

#include <memory>

#include "systole/runtime/client.h"
#include "systole/runtime/client_options.h"

namespace systole::runtime {
// Registers the backend as "tpu_v1". Called once, by the generated register_backends().
void register_tpu_v1_backend();
}  // namespace systole::runtime

namespace systole::tpu_v1 {

// Returns a client with one TPU v1. Its host is the backend "cpu", which computes what is not
// quantized; a program without quantized ops runs there alone. Thread-safe: programs of one
// executable run one after the other.
std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options = {});

}  // namespace systole::tpu_v1
