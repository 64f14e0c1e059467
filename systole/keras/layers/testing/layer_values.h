// Rows of a table that holds each layer to values of plain f64 loops.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/keras/base/json.h"

namespace systole::keras::layers::testing {

// An array in f64.
struct Values {
  Values() = default;
  explicit Values(const Tensor& tensor);
  explicit Values(std::vector<int64_t> sizes);  // zeros

  int64_t size(int64_t axis) const { return shape.at(static_cast<size_t>(axis)); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  double& at(const std::vector<int64_t>& place);
  double at(const std::vector<int64_t>& place) const;
  // Calls f with the place of each element, the last axis fastest.
  void for_each(const std::function<void(const std::vector<int64_t>&)>& f) const;
  // Each element replaced by f(element).
  Values mapped(const std::function<double(double)>& f) const;

  std::vector<int64_t> shape;
  std::vector<double> data;
};

// What a formula knows of a call.
struct LayerCallCase {
  Json config;
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;            // in Keras's order
  std::vector<std::vector<double>> mask;  // [batch][time], 1 where a step counts; empty: none

  Values input(size_t i = 0) const { return Values(inputs.at(i)); }
  Values weight(size_t i) const { return Values(weights.at(i)); }
};

using Formula = std::function<std::vector<Values>(const LayerCallCase&)>;

struct LayerRow {
  std::string class_name;
  std::string config;                        // JSON
  std::vector<std::vector<int64_t>> inputs;  // shapes with the batch
  Formula formula;                           // of all outputs
  bool masked = false;                       // some steps of the input are masked
  bool training = false;
};

using LayerRows = std::vector<LayerRow>;

// An activation by Keras's name, for one number.
double activated(const std::string& name, double x);

// The rows, by kinds of layers.
void add_attention_rows(LayerRows& rows);
void add_convolutional_recurrent_rows(LayerRows& rows);
void add_core_rows(LayerRows& rows);
void add_merge_rows(LayerRows& rows);
void add_space_rows(LayerRows& rows);
void add_recurrent_rows(LayerRows& rows);

}  // namespace systole::keras::layers::testing
