#include "systole/profile/prediction/gnmt.h"

#include <fmt/core.h>

#include "systole/profile/prediction/layer_costs.h"

namespace systole::profile {
namespace {

constexpr int64_t kUnits = 1024;
constexpr int64_t kGates = 4 * kUnits;
constexpr int64_t kVocabulary = 32316;
constexpr int64_t kRoom = 48;           // words of the arrays
constexpr int64_t kLossRows = 512;      // of a step of the loop over the loss
constexpr double kTranscendental = 16;  // operations of the vector unit
// Adam reads four arrays and writes three; clipping reads the gradients twice and writes them.
constexpr double kArraysOfClippedAdam = 10;
// Operands of the cells, with the state: the embedding or the layer below, and the attention. The
// first layer of the encoder runs in both directions.
constexpr int64_t kEncoderCells[] = {2 * kUnits, 2 * kUnits, 3 * kUnits, 2 * kUnits, 2 * kUnits};
constexpr int64_t kDecoderCells[] = {3 * kUnits, 3 * kUnits, 3 * kUnits, 3 * kUnits};

class GnmtCost {
 public:
  explicit GnmtCost(int64_t sentences) : rows_(sentences) {}

  // A word of a cell: forward, forward again, backward.
  void add_cell(const std::string& name, int64_t in) {
    for (const char* pass : {"", ", again"}) {
      add_product(name + pass, rows_, in, kGates);
      add_gates(name + ", gates" + pass, 5 * kTranscendental + 8);
    }
    add_gates(name + ", gradient of gates", 20);
    add_gradients(name, in, kGates);
  }

  // A word of the attention over all words of the source, whose keys and values stay in memory.
  void add_attention() {
    const auto elements = static_cast<double>(rows_ * kRoom * kUnits);
    const double memory = small(rows_ * kRoom, kUnits);
    for (const char* pass : {"", ", again"}) {
      add_product(std::string("attention, query") + pass, rows_, kUnits, kUnits);
      add_op(std::string("attention, scores") + pass, (kTranscendental + 3) * elements, memory);
      add_op(std::string("attention, context") + pass, 2 * elements, memory);
    }
    add_op("attention, gradient of context", 4 * elements, 3 * memory);
    add_op("attention, gradient of scores", 6 * elements, 3 * memory);
    add_gradients("attention, query", kUnits, kUnits);
  }

  // The words of the source as keys of the attention.
  void add_keys() {
    add_product("attention, keys", rows_ * kRoom, kUnits, kUnits);
    add_gradients("attention, keys", rows_ * kRoom, kUnits, kUnits);
  }

  // A block of the loop over the loss. Its products are of float32.
  void add_loss() {
    const double x = wide(kLossRows, kUnits);
    const double y = wide(kLossRows, kVocabulary);
    const double w = wide(kUnits, kVocabulary);
    const double exponents = kTranscendental * static_cast<double>(kLossRows * kVocabulary);
    const auto product = [&](const char* name, int64_t m, int64_t k, int64_t n, double bytes) {
      step_.ops.push_back(product_op(name, m, k, n, bytes));
    };
    for (const char* pass : {"", ", again"}) {
      product("logits", kLossRows, kUnits, kVocabulary, x + w + y);
      add_op(std::string("softmax and loss") + pass, exponents, 3 * y);
    }
    add_op("gradient of softmax", static_cast<double>(kLossRows * kVocabulary), 2 * y);
    product("logits, gradient of input", kLossRows, kVocabulary, kUnits, x + w + y);
    product("logits, gradient of weights", kUnits, kLossRows, kVocabulary, x + y + 2 * w);
  }

  // The embeddings of source and target, and their gradients as a whole table.
  void add_embeddings() {
    const double words = wide(rows_ * kRoom, kUnits);
    for (const char* side : {"source", "target"}) {
      add_op(fmt::format("embeddings of the {}", side), 0, 2 * words);
      add_op(fmt::format("embeddings of the {}, gradient", side), 0,
             2 * words + 2 * wide(kVocabulary, kUnits));
    }
  }

  void add_updates(int64_t weights) {
    const double bytes = 4.0 * static_cast<double>(weights);
    add_op("update of weights", 0, kArraysOfClippedAdam * bytes);
    step_.all_reduce_bytes = bytes;
    step_.infeed_bytes = static_cast<double>(rows_ * (3 * kRoom + 2) * size_of(DType::s32));
  }

  StepCost take() { return std::move(step_); }

 private:
  static double small(int64_t rows, int64_t columns) {
    return padded_matrix(rows, columns, DType::bf16);
  }
  static double wide(int64_t rows, int64_t columns) {
    return padded_matrix(rows, columns, DType::f32);
  }
  void add_op(std::string name, double vector_ops, double bytes) {
    step_.ops.push_back({.name = std::move(name), .vector_ops = vector_ops, .memory_bytes = bytes});
  }
  void add_gates(std::string name, double ops) {
    add_op(std::move(name), ops * static_cast<double>(rows_ * kUnits),
           small(rows_, kGates) + 4 * small(rows_, kUnits));
  }
  void add_product(std::string name, int64_t m, int64_t k, int64_t n) {
    step_.ops.push_back(
        product_op(std::move(name), m, k, n, small(m, k) + small(k, n) + small(m, n)));
  }
  // Gradients of a product [rows, in] x [in, out]; that of the weights is added to the one of the
  // other words.
  void add_gradients(const std::string& name, int64_t rows, int64_t in, int64_t out) {
    add_product(name + ", gradient of input", rows, out, in);
    step_.ops.push_back(product_op(name + ", gradient of weights", in, rows, out,
                                   small(rows, in) + small(rows, out) + 2 * small(in, out)));
  }
  void add_gradients(const std::string& name, int64_t in, int64_t out) {
    add_gradients(name, rows_, in, out);
  }

  int64_t rows_;
  StepCost step_;
};

}  // namespace

StepCost gnmt_cost(int64_t sentences, int64_t words) {
  GnmtCost cost(sentences);
  int64_t weights = 2 * kVocabulary * kUnits + 2 * kUnits * kUnits;
  const auto add_cells = [&](const char* part, const auto& cells) {
    int layer = 0;
    for (const int64_t in : cells) {
      const std::string name = fmt::format("{} {}", part, layer++);
      for (int64_t word = 0; word < words; ++word) cost.add_cell(name, in);
      weights += (in + 1) * kGates;
    }
  };
  add_cells("encoder", kEncoderCells);
  add_cells("decoder", kDecoderCells);
  cost.add_keys();
  for (int64_t word = 0; word < words; ++word) cost.add_attention();
  const int64_t loss_steps = (sentences * words + kLossRows - 1) / kLossRows;
  for (int64_t i = 0; i < loss_steps; ++i) cost.add_loss();
  cost.add_embeddings();
  cost.add_updates(weights);
  return cost.take();
}

}  // namespace systole::profile
