#include "apps/board/blobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "apps/board/board.h"

namespace systole::board {
namespace {

SummaryValue read_blob_value(const Run& run, const BlobRef& ref) {
  Event event = run.read_event(ref);
  if (event.values.empty()) {
    throw make_error(Code::data_loss, "{}: got an event without value {}, expected it", run.name(),
                     ref.value);
  }
  return std::move(event.values[0]);
}

Error other_form(const Run& run, const SummaryValue& value, std::string_view expected) {
  return make_error(Code::data_loss, "run {}: tag '{}': got {}, expected {}", run.name(),
                    value.tag.substr(0, 200), to_string(value.kind), expected);
}

std::vector<HistogramBucket> buckets_of(const Histogram& histogram) {
  std::vector<HistogramBucket> buckets;
  double left = histogram.min;
  for (size_t i = 0; i < histogram.bucket.size() && i < histogram.bucket_limit.size(); ++i) {
    // The outer limits are the largest doubles; the extremes say more.
    const double right = std::min(histogram.bucket_limit[i], histogram.max);
    if (histogram.bucket[i] > 0) {
      buckets.push_back(
          {.left = std::min(left, right), .right = right, .count = histogram.bucket[i]});
    }
    left = std::max(histogram.bucket_limit[i], histogram.min);
  }
  return buckets;
}

}  // namespace

std::vector<HistogramBucket> read_histogram(const Run& run, const BlobRef& ref) {
  const SummaryValue value = read_blob_value(run, ref);
  if (value.kind == SummaryValue::Kind::histogram) return buckets_of(value.histogram);
  const Tensor& tensor = value.tensor;
  if (value.kind != SummaryValue::Kind::tensor || tensor.shape().rank() != 2 ||
      tensor.shape().dims()[1] != 3 || !is_numeric(tensor.dtype())) {
    throw other_form(run, value, "a histogram or a tensor [n, 3]");
  }
  std::vector<HistogramBucket> buckets;
  for (int64_t i = 0; i < tensor.shape().dims()[0]; ++i) {
    buckets.push_back({.left = tensor.as_double(3 * i),
                       .right = tensor.as_double(3 * i + 1),
                       .count = tensor.as_double(3 * i + 2)});
  }
  return buckets;
}

ImageBlob read_image(const Run& run, const BlobRef& ref) {
  SummaryValue value = read_blob_value(run, ref);
  if (value.kind == SummaryValue::Kind::image) {
    return {.width = value.image.width,
            .height = value.image.height,
            .bytes = std::move(value.image.encoded)};
  }
  const Tensor& tensor = value.tensor;
  if (value.kind != SummaryValue::Kind::tensor || tensor.dtype() != DType::string ||
      tensor.num_elements() < 3) {
    throw other_form(run, value, "an image or a tensor of strings: width, height, images");
  }
  const auto strings = tensor.data<std::string>();
  return {.width = std::atoll(strings[0].c_str()),
          .height = std::atoll(strings[1].c_str()),
          .bytes = strings[2]};
}

std::pair<std::vector<std::string>, std::vector<int64_t>> read_text(const Run& run,
                                                                    const BlobRef& ref) {
  const SummaryValue value = read_blob_value(run, ref);
  if (value.kind != SummaryValue::Kind::tensor || value.tensor.dtype() != DType::string) {
    throw other_form(run, value, "a tensor of strings");
  }
  const auto strings = value.tensor.data<std::string>();
  const auto& dims = value.tensor.shape().dims();
  return {{strings.begin(), strings.end()}, {dims.begin(), dims.end()}};
}

PrCurve read_pr_curve(const Run& run, const BlobRef& ref) {
  const SummaryValue value = read_blob_value(run, ref);
  const Tensor& tensor = value.tensor;
  if (value.kind != SummaryValue::Kind::tensor || tensor.shape().rank() != 2 ||
      tensor.shape().dims()[0] != 6 || !is_numeric(tensor.dtype())) {
    throw other_form(run, value, "a tensor [6, thresholds]");
  }
  const int64_t n = tensor.shape().dims()[1];
  const auto row = [&](int64_t r) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(tensor.as_double(r * n + i));
    return values;
  };
  return {.precision = row(4),
          .recall = row(5),
          .true_positives = row(0),
          .false_positives = row(1),
          .true_negatives = row(2),
          .false_negatives = row(3)};
}

std::vector<std::pair<int, double>> compress_histogram(
    const std::vector<HistogramBucket>& buckets) {
  constexpr std::array<int, 9> kBasisPoints = {0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000};
  double total = 0;
  for (const HistogramBucket& bucket : buckets) total += bucket.count;
  std::vector<std::pair<int, double>> points;
  if (!(total > 0)) {
    for (const int basis_points : kBasisPoints) points.emplace_back(basis_points, 0.0);
    return points;
  }
  size_t at = 0;
  double before = 0;  // the counts of the buckets before `at`
  for (const int basis_points : kBasisPoints) {
    const double wanted = total * basis_points / 10000;
    while (at + 1 < buckets.size() &&
           (before + buckets[at].count < wanted || buckets[at].count <= 0)) {
      before += buckets[at++].count;
    }
    const HistogramBucket& bucket = buckets[at];
    const double share =
        bucket.count > 0 ? std::clamp((wanted - before) / bucket.count, 0.0, 1.0) : 0;
    points.emplace_back(basis_points, bucket.left + share * (bucket.right - bucket.left));
  }
  return points;
}

std::vector<BlobRef> spread(const std::vector<BlobRef>& refs, size_t most) {
  if (refs.size() <= most || most < 2) return refs;
  std::vector<BlobRef> kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(refs[i * (refs.size() - 1) / (most - 1)]);
  return kept;
}

std::string_view image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF8")) return "image/gif";
  if (bytes.starts_with("BM")) return "image/bmp";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return "image/webp";
  return "application/octet-stream";
}

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      encoded += c;
    } else {
      fmt::format_to(std::back_inserter(encoded), "%{:02X}", byte);
    }
  }
  return encoded;
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace systole::board
