// Serialized tf.Examples into the tensors of a schema.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/graph/example_schema.h"
#include "systole/session/host_kernel.h"

namespace systole {

// The outputs of a parser's node for these records: of a batch, or of one record without the
// batch's dimension. Numbers of fixed length go straight into the batch's tensor. Errors:
// INVALID_ARGUMENT and NOT_FOUND, with the record's number when it is one of a batch, the key, and
// what is there.
std::vector<Tensor> parse_examples(const ExampleSchema& schema,
                                   std::span<const std::string> records, bool batched,
                                   std::span<const Tensor> defaults);

// The node's schema, made once.
std::shared_ptr<const ExampleSchema> schema_of(KernelContext& context);

}  // namespace systole
