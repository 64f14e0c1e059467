// Recurrences of convolutions.
#include <algorithm>
#include <utility>

#include "systole/keras/layers/testing/layer_values.h"

namespace systole::keras::layers::testing {
namespace {

// An image [rows, columns, channels] of a batch, or of a step of one.
struct Image {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t channels = 0;
  std::vector<double> values = std::vector<double>(static_cast<size_t>(rows * columns * channels));

  double& at(int64_t r, int64_t c, int64_t k) {
    return values.at(static_cast<size_t>((r * columns + c) * channels + k));
  }
  // 0 outside.
  double get(int64_t r, int64_t c, int64_t k) const {
    if (r < 0 || c < 0 || r >= rows || c >= columns) return 0;
    return values.at(static_cast<size_t>((r * columns + c) * channels + k));
  }
};

struct Moves {
  std::vector<int64_t> strides = {1, 1};
  std::vector<int64_t> dilations = {1, 1};
  bool same = true;
};

// The size of the result along an axis, and what stands before the first element.
std::pair<int64_t, int64_t> extent(int64_t size, int64_t kernel, size_t axis, const Moves& moves) {
  const int64_t window = (kernel - 1) * moves.dilations[axis] + 1;
  const int64_t stride = moves.strides[axis];
  if (!moves.same) return {(size - window) / stride + 1, 0};
  const int64_t result = (size + stride - 1) / stride;
  return {result, std::max<int64_t>((result - 1) * stride + window - size, 0) / 2};
}

Image convolve(const Image& x, const Values& kernel, const Moves& moves) {
  const auto [rows, top] = extent(x.rows, kernel.size(0), 0, moves);
  const auto [columns, left] = extent(x.columns, kernel.size(1), 1, moves);
  Image y{.rows = rows, .columns = columns, .channels = kernel.size(3)};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      kernel.for_each([&](const std::vector<int64_t>& k) {
        y.at(r, c, k[3]) +=
            kernel.at(k) * x.get(r * moves.strides[0] + k[0] * moves.dilations[0] - top,
                                 c * moves.strides[1] + k[1] * moves.dilations[1] - left, k[2]);
      });
    }
  }
  return y;
}

// The place of an element of an image behind the axes `front`.
std::vector<int64_t> place(std::vector<int64_t> front, bool first, int64_t r, int64_t c,
                           int64_t k) {
  const std::vector<int64_t> of_image =
      first ? std::vector<int64_t>{k, r, c} : std::vector<int64_t>{r, c, k};
  front.insert(front.end(), of_image.begin(), of_image.end());
  return front;
}

struct Cell {
  Values kernel;
  Values recurrent;
  std::vector<double> bias;
  std::string activation;
  std::string recurrent_activation;
  Moves moves;
};

Cell cell_of(const LayerCallCase& call) {
  const Json& o = call.config;
  Cell cell{.kernel = call.weight(0),
            .recurrent = call.weight(1),
            .activation = o.value("activation", "tanh"),
            .recurrent_activation = o.value("recurrent_activation", "hard_sigmoid"),
            .moves = {.same = o.value("padding", "valid") == "same"}};
  if (o.contains("strides")) cell.moves.strides = o.at("strides").get<std::vector<int64_t>>();
  if (o.contains("dilation_rate"))
    cell.moves.dilations = o.at("dilation_rate").get<std::vector<int64_t>>();
  cell.bias = o.value("use_bias", true)
                  ? call.weight(2).data
                  : std::vector<double>(static_cast<size_t>(cell.kernel.size(3)));
  return cell;
}

// Replaces the states by those after the step.
void step(const Cell& cell, const Image& x, Image& h, Image& c) {
  const Image of_input = convolve(x, cell.kernel, cell.moves);
  const int64_t filters = cell.kernel.size(3) / 4;
  if (c.values.empty())
    h = c = Image{.rows = of_input.rows, .columns = of_input.columns, .channels = filters};
  const Image of_state = convolve(h, cell.recurrent, {});
  for (int64_t row = 0; row < h.rows; ++row) {
    for (int64_t column = 0; column < h.columns; ++column) {
      for (int64_t k = 0; k < filters; ++k) {
        const auto gate = [&](int64_t g, const std::string& activation) {
          const int64_t at = g * filters + k;
          return activated(activation, of_input.get(row, column, at) +
                                           of_state.get(row, column, at) +
                                           cell.bias.at(static_cast<size_t>(at)));
        };
        double& memory = c.at(row, column, k);
        memory = gate(1, cell.recurrent_activation) * memory +
                 gate(0, cell.recurrent_activation) * gate(2, cell.activation);
        h.at(row, column, k) =
            gate(3, cell.recurrent_activation) * activated(cell.activation, memory);
      }
    }
  }
}

std::vector<Values> conv_lstm(const LayerCallCase& call) {
  const Values x = call.input();
  const bool first = call.config.value("data_format", "") == "channels_first";
  const bool sequences = call.config.value("return_sequences", false);
  const bool backwards = call.config.value("go_backwards", false);
  const Cell cell = cell_of(call);
  const int64_t time = x.size(1);
  Values result;
  for (int64_t b = 0; b < x.size(0); ++b) {
    Image h;
    Image c;
    for (int64_t t = 0; t < time; ++t) {
      Image image{.rows = x.size(first ? 3 : 2),
                  .columns = x.size(first ? 4 : 3),
                  .channels = x.size(first ? 2 : 4)};
      for (int64_t r = 0; r < image.rows; ++r)
        for (int64_t column = 0; column < image.columns; ++column)
          for (int64_t k = 0; k < image.channels; ++k)
            image.at(r, column, k) =
                x.at(place({b, backwards ? time - 1 - t : t}, first, r, column, k));
      step(cell, image, h, c);
      if (result.shape.empty()) {
        std::vector<int64_t> front = {x.size(0)};
        if (sequences) front.push_back(time);
        result = Values(place(front, first, h.rows, h.columns, h.channels));
      }
      if (!sequences && t + 1 < time) continue;
      std::vector<int64_t> front = {b};
      if (sequences) front.push_back(t);
      for (int64_t r = 0; r < h.rows; ++r)
        for (int64_t column = 0; column < h.columns; ++column)
          for (int64_t k = 0; k < h.channels; ++k)
            result.at(place(front, first, r, column, k)) = h.at(r, column, k);
    }
  }
  return {result};
}

}  // namespace

void add_convolutional_recurrent_rows(LayerRows& rows) {
  const Json usual = {{"filters", 2}, {"kernel_size", {2, 3}}};
  for (const Json& others :
       {Json::object(), Json{{"filters", 3}, {"padding", "same"}, {"return_sequences", true}},
        Json{{"kernel_size", {3, 2}}, {"strides", {2, 1}}, {"go_backwards", true}},
        Json{{"dilation_rate", {1, 2}}, {"use_bias", false}, {"activation", "relu"}},
        Json{{"recurrent_activation", "sigmoid"}, {"unit_forget_bias", false}},
        Json{{"dropout", 0.5},
             {"recurrent_dropout", 0.5},
             {"return_sequences", true},
             {"go_backwards", true}}}) {
    Json config = usual;
    config.update(others);
    rows.push_back({"ConvLSTM2D", config.dump(), {{2, 3, 5, 6, 2}}, conv_lstm});
  }
  Json config = usual;
  config["data_format"] = "channels_first";
  rows.push_back({"ConvLSTM2D", config.dump(), {{2, 3, 2, 5, 6}}, conv_lstm});
}

}  // namespace systole::keras::layers::testing
