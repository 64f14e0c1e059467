#include "systole/session/kernels/example_parser.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "systole/base/extend_rows.h"
#include "systole/base/prefetch.h"
#include "systole/io/records/example.h"
#include "systole/io/records/example_splitter.h"

namespace systole {
namespace {

// The values of a feature as read from a record; strings are views.
template <class T>
struct Raw {
  using type = T;
};
template <>
struct Raw<std::string> {
  using type = std::string_view;
};
template <class T>
using RawOf = typename Raw<T>::type;

template <class F>
void visit_feature_dtype(DType dtype, const F& f) {
  if (dtype == DType::string) return f.template operator()<std::string>();
  if (dtype == DType::f32) return f.template operator()<float>();
  f.template operator()<int64_t>();
}

Shape joined(std::initializer_list<int64_t> front, const Shape& back) {
  Dims dims(front);
  dims.insert(dims.end(), back.begin(), back.end());
  return Shape(std::move(dims));
}

// The values of all records, concatenated, and their count in each record.
template <class T>
struct Ragged {
  std::vector<RawOf<T>> values;
  std::vector<int64_t> lengths;
};

// Number of records to prefetch.
constexpr size_t kAhead = 3;

}  // namespace

class ExampleBatch::Parser {
 public:
  // Allocates for `capacity` records, for `most` if more are added.
  Parser(const ExampleSchema& schema, size_t capacity, size_t most, bool batched,
         std::span<const Tensor> defaults)
      : schema_(schema), capacity_(capacity), most_(most), batched_(batched), defaults_(defaults) {
    check_defaults();
    make_dense();
    make_splitter();
  }

  void add(std::string_view record) {
    if (count_ == capacity_) grow();
    try {
      if (!read_plain(record)) {
        view_.parse(record);
        read_record();
      }
    } catch (const Error& error) {
      if (!batched_) throw;
      throw Error(error.code(), fmt::format("record {}: {}", count_, error.message()));
    }
    ++count_;
  }

  std::vector<Tensor> finish() {
    std::vector<Tensor> results;
    size_t next = 0;
    for (const ExampleSchema::Sparse& feature : schema_.sparse) {
      add_ragged(feature.dtype, {}, nullptr, ragged_[next++], true, results);
    }
    for (size_t i = 0; i < schema_.dense.size(); ++i) {
      const ExampleSchema::Dense& feature = schema_.dense[i];
      if (feature.variable) {
        add_ragged(feature.dtype, feature.shape, &defaults_[i], ragged_[next++], false, results);
      } else if (!dense_[i].valid()) {  // no record tells the number of bytes
        results.emplace_back(feature.raw, Shape{0, 0});
      } else if (count_ < capacity_) {
        const Tensor filled = dense_[i].slice(0, static_cast<int64_t>(count_));
        // A small batch must not keep the memory of a large one.
        results.push_back(count_ < capacity_ / 2 ? filled.clone() : filled);
      } else {
        results.push_back(std::move(dense_[i]));
      }
    }
    return results;
  }

 private:
  struct AnyRagged {
    Ragged<int64_t> integers;
    Ragged<float> floats;
    Ragged<std::string> strings;
    template <class T>
    Ragged<T>& of() {
      if constexpr (std::is_same_v<T, std::string>) {
        return strings;
      } else if constexpr (std::is_same_v<T, float>) {
        return floats;
      } else {
        return integers;
      }
    }
  };

  // Defaults are inputs of the op; in an imported graph they may have any size.
  void check_defaults() const {
    for (size_t i = 0; i < schema_.dense.size(); ++i) {
      const ExampleSchema::Dense& feature = schema_.dense[i];
      const int64_t count = defaults_[i].num_elements();
      if (count <= 1 || feature.variable || feature.raw != DType::invalid ||
          count == feature.shape.num_elements()) {
        continue;
      }
      throw invalid_argument("default_value of feature '{}', got {}, expected {} of shape {}",
                             feature.key, defaults_[i].type(), feature.dtype, feature.shape);
    }
  }

  void make_dense() {
    size_t num_ragged = schema_.sparse.size();
    for (const ExampleSchema::Dense& feature : schema_.dense) {
      num_ragged += feature.variable ? 1 : 0;
      if (feature.variable || feature.raw != DType::invalid) {
        dense_.emplace_back();
        continue;
      }
      const auto count = static_cast<int64_t>(capacity_);
      dense_.emplace_back(feature.dtype, batched_ ? joined({count}, feature.shape) : feature.shape);
    }
    ragged_.resize(num_ragged);
  }

  // Reallocates for `most` records and moves the existing rows.
  void grow() {
    capacity_ = std::min(2 * capacity_, most_);
    for (Tensor& rows : dense_) {
      if (rows.valid()) rows = extend_rows(rows, static_cast<int64_t>(capacity_));
    }
  }

  // Fast path for schemas with features of fixed length only: one pass over the record.
  void make_splitter() {
    if (!batched_ || !ragged_.empty()) return;
    std::vector<std::string> keys;
    for (const ExampleSchema::Dense& feature : schema_.dense) keys.push_back(feature.key);
    found_.resize(keys.size());
    splitter_.emplace(std::move(keys));
  }

  // Returns false if read_record() must read the record; the record's row is undefined then.
  bool read_plain(std::string_view record) {
    if (!splitter_ || !splitter_->split(record, found_)) return false;
    for (size_t i = 0; i < found_.size(); ++i) {
      const ExampleSchema::Dense& feature = schema_.dense[i];
      const bool raw = feature.raw != DType::invalid;
      if (raw ? !place_raw(i) : !place(feature.dtype, i)) return false;
    }
    return true;
  }

  bool place(DType dtype, size_t index) {
    const PlainFeature& found = found_[index];
    switch (found.kind) {
      case FeatureKind::int64s:
        return dtype == DType::s64 && unpack(found.values, row<int64_t>(index));
      case FeatureKind::floats:
        return dtype == DType::f32 && unpack(found.values, row<float>(index));
      case FeatureKind::bytes:
        if (dtype != DType::string || schema_.dense[index].shape.num_elements() != 1) return false;
        row<std::string>(index)[0] = found.values;
        return true;
      case FeatureKind::none:
        break;
    }
    return false;
  }

  bool place_raw(size_t index) {
    const PlainFeature& found = found_[index];
    Tensor& numbers = dense_[index];
    if (found.kind != FeatureKind::bytes || !numbers.valid()) return false;
    const auto row = static_cast<size_t>(numbers.dim(1) * size_of(numbers.dtype()));
    if (found.values.size() != row) return false;
    std::memcpy(static_cast<char*>(numbers.raw()) + count_ * row, found.values.data(), row);
    return true;
  }

  void read_record() {
    size_t next = 0;
    for (const ExampleSchema::Sparse& feature : schema_.sparse) {
      visit_feature_dtype(feature.dtype, [&]<class T>() {
        read_ragged(feature.key, 1, false, ragged_[next].of<T>());
      });
      ++next;
    }
    for (size_t i = 0; i < schema_.dense.size(); ++i) {
      const ExampleSchema::Dense& feature = schema_.dense[i];
      const bool required = defaults_[i].num_elements() == 0;
      if (feature.raw != DType::invalid) {
        read_raw(feature, i);
        continue;
      }
      visit_feature_dtype(feature.dtype, [&]<class T>() {
        if (feature.variable) {
          read_ragged(feature.key, feature.shape.num_elements(), required, ragged_[next].of<T>());
        } else if (!read_fixed<T>(feature, i)) {
          if (required && feature.shape.num_elements() > 0) throw view_.missing(feature.key);
          fill_fixed<T>(i);
        }
      });
      next += feature.variable ? 1 : 0;
    }
  }

  // State of the current record.
  template <class T>
  std::span<T> row(size_t feature) {
    const std::span<T> all = dense_[feature].data<T>();
    const auto size = static_cast<size_t>(schema_.dense[feature].shape.num_elements());
    return all.subspan(count_ * size, size);
  }

  template <class T>
  bool read_fixed(const ExampleSchema::Dense& feature, size_t index) {
    const std::span<T> out = row<T>(index);
    // As in TensorFlow, a feature without values counts as absent.
    const FeatureView* const found = view_.find(feature.key);
    if (found == nullptr || found->kind() == FeatureKind::none) return false;
    if constexpr (std::is_same_v<T, std::string>) {
      views_.resize(out.size());
      if (!view_.read(feature.key, std::span(views_))) return false;
      std::ranges::copy(views_, out.begin());
      return true;
    } else {
      return view_.read(feature.key, out);
    }
  }

  // Stores the bytes of a string scalar as elements of the record's row. The first record
  // determines their number.
  void read_raw(const ExampleSchema::Dense& feature, size_t index) {
    std::string_view bytes;
    if (!view_.read(feature.key, std::span(&bytes, 1))) {
      if (defaults_[index].num_elements() == 0) throw view_.missing(feature.key);
      bytes = defaults_[index].data<std::string>()[0];
    }
    const auto size = static_cast<size_t>(size_of(feature.raw));
    Tensor& numbers = dense_[index];
    if (!numbers.valid()) {
      if (bytes.size() % size != 0) {
        throw invalid_argument(
            "feature '{}', got {} bytes, expected a multiple of {}, the size "
            "of {}",
            feature.key, bytes.size(), size, feature.raw);
      }
      numbers = Tensor(feature.raw, {static_cast<int64_t>(capacity_),
                                     static_cast<int64_t>(bytes.size() / size)});
    }
    const size_t row = static_cast<size_t>(numbers.dim(1)) * size;
    if (bytes.size() != row) {
      throw invalid_argument("feature '{}', got {} bytes, expected {} as in record 0", feature.key,
                             bytes.size(), row);
    }
    std::memcpy(static_cast<char*>(numbers.raw()) + count_ * row, bytes.data(), row);
  }

  template <class T>
  void fill_fixed(size_t feature) {
    const std::span<T> out = row<T>(feature);
    const auto values = defaults_[feature].data<T>();
    if (values.empty()) return;
    for (size_t i = 0; i < out.size(); ++i) out[i] = values[values.size() == 1 ? 0 : i];
  }

  template <class T>
  void read_ragged(const std::string& key, int64_t item, bool required, Ragged<T>& into) {
    const FeatureView* const feature = view_.find(key);
    if (feature == nullptr && required) throw view_.missing(key);
    const size_t before = into.values.size();
    if (feature != nullptr && feature->kind() != FeatureKind::none) {
      try {
        feature->append_to(into.values);
      } catch (const Error& error) {
        throw Error(error.code(), fmt::format("feature '{}': {}", key, error.message()));
      }
    }
    const auto count = static_cast<int64_t>(into.values.size() - before);
    if (count % item != 0) {
      throw invalid_argument("feature '{}', got {} values, expected a multiple of {}", key, count,
                             item);
    }
    into.lengths.push_back(count / item);
  }

  void add_ragged(DType dtype, const Shape& item, const Tensor* padding, AnyRagged& any,
                  bool with_lengths, std::vector<Tensor>& results) {
    visit_feature_dtype(dtype, [&]<class T>() {
      const Ragged<T>& ragged = any.of<T>();
      const auto count = static_cast<int64_t>(count_);
      int64_t longest = 0;
      for (const int64_t length : ragged.lengths) longest = std::max(longest, length);
      Tensor values(dtype, batched_ ? joined({count, longest}, item) : joined({longest}, item));
      const auto out = values.data<T>();
      std::ranges::fill(
          out, padding == nullptr || padding->num_elements() == 0 ? T() : padding->data<T>()[0]);
      const auto stride = static_cast<size_t>(item.num_elements());
      size_t from = 0;
      for (size_t r = 0; r < ragged.lengths.size(); ++r) {
        const size_t size = static_cast<size_t>(ragged.lengths[r]) * stride;
        std::copy_n(
            ragged.values.begin() + static_cast<std::ptrdiff_t>(from), size,
            out.begin() + static_cast<std::ptrdiff_t>(r * static_cast<size_t>(longest) * stride));
        from += size;
      }
      results.push_back(std::move(values));
      if (!with_lengths) return;
      results.push_back(Tensor::of<int64_t>(batched_ ? Shape{count} : Shape{}, ragged.lengths));
    });
  }

  const ExampleSchema& schema_;
  size_t capacity_;  // in records
  const size_t most_;
  const bool batched_;
  const std::span<const Tensor> defaults_;
  size_t count_ = 0;  // records read
  std::optional<ExampleSplitter> splitter_;
  std::vector<PlainFeature> found_;
  ExampleView view_;
  std::vector<std::string_view> views_;
  std::vector<Tensor> dense_;
  std::vector<AnyRagged> ragged_;
};

bool ExampleBatch::takes(const ExampleSchema& schema) {
  return schema.sparse.empty() &&
         std::ranges::none_of(schema.dense, &ExampleSchema::Dense::variable);
}

ExampleBatch::ExampleBatch(const ExampleSchema& schema, size_t likely, size_t most,
                           std::span<const Tensor> defaults)
    : parser_(std::make_unique<Parser>(schema, std::min(likely, most), most, true, defaults)) {}
ExampleBatch::~ExampleBatch() = default;

void ExampleBatch::add(std::string_view record) { parser_->add(record); }
std::vector<Tensor> ExampleBatch::finish() { return parser_->finish(); }

std::vector<Tensor> parse_examples(const ExampleSchema& schema,
                                   std::span<const std::string> records, bool batched,
                                   std::span<const Tensor> defaults) {
  ExampleBatch::Parser parser(schema, records.size(), records.size(), batched, defaults);
  for (size_t r = 0; r < records.size(); ++r) {
    if (r + kAhead < records.size()) {
      prefetch_bytes(records[r + kAhead].data(), records[r + kAhead].size());
    }
    parser.add(records[r]);
  }
  return parser.finish();
}

std::shared_ptr<const ExampleSchema> schema_of(KernelContext& context) {
  const Node& node = context.node;
  return context.resources.get<ExampleSchema>(
      fmt::format("schema of {}", static_cast<const void*>(&node)),
      [&] { return std::make_shared<ExampleSchema>(node.attrs()); });
}

}  // namespace systole
