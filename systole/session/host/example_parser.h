// Serialized tf.Examples into the tensors of a schema.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/graph/ops/parsing/example_schema.h"
#include "systole/session/host/host_kernel.h"

namespace systole {

// The outputs of a parser's node for these records: of a batch, or of one record without the
// batch's dimension. Numbers of fixed length go straight into the batch's tensor. Errors:
// INVALID_ARGUMENT and NOT_FOUND, with the record's number when it is one of a batch, the key, and
// what is there.
std::vector<Tensor> parse_examples(const ExampleSchema& schema,
                                   std::span<const std::string> records, bool batched,
                                   std::span<const Tensor> defaults);

// A batch that is parsed record by record, as they come. Not thread-safe.
class ExampleBatch {
 public:
  // Whether it is for these features: those of fixed length, which need no record twice.
  static bool takes(const ExampleSchema& schema);
  // Of up to `most` records, with memory for `likely` of them at first. `schema`, which it takes,
  // and `defaults` outlive it.
  ExampleBatch(const ExampleSchema& schema, size_t likely, size_t most,
               std::span<const Tensor> defaults);
  ~ExampleBatch();
  ExampleBatch(const ExampleBatch&) = delete;
  ExampleBatch& operator=(const ExampleBatch&) = delete;

  // Errors: those of parse_examples. The batch is then of no use any more.
  void add(std::string_view record);
  // What parse_examples gives for all that was added. REQUIRES: that was something.
  std::vector<Tensor> finish();

 private:
  class Parser;
  friend std::vector<Tensor> parse_examples(const ExampleSchema& schema,
                                            std::span<const std::string> records, bool batched,
                                            std::span<const Tensor> defaults);
  std::unique_ptr<Parser> parser_;
};

// The node's schema, made once.
std::shared_ptr<const ExampleSchema> schema_of(KernelContext& context);

}  // namespace systole
