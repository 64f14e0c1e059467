// Layers of a network as instructions, once their arrays have rows.
#pragma once

#include <span>
#include <string>

#include "systole/tpu_v1/builder/layers.h"
#include "systole/tpu_v1/compiler/input_form.h"
#include "systole/tpu_v1/compiler/network.h"

namespace systole::tpu_v1 {

// Returns the channel tables of a product, one for each block of filters.
std::string product_table_bytes(const ProductLayer& product, int array);
// Returns a product as builder/layers.h takes it, without rows and number of images.
ConvolutionLayer product_shape(const Network& network, const ProductLayer& product, int output);

// Returns the flags of activate and vector for a function and the element type of results.
int64_t result_flags(const Finish& finish, Element element);
void set_finish(ProgramBuilder& builder, const Finish& finish);

// `rows` are the first rows of all arrays.
void emit_pool(ProgramBuilder& builder, const Network& network, const PoolLayer& pool, int output,
               int64_t images, std::span<const int64_t> rows);
void emit_vector(ProgramBuilder& builder, const Network& network, const VectorLayer& layer,
                 int output, int64_t images, std::span<const int64_t> rows);

// Images of an array on their way between host memory and the Unified Buffer.
struct Transfer {
  bool in = true;
  int64_t ub = 0;     // first row
  int64_t host = 0;   // offset of the whole array
  int64_t first = 0;  // image
  int64_t images = 1;
};
// `form` is that of an input, or null.
void emit_transfer(ProgramBuilder& builder, const NetworkArray& array, const SideBySide* form,
                   const Transfer& transfer);

}  // namespace systole::tpu_v1
