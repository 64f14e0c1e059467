// LSTM0-R and LSTM1-R: one time step of stacked LSTM cells with 16-bit activations.
#include "systole/tpu_v1/workloads/program_arrays.h"
#include "systole/tpu_v1/workloads/programs.h"

namespace systole::tpu_v1 {
namespace {

struct LstmShape {
  int64_t batch;
  int64_t width;
  int64_t layers;      // one after the other
  int64_t directions;  // cells of a layer that do not depend on each other
  int64_t residual;    // from this layer on, a layer's input is added to its output
};

// Emits the cells of a LSTM program layer by layer.
class LstmBuilder {
 public:
  LstmBuilder(const MachineConfig& config, const LstmShape& shape)
      : builder_(config),
        rows_(config),
        shape_(shape),
        block_(rows_of_array(config, shape.width, shape.batch)) {}

  Program build() {
    table_ = rows_.tables(shape_.width);
    read_tables(builder_, table_, shape_.width);
    builder_.set(Register::output_min, INT16_MIN);
    builder_.set(Register::output_max, INT16_MAX);
    // The arrays of a layer are used again by the next one.
    std::vector<Cell> cells;
    for (int64_t i = 0; i < shape_.directions; ++i) cells.push_back(new_cell());
    int64_t input = vector_array();
    transfer_array(builder_, true, input, shape_.width, shape_.batch, true);
    bool cell_output = false;
    for (int64_t layer = 0; layer < shape_.layers; ++layer) {
      for (Cell& cell : cells) {
        cell.h = vector_array();
        cell.c = vector_array();
        cell.output = vector_array();
        gates(cell, input, cell_output);
      }
      update(cells);
      if (layer >= shape_.residual) {
        const int64_t sum = vector_array();
        element_wise(kAdd, sum, cells[0].output, input);
        input = sum;
      } else {
        input = cells[0].output;
      }
      cell_output = layer < shape_.residual;
    }
    transfer_array(builder_, false, input, shape_.width, shape_.batch, true);
    return std::move(builder_).finish();
  }

 private:
  // The recurrent state h and c stays in the Unified Buffer between time steps.
  struct Cell {
    int64_t gate[4];  // input, forget, candidate, output
    int64_t h, c;
    int64_t forgotten, added, new_c, squashed, output;
  };

  int64_t vector_array() { return rows_.array(shape_.width, shape_.batch, true); }
  Cell new_cell() {
    Cell cell{};
    for (int64_t& gate : cell.gate) gate = vector_array();
    for (int64_t* array : {&cell.forgotten, &cell.added, &cell.new_c, &cell.squashed}) {
      *array = vector_array();
    }
    return cell;
  }

  // Outputs of a cell are between -1 and 1: the next layer reads their high bytes. The input of the
  // program, residual sums and the recurrent state keep 16 bits.
  void gates(const Cell& cell, int64_t input, bool cell_output) {
    constexpr int64_t kFunctions[4] = {kSigmoid, kSigmoid, kTanh, kSigmoid};
    for (size_t g = 0; g < 4; ++g) {
      emit_dense(builder_, {.inputs = {{.ub = input,
                                        .features = shape_.width,
                                        .matrix_flags = cell_output ? kHighBytes : 0},
                                       {.ub = cell.h, .features = shape_.width}},
                            .output = cell.gate[g],
                            .outputs = shape_.width,
                            .batch = shape_.batch,
                            .table = table_,
                            .matrix_flags = kInput16,
                            .activation_flags = kOutput16 | kFunctions[g]});
    }
  }

  void element_wise(int64_t flags, int64_t output, int64_t a, int64_t b) {
    builder_.vector(flags | kOutput16 | kA16 | kB16, {.ub = output, .source = a, .rows = block_},
                    b);
  }

  // c' = f * c + i * g, h' = o * tanh(c'): five element-wise operations a cell.
  void update(std::span<const Cell> cells) {
    for (const Cell& cell : cells) {
      element_wise(kMultiply, cell.forgotten, cell.gate[1], cell.c);
      element_wise(kMultiply, cell.added, cell.gate[0], cell.gate[2]);
    }
    for (const Cell& cell : cells) element_wise(kAdd, cell.new_c, cell.forgotten, cell.added);
    for (const Cell& cell : cells) {
      builder_.vector(kTanh | kOutput16 | kA16,
                      {.ub = cell.squashed, .source = cell.new_c, .rows = block_});
    }
    for (const Cell& cell : cells)
      element_wise(kMultiply, cell.output, cell.gate[3], cell.squashed);
  }

  ProgramBuilder builder_;
  BufferRows rows_;
  LstmShape shape_;
  int64_t block_;
  int64_t table_ = 0;
};

}  // namespace

Program lstm0_program(const MachineConfig& config) {
  return LstmBuilder(config,
                     {.batch = 64, .width = 1024, .layers = 6, .directions = 1, .residual = 2})
      .build();
}

Program lstm1_program(const MachineConfig& config) {
  return LstmBuilder(config,
                     {.batch = 96, .width = 600, .layers = 4, .directions = 3, .residual = 4})
      .build();
}

}  // namespace systole::tpu_v1
