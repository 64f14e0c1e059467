// Histograms, images, text and curves, read from their files when they are shown.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/board/http.h"
#include "apps/board/routes.h"
#include "apps/board/run.h"

namespace systole::board {

struct HistogramBucket {
  double left = 0;
  double right = 0;
  double count = 0;
};

struct ImageBlob {
  int64_t width = 0;
  int64_t height = 0;
  std::string bytes;
};

// A precision-recall curve of TensorBoard's plugin pr_curves: one entry a threshold.
struct PrCurve {
  std::vector<double> precision;
  std::vector<double> recall;
  std::vector<double> true_positives, false_positives, true_negatives, false_negatives;
};

// Errors of the readers: those of Run::read_event; DATA_LOSS for a value of another form.
std::vector<HistogramBucket> read_histogram(const Run& run, const BlobRef& ref);
ImageBlob read_image(const Run& run, const BlobRef& ref);
// Returns the strings in row-major order, with the shape.
std::pair<std::vector<std::string>, std::vector<int64_t>> read_text(const Run& run,
                                                                    const BlobRef& ref);
PrCurve read_pr_curve(const Run& run, const BlobRef& ref);

// Returns (basis points, value) of TensorBoard's distributions: the values below which 0, 6.68,
// 15.87, 30.85, 50, 69.15, 84.13, 93.32 and 100 % of the counts lie, linear within a bucket.
std::vector<std::pair<int, double>> compress_histogram(const std::vector<HistogramBucket>& buckets);

// Returns at most `most` references, evenly spread, with the first and the last.
std::vector<BlobRef> spread(const std::vector<BlobRef>& refs, size_t most);

// Returns "image/png" for a PNG and so on; "application/octet-stream" for what a browser should not
// interpret.
std::string_view image_type(std::string_view bytes);

std::string percent_encode(std::string_view text);
std::string escape_html(std::string_view text);

// Returns the bytes of one image: ?run=&tag=&index=.
Response answer_image(const Board& board, const Request& request);

std::vector<Route> blob_routes();

}  // namespace systole::board
