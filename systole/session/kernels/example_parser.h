// Parses serialized tf.Examples into the tensors of a schema.
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

// Returns the outputs of a parser node for these records, without the batch dimension if not
// `batched`. Errors: INVALID_ARGUMENT and NOT_FOUND with the index of the record in the batch, the
// key, and the value found.
std::vector<Tensor> parse_examples(const ExampleSchema& schema,
                                   std::span<const std::string> records, bool batched,
                                   std::span<const Tensor> defaults);

// Parses a batch record by record. Not thread-safe.
class ExampleBatch {
 public:
  // Whether it supports the schema: features of fixed length only.
  static bool takes(const ExampleSchema& schema);
  // For at most `most` records; allocates for `likely` of them first. Borrows `schema` and
  // `defaults`. REQUIRES: takes(schema).
  ExampleBatch(const ExampleSchema& schema, size_t likely, size_t most,
               std::span<const Tensor> defaults);
  ~ExampleBatch();
  ExampleBatch(const ExampleBatch&) = delete;
  ExampleBatch& operator=(const ExampleBatch&) = delete;

  // Errors: those of parse_examples; the batch cannot be used after one.
  void add(std::string_view record);
  // Returns the result of parse_examples for all added records. REQUIRES: at least one.
  std::vector<Tensor> finish();

 private:
  class Parser;
  friend std::vector<Tensor> parse_examples(const ExampleSchema& schema,
                                            std::span<const std::string> records, bool batched,
                                            std::span<const Tensor> defaults);
  std::unique_ptr<Parser> parser_;
};

// The schema of the node, cached in the context's resources.
std::shared_ptr<const ExampleSchema> schema_of(KernelContext& context);

}  // namespace systole
