#include "systole/tpu_v1/compiler/compiler.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/tpu_v1/compiler/buffer_allocator.h"
#include "systole/tpu_v1/compiler/emit.h"
#include "systole/tpu_v1/compiler/input_form.h"

namespace systole::tpu_v1 {
namespace {

// A layer and the pooling of its results, when the layer itself applies it.
struct FusedLayer {
  const NetworkLayer* layer;
  std::optional<Pooling> pooling;
  int output;
};

class NetworkCompiler {
 public:
  NetworkCompiler(const Network& network, int64_t batch, const MachineConfig& config)
      : network_(network), batch_(batch), config_(config), builder_(config, network.rounding) {
    check_network(network_);
    if (batch < 1) throw invalid_argument("network: batch, got {}, expected at least 1", batch);
    forms_ = choose_input_forms(network_, config_);
    fuse_pooling();
    find_last_reads();
  }

  Program compile(CompileReport& report) {
    load_parameters();
    place_ports();
    const int64_t images = images_at_a_time();
    for (int64_t first = 0; first < batch_; first += images) {
      emit_images(first, std::min(images, batch_ - first));
    }
    report.images_at_a_time = images;
    Program program = std::move(builder_).finish();
    report.weight_tiles = static_cast<int64_t>(program.tiles.size());
    report.buffer_rows = most_rows_;
    return program;
  }

 private:
  const NetworkArray& array(int index) const { return network_.arrays[index]; }

  // Pooling that is the only reader of a product becomes a part of it.
  void fuse_pooling() {
    std::vector<int> reads(network_.arrays.size());
    for (const NetworkLayer& layer : network_.layers) {
      for (const int read : arrays_read_by(layer)) ++reads[read];
    }
    for (const int output : network_.outputs) ++reads[output];
    for (const NetworkLayer& layer : network_.layers) {
      const auto* pool = std::get_if<PoolLayer>(&layer.kind);
      if (pool != nullptr && reads[pool->input] == 1 &&
          array(pool->input).positions() <= config_.accumulators / 2) {
        const auto product =
            std::find_if(layers_.begin(), layers_.end(), [&](const FusedLayer& before) {
              return before.output == pool->input && !before.pooling.has_value() &&
                     std::holds_alternative<ProductLayer>(before.layer->kind);
            });
        if (product != layers_.end()) {
          product->pooling = pool->pooling;
          product->output = layer.output;
          continue;
        }
      }
      layers_.push_back({&layer, std::nullopt, layer.output});
    }
  }

  void find_last_reads() {
    last_read_.assign(network_.arrays.size(), -1);
    for (size_t i = 0; i < layers_.size(); ++i) {
      for (const int read : arrays_read_by(*layers_[i].layer)) {
        last_read_[read] = static_cast<int64_t>(i);
      }
    }
  }

  // Adds the weights of all layers, and reads the tables of products, which stay in the Unified
  // Buffer.
  void load_parameters() {
    for (const FusedLayer& layer : layers_) {
      const auto* product = std::get_if<ProductLayer>(&layer.layer->kind);
      const Placement& placement = placements_.emplace_back();
      if (product == nullptr) continue;
      try {
        placements_.back() = place_product(*product, layer.layer->output);
      } catch (const Error& error) {
        throw make_error(error.code(), "{}: {}", layer.layer->where, error.message());
      }
      table_rows_ += placement.table_rows;
    }
    if (table_rows_ > config_.buffer_rows()) {
      throw make_error(Code::resource_exhausted,
                       "Unified Buffer: rows of biases and factors, got {}, expected at most {}",
                       table_rows_, config_.buffer_rows());
    }
    for (const Placement& placement : placements_) {
      if (placement.table_rows == 0) continue;
      builder_.read_host(
          {.ub = placement.table, .rows = placement.table_rows, .host = placement.table_host});
    }
  }

  struct Placement {
    ConvolutionPasses passes;
    int64_t table = 0;  // row of the Unified Buffer
    int64_t table_rows = 0;
    int64_t table_host = 0;
  };

  Placement place_product(const ProductLayer& product, int output) {
    Placement placement;
    placement.table = table_rows_;
    const std::string table = product_table_bytes(product, config_.array);
    placement.table_rows = static_cast<int64_t>(table.size()) / config_.array;
    placement.table_host = builder_.add_constant(table);
    placement.passes = add_convolution_tiles(builder_, product_shape(network_, product, output));
    return placement;
  }

  void place_ports() {
    ports_.resize(network_.arrays.size());
    for (const int input : network_.inputs) place_port(input, false);
    for (const int output : network_.outputs) place_port(output, true);
    sources_ = network_.inputs;
    for (const NetworkConstant& constant : network_.constants) {
      const NetworkArray& a = array(constant.array);
      const int64_t bytes =
          batch_ * a.positions() * a.channels * (a.element == Element::s16 ? 2 : 1);
      if (static_cast<int64_t>(constant.bytes.size()) != bytes) {
        throw invalid_argument("constant of array {} ({}): bytes, got {}, expected {}",
                               constant.array, a.name, constant.bytes.size(), bytes);
      }
      ports_[constant.array] = builder_.add_constant(constant.bytes);
      sources_.push_back(constant.array);
    }
  }

  void place_port(int index, bool output) {
    const NetworkArray& a = array(index);
    Port port{.name = a.name,
              .output = output,
              .element = a.element,
              .rows = static_cast<uint32_t>(batch_ * a.positions()),
              .row_bytes = static_cast<uint32_t>(a.channels * (a.element == Element::s16 ? 2 : 1))};
    port.stride = port.row_bytes;
    int64_t& host = ports_[index];
    if (const auto& form = forms_[index]) {
      port.rows = static_cast<uint32_t>(batch_ * a.height);
      port.row_bytes = static_cast<uint32_t>(form->width * form->channels);
      port.stride = static_cast<uint32_t>(form->line * form->channels);
      // The last rows of the last line reach beyond it.
      const int64_t tail = form->bytes + form->start * form->channels;
      host = builder_.allocate_host(int64_t{port.rows} * port.stride + tail);
      pad_lines(host, *form, port, tail, static_cast<char>(a.zero_point));
      port.offset = static_cast<uint64_t>(host + form->pad_left * form->channels);
    } else {
      host = builder_.allocate_host(int64_t{port.rows} * port.stride);
      port.offset = static_cast<uint64_t>(host);
    }
    builder_.add_port(std::move(port));
  }

  // Fills the bytes before, between and after the lines of an input.
  void pad_lines(int64_t host, const SideBySide& form, const Port& port, int64_t tail, char zero) {
    const int64_t lead = form.pad_left * form.channels;
    const auto gap = static_cast<size_t>(port.stride - port.row_bytes);
    const auto fill = [&](int64_t offset, size_t bytes) {
      if (bytes > 0) builder_.place_constant(offset, std::string(bytes, zero));
    };
    fill(host, static_cast<size_t>(lead));
    for (int64_t line = 0; line < port.rows; ++line) {
      const bool last = line + 1 == port.rows;
      fill(host + lead + line * port.stride + port.row_bytes,
           last ? gap - static_cast<size_t>(lead) + static_cast<size_t>(tail) : gap);
    }
  }

  int64_t rows_of(int index, int64_t images) const {
    const NetworkArray& a = array(index);
    return rows_of_array(config_, a.channels, images * a.positions(), a.element == Element::s16);
  }

  // First rows of all arrays, for a number of images. Empty if they do not fit; `layer` is then
  // the one without room.
  std::vector<int64_t> plan(int64_t images, size_t& layer) {
    BufferAllocator rows(config_.buffer_rows() - table_rows_);
    std::vector<int64_t> first(network_.arrays.size(), -1);
    const auto allocate = [&](int index) {
      const auto found = rows.allocate(rows_of(index, images));
      if (found.has_value()) first[index] = table_rows_ + *found;
      return found.has_value();
    };
    const auto free = [&](int index) { rows.free(first[index] - table_rows_); };
    layer = 0;
    for (const int source : sources_) {
      if (!allocate(source)) return {};
    }
    for (layer = 0; layer < layers_.size(); ++layer) {
      if (!allocate(layers_[layer].output)) return {};
      std::vector<int> done = arrays_read_by(*layers_[layer].layer);
      std::sort(done.begin(), done.end());
      done.erase(std::unique(done.begin(), done.end()), done.end());
      for (const int read : done) {
        if (last_read_[read] == static_cast<int64_t>(layer)) free(read);
      }
      // Outputs are written to the host at once.
      if (last_read_[layers_[layer].output] < 0) free(layers_[layer].output);
    }
    return first;
  }

  // Returns the largest number of images whose arrays fit, so that parts of the batch are equal.
  int64_t images_at_a_time() {
    size_t layer = 0;
    int64_t most = std::min(batch_, config_.buffer_rows());
    int64_t fits = 0;
    while (fits < most) {
      const int64_t middle = fits + (most - fits + 1) / 2;
      rows_ = plan(middle, layer);
      if (rows_.empty() && !network_.arrays.empty()) {
        most = middle - 1;
      } else {
        fits = middle;
      }
    }
    if (fits == 0) {
      plan(1, layer);
      throw make_error(Code::resource_exhausted,
                       "{}: one image does not fit the Unified Buffer, got {} rows beside the "
                       "arrays that are still needed, expected at most {} in total",
                       layers_.empty() ? "network" : layers_[layer].layer->where,
                       layers_.empty() ? 0 : rows_of(layers_[layer].output, 1),
                       config_.buffer_rows());
    }
    const int64_t parts = (batch_ + fits - 1) / fits;
    return (batch_ + parts - 1) / parts;
  }

  void emit_images(int64_t first, int64_t images) {
    size_t unused = 0;
    rows_ = plan(images, unused);
    const auto transfer = [&](int index, bool in) {
      const size_t i = static_cast<size_t>(index);
      most_rows_ = std::max(most_rows_, rows_[i] + rows_of(index, images));
      emit_transfer(
          builder_, array(index), forms_[i] ? &*forms_[i] : nullptr,
          {.in = in, .ub = rows_[i], .host = ports_[i], .first = first, .images = images});
    };
    for (const int source : sources_) transfer(source, true);
    const auto write_output = [&](int index) {
      if (std::count(network_.outputs.begin(), network_.outputs.end(), index) > 0)
        transfer(index, false);
    };
    for (size_t i = 0; i < layers_.size(); ++i) {
      emit(layers_[i], placements_[i], images);
      most_rows_ =
          std::max(most_rows_, rows_[layers_[i].output] + rows_of(layers_[i].output, images));
      write_output(layers_[i].output);
    }
  }

  void emit(const FusedLayer& fused, const Placement& placement, int64_t images) {
    const NetworkLayer& layer = *fused.layer;
    try {
      if (const auto* product = std::get_if<ProductLayer>(&layer.kind)) {
        ConvolutionLayer shape = product_shape(network_, *product, layer.output);
        for (size_t i = 0; i < product->inputs.size(); ++i) {
          shape.inputs[i].ub = rows_[product->inputs[i].array];
        }
        shape.images = images;
        shape.output = rows_[fused.output];
        shape.table = placement.table;
        shape.pooling = fused.pooling;
        set_finish(builder_, product->finish);
        emit_convolution(builder_, shape, placement.passes);
      } else if (const auto* pool = std::get_if<PoolLayer>(&layer.kind)) {
        emit_pool(builder_, network_, *pool, layer.output, images, rows_);
      } else {
        emit_vector(builder_, network_, std::get<VectorLayer>(layer.kind), layer.output, images,
                    rows_);
      }
    } catch (const Error& error) {
      throw make_error(error.code(), "{}: {}", layer.where, error.message());
    }
  }

  Network network_;
  int64_t batch_;
  MachineConfig config_;
  ProgramBuilder builder_;
  InputForms forms_;
  std::vector<FusedLayer> layers_;
  std::vector<Placement> placements_;  // by fused layer
  std::vector<int64_t> last_read_;     // by array: the last fused layer that reads it, or -1
  std::vector<int> sources_;           // arrays that the host has: inputs and constants
  std::vector<int64_t> ports_;         // by array: offset in host memory
  std::vector<int64_t> rows_;          // by array: first row
  int64_t table_rows_ = 0;
  int64_t most_rows_ = 0;
};

}  // namespace

Program compile_network(const Network& network, int64_t batch, const MachineConfig& config,
                        CompileReport* report) {
  CompileReport own;
  return NetworkCompiler(network, batch, config).compile(report != nullptr ? *report : own);
}

}  // namespace systole::tpu_v1
