#include "systole/hlo/ir/sharding.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <numeric>
#include <set>

#include "systole/base/error.h"

namespace systole::hlo {
namespace {

constexpr std::string_view kMeshPrefix = "sdy.mesh @";
constexpr size_t kShownText = 200;

std::string_view shown(std::string_view text) { return text.substr(0, kShownText); }

// Reads tokens of a sharding's text.
class ShardingText {
 public:
  ShardingText(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  Error error(std::string_view expected) const {
    return invalid_argument("{}: text, got '{}', expected {} at character {}", what_, shown(text_),
                            expected, at_);
  }

  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  // Skips `token` if it comes next.
  bool accept(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) throw error(fmt::format("'{}'", token));
  }
  void expect_end() {
    if (!at_end()) throw error("the end");
  }

  int64_t integer() {
    skip_space();
    int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc() || value < 0) throw error("a number of at most 63 bits");
    at_ += static_cast<size_t>(end - begin);
    return value;
  }
  std::string quoted() {
    expect("\"");
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) throw error("a name in quotes");
    std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    return name;
  }
  // A name behind @, in quotes or not.
  std::string symbol() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_) throw error("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  // Items between `open` and `close`, with commas.
  void list(std::string_view open, std::string_view close, const std::function<void()>& item) {
    expect(open);
    if (accept(close)) return;
    do {
      item();
    } while (accept(","));
    expect(close);
  }
  std::vector<int64_t> integers() {
    std::vector<int64_t> values;
    list("[", "]", [&] { values.push_back(integer()); });
    return values;
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' ||
           c == '-';
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  std::string_view what_;
  std::string_view text_;
  size_t at_ = 0;
};

// Returns the product; at most kMaxMeshDevices.
int64_t device_count(std::string_view what, std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMaxMeshDevices / count) {
      throw invalid_argument(
          "{}: sizes, got {} among them, expected at least 1 and at most {} devices", what, size,
          kMaxMeshDevices);
    }
    count *= size;
  }
  return count;
}

void check_permutation(std::string_view what, std::span<const int64_t> ids, int64_t count) {
  std::vector<bool> seen(static_cast<size_t>(count), false);
  const auto is_new = [&](int64_t id) {
    const bool fits = id >= 0 && id < count && !seen[static_cast<size_t>(id)];
    if (fits) seen[static_cast<size_t>(id)] = true;
    return fits;
  };
  if (static_cast<int64_t>(ids.size()) != count || !std::ranges::all_of(ids, is_new)) {
    throw invalid_argument("{}: device ids, got {}, expected each of 0 to {} once", what,
                           ids.size(), count - 1);
  }
}

Mesh read_mesh_body(ShardingText& text) {
  Mesh mesh;
  text.expect("<");
  text.list("[", "]", [&] {
    std::string name = text.quoted();
    text.expect("=");
    mesh.axes.push_back({std::move(name), text.integer()});
  });
  if (text.accept(",")) {
    text.expect("device_ids");
    text.expect("=");
    mesh.device_ids = text.integers();
  }
  text.expect(">");
  std::set<std::string_view> names;
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : mesh.axes) {
    sizes.push_back(axis.size);
    if (!names.insert(axis.name).second) {
      throw invalid_argument("sdy.mesh: axes, got \"{}\" twice, expected it once", axis.name);
    }
  }
  const int64_t count = device_count("sdy.mesh", sizes);
  if (!mesh.device_ids.empty() && !mesh.is_maximal()) {
    check_permutation("sdy.mesh", mesh.device_ids, count);
  }
  return mesh;
}

AxisRef read_axis(ShardingText& text) {
  AxisRef axis{.name = text.quoted()};
  if (text.accept(":")) {
    text.expect("(");
    axis.pre_size = text.integer();
    text.expect(")");
    axis.size = text.integer();
    if (axis.size == 0) throw text.error("a part of an axis, of at least 1");
  }
  return axis;
}

std::vector<AxisRef> read_axes(ShardingText& text) {
  std::vector<AxisRef> axes;
  text.list("{", "}", [&] { axes.push_back(read_axis(text)); });
  return axes;
}

DimSharding read_dim(ShardingText& text) {
  DimSharding dim;
  text.list("{", "}", [&] {
    if (dim.open) throw text.error("'}' behind '?'");
    if (text.accept("?")) {
      dim.open = true;
    } else {
      dim.axes.push_back(read_axis(text));
    }
  });
  if (text.accept("p")) dim.priority = text.integer();
  return dim;
}

void read_mesh_of(ShardingText& text, const Meshes& meshes, Sharding& sharding) {
  if (!text.accept("@")) {
    text.accept("#sdy.");
    text.expect("mesh");
    sharding.mesh = read_mesh_body(text);
    return;
  }
  sharding.mesh_name = text.symbol();
  const auto found = meshes.find(sharding.mesh_name);
  if (found != meshes.end()) {
    sharding.mesh = found->second;
  } else if (sharding.mesh_name != "empty_mesh") {
    throw invalid_argument("sdy.sharding: mesh, got '@{}', expected one of the module",
                           sharding.mesh_name);
  }
}

// The part of an axis that a reference means, as a range [begin, end) of sizes before it.
void check_axis(const Mesh& mesh, AxisRef& axis, std::vector<AxisRef>& used) {
  const MeshAxis* const whole = mesh.find(axis.name);
  if (whole == nullptr) {
    throw invalid_argument("sdy.sharding: axis, got \"{}\", expected one of the mesh {}", axis.name,
                           mesh.to_string());
  }
  if (axis.size != 0) {
    const bool divides = axis.pre_size > 0 && whole->size % axis.pre_size == 0 &&
                         whole->size / axis.pre_size % axis.size == 0;
    if (!divides) {
      throw invalid_argument(
          "sdy.sharding: part of axis \"{}\", got ({}){}, expected divisors of {}", axis.name,
          axis.pre_size, axis.size, whole->size);
    }
    if (axis.pre_size == 1 && axis.size == whole->size) axis.size = 0;
  }
  const auto begin_of = [](const AxisRef& a) { return a.size == 0 ? 1 : a.pre_size; };
  const auto end_of = [&](const AxisRef& a) {
    return a.size == 0 ? whole->size : a.pre_size * a.size;
  };
  for (const AxisRef& other : used) {
    if (other.name != axis.name) continue;
    if (begin_of(axis) >= end_of(other) || begin_of(other) >= end_of(axis)) continue;
    if (end_of(axis) == begin_of(axis) || end_of(other) == begin_of(other)) continue;
    throw invalid_argument("sdy.sharding: axis \"{}\", got it twice, expected it once", axis.name);
  }
  used.push_back(axis);
}

void check_sharding(Sharding& sharding, int rank) {
  if (sharding.mesh.is_maximal()) return;
  if (static_cast<int>(sharding.dims.size()) != rank) {
    throw invalid_argument("sdy.sharding: axes of the array, got {}, expected {}",
                           sharding.dims.size(), rank);
  }
  std::vector<AxisRef> used;
  for (DimSharding& dim : sharding.dims) {
    for (AxisRef& axis : dim.axes) check_axis(sharding.mesh, axis, used);
  }
  for (AxisRef& axis : sharding.replicated) check_axis(sharding.mesh, axis, used);
  for (AxisRef& axis : sharding.unreduced) check_axis(sharding.mesh, axis, used);
}

Sharding read_sdy(ShardingText& text, const Meshes& meshes, int rank) {
  Sharding sharding;
  text.expect("<");
  read_mesh_of(text, meshes, sharding);
  text.expect(",");
  text.list("[", "]", [&] { sharding.dims.push_back(read_dim(text)); });
  while (text.accept(",")) {
    if (text.accept("replicated")) {
      text.expect("=");
      sharding.replicated = read_axes(text);
    } else {
      text.expect("unreduced");
      text.expect("=");
      sharding.unreduced = read_axes(text);
    }
  }
  text.expect(">");
  check_sharding(sharding, rank);
  return sharding;
}

// -- GSPMD

// The tiles of {devices=[2,4]<=[4,2]T(1,0)}.
struct Tiles {
  std::vector<int64_t> dims;
  std::vector<int64_t> iota;         // empty: `ids` has the devices
  std::vector<int64_t> permutation;  // of iota
  std::vector<int64_t> ids;
};

// Returns one element more than there are sizes: element i is the product of sizes[i] and all sizes
// after it, the last element is 1.
std::vector<int64_t> suffix_products(std::span<const int64_t> sizes) {
  std::vector<int64_t> products(sizes.size() + 1, 1);
  for (size_t i = sizes.size(); i-- > 0;) products[i] = products[i + 1] * sizes[i];
  return products;
}

// Returns the index of the range of `products` that holds [low, high).
size_t range_of(const std::vector<int64_t>& products, int64_t low, int64_t high) {
  for (size_t i = 0; i + 1 < products.size(); ++i) {
    if (high <= products[i] && low >= products[i + 1]) return i;
  }
  return products.size() - 2;
}

// One mesh axis for each run of devices that neither tiles nor transposed iota axes cut. Returns
// whether there is such a mesh.
bool set_iota_mesh(const Tiles& tiles, Sharding& sharding) {
  std::vector<int64_t> transposed;
  for (const int64_t axis : tiles.permutation) transposed.push_back(tiles.iota[axis]);
  const std::vector<int64_t> tile_ends = suffix_products(tiles.dims);
  const std::vector<int64_t> iota_ends = suffix_products(transposed);
  std::set<int64_t, std::greater<>> cuts(tile_ends.begin(), tile_ends.end());
  cuts.insert(iota_ends.begin(), iota_ends.end());
  struct Piece {
    size_t tile;
    int64_t iota_axis;
    int64_t size;
  };
  std::vector<Piece> pieces;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    const int64_t low = *std::next(cut);
    if (*cut % low != 0) return false;
    pieces.push_back({range_of(tile_ends, low, *cut),
                      tiles.permutation[range_of(iota_ends, low, *cut)], *cut / low});
  }
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return pieces[i].iota_axis; });
  std::vector<std::string> names(pieces.size());
  for (const size_t i : order) {
    names[i] = fmt::format("axis_{}", sharding.mesh.axes.size());
    sharding.mesh.axes.push_back({names[i], pieces[i].size});
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].tile < sharding.dims.size()) {
      sharding.dims[pieces[i].tile].axes.push_back({.name = names[i]});
    }
  }
  return true;
}

std::vector<int64_t> transposed_iota(const Tiles& tiles) {
  std::vector<int64_t> strides;
  for (const int64_t axis : tiles.permutation) {
    strides.push_back(suffix_products(tiles.iota)[axis + 1]);
  }
  std::vector<int64_t> ids{0};
  for (size_t i = 0; i < strides.size(); ++i) {
    std::vector<int64_t> next;
    for (const int64_t id : ids) {
      for (int64_t k = 0; k < tiles.iota[tiles.permutation[i]]; ++k)
        next.push_back(id + k * strides[i]);
    }
    ids = std::move(next);
  }
  return ids;
}

void set_listed_mesh(const Tiles& tiles, Sharding& sharding) {
  sharding.mesh.device_ids = tiles.ids.empty() ? transposed_iota(tiles) : tiles.ids;
  for (size_t i = 0; i < tiles.dims.size(); ++i) {
    if (tiles.dims[i] == 1) continue;
    const std::string name = fmt::format("axis_{}", i);
    sharding.mesh.axes.push_back({name, tiles.dims[i]});
    if (i < sharding.dims.size()) sharding.dims[i].axes.push_back({.name = name});
  }
  if (sharding.mesh.axes.empty())
    sharding.mesh.device_ids.clear();  // one device, not a maximal mesh
}

Tiles read_tiles(ShardingText& text) {
  Tiles tiles;
  tiles.dims = text.integers();
  const int64_t count = device_count("mhlo.sharding", tiles.dims);
  if (!text.accept("<=")) {
    do {
      tiles.ids.push_back(text.integer());
    } while (text.accept(","));
    check_permutation("mhlo.sharding", tiles.ids, count);
    return tiles;
  }
  tiles.iota = text.integers();
  tiles.permutation.resize(tiles.iota.size());
  std::iota(tiles.permutation.begin(), tiles.permutation.end(), 0);
  if (text.accept("T")) {
    tiles.permutation.clear();
    text.list("(", ")", [&] { tiles.permutation.push_back(text.integer()); });
    check_permutation("mhlo.sharding", tiles.permutation, static_cast<int64_t>(tiles.iota.size()));
  }
  if (device_count("mhlo.sharding", tiles.iota) != count) {
    throw invalid_argument("mhlo.sharding: devices, got {} for {} tiles, expected as many",
                           device_count("mhlo.sharding", tiles.iota), count);
  }
  return tiles;
}

// Returns the number of trailing tile dimensions that split no axis of the array.
size_t read_last_tile_dims(ShardingText& text) {
  size_t extra = 0;
  while (!text.accept("}")) {
    if (text.accept("last_tile_dim_replicate")) {
      extra = 1;
    } else if (text.accept("last_tile_dims")) {
      text.expect("=");
      text.list("{", "}", [&] {
        if (!text.accept("replicated")) {
          throw unimplemented(
              "mhlo.sharding: last_tile_dims, got another than replicated, expected only these");
        }
        ++extra;
      });
    } else {
      throw text.error("last_tile_dim_replicate, last_tile_dims or '}'");
    }
  }
  return extra;
}

Sharding read_gspmd(ShardingText& text, int rank) {
  Sharding sharding = replicated_sharding(rank);
  text.expect("{");
  if (text.accept("maximal")) {
    text.expect("device");
    text.expect("=");
    sharding.mesh.device_ids = {text.integer()};
    text.expect("}");
    return sharding;
  }
  if (text.accept("replicated") || text.accept("manual") || text.accept("unknown")) {
    text.expect("}");
    return sharding;
  }
  text.expect("devices");
  text.expect("=");
  const Tiles tiles = read_tiles(text);
  const size_t extra = read_last_tile_dims(text);
  if (tiles.dims.size() != sharding.dims.size() + extra) {
    throw invalid_argument(
        "mhlo.sharding: axes of the array, got {} tile dimensions and {} more, "
        "expected {}",
        tiles.dims.size() - std::min(extra, tiles.dims.size()), extra, rank);
  }
  if (tiles.iota.empty() || !set_iota_mesh(tiles, sharding)) set_listed_mesh(tiles, sharding);
  return sharding;
}

std::string axis_text(const AxisRef& axis) {
  if (axis.size == 0) return fmt::format("\"{}\"", axis.name);
  return fmt::format("\"{}\":({}){}", axis.name, axis.pre_size, axis.size);
}

std::string axes_text(std::span<const AxisRef> axes) {
  std::string text;
  for (const AxisRef& axis : axes) text += (text.empty() ? "" : ", ") + axis_text(axis);
  return text;
}

std::string symbol_text(const std::string& name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.';
  });
  return plain && !name.empty() ? "@" + name : "@\"" + name + "\"";
}

int64_t size_of(const Mesh& mesh, const AxisRef& axis) {
  if (axis.size != 0) return axis.size;
  const MeshAxis* const whole = mesh.find(axis.name);
  return whole == nullptr ? 1 : whole->size;
}

}  // namespace

int64_t Mesh::num_devices() const {
  int64_t count = 1;
  for (const MeshAxis& axis : axes) count *= axis.size;
  return count;
}

const MeshAxis* Mesh::find(std::string_view name) const {
  const auto found = std::ranges::find(axes, name, &MeshAxis::name);
  return found == axes.end() ? nullptr : &*found;
}

std::string Mesh::to_string() const {
  std::string text;
  for (const MeshAxis& axis : axes) {
    text += fmt::format("{}\"{}\"={}", text.empty() ? "" : ", ", axis.name, axis.size);
  }
  text = "<[" + text + "]";
  if (!device_ids.empty()) {
    std::string ids;
    for (const int64_t id : device_ids) ids += (ids.empty() ? "" : ", ") + std::to_string(id);
    text += ", device_ids=[" + ids + "]";
  }
  return text + ">";
}

bool Sharding::is_replicated() const {
  return std::ranges::all_of(dims, [&](const DimSharding& dim) {
    return std::ranges::all_of(dim.axes, [&](const AxisRef& a) { return size_of(mesh, a) == 1; });
  });
}

std::string Sharding::to_string() const {
  std::string text;
  for (const DimSharding& dim : dims) {
    std::string inner = axes_text(dim.axes);
    if (dim.open) inner += inner.empty() ? "?" : ", ?";
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", inner);
    if (dim.priority != 0) text += fmt::format("p{}", dim.priority);
  }
  const std::string place = mesh_name.empty() ? "mesh" + mesh.to_string() : symbol_text(mesh_name);
  text = fmt::format("#sdy.sharding<{}, [{}]", place, text);
  if (!replicated.empty()) text += fmt::format(", replicated={{{}}}", axes_text(replicated));
  if (!unreduced.empty()) text += fmt::format(", unreduced={{{}}}", axes_text(unreduced));
  return text + ">";
}

int64_t Sharding::num_shards(int dim) const {
  int64_t count = 1;
  if (static_cast<size_t>(dim) >= dims.size()) return count;
  for (const AxisRef& axis : dims[dim].axes) count *= size_of(mesh, axis);
  return count;
}

Shape Sharding::local_shape(const Shape& whole) const {
  if (mesh.is_maximal()) return whole;
  if (static_cast<int>(dims.size()) != whole.rank()) {
    throw invalid_argument("sharding: axes of the array, got {}, expected {}", dims.size(),
                           whole.rank());
  }
  Shape local = whole;
  for (int d = 0; d < whole.rank(); ++d) {
    if (whole[d] % num_shards(d) != 0) {
      throw invalid_argument("sharding: size of axis {}, got {} in {}, expected a multiple of {}",
                             d, whole[d], whole, num_shards(d));
    }
    local.set_dim(d, whole[d] / num_shards(d));
  }
  return local;
}

std::vector<int64_t> Sharding::shard_of(int64_t device) const {
  int64_t place = device;
  if (!mesh.device_ids.empty()) {
    const auto found = std::ranges::find(mesh.device_ids, device);
    place = found == mesh.device_ids.end() ? 0 : found - mesh.device_ids.begin();
  }
  std::vector<int64_t> result;
  for (const DimSharding& dim : dims) {
    int64_t index = 0;
    for (const AxisRef& axis : dim.axes) {
      int64_t behind = 1;  // the stride of the axis
      for (auto at = mesh.axes.rbegin(); at != mesh.axes.rend() && at->name != axis.name; ++at) {
        behind *= at->size;
      }
      const int64_t whole = size_of(mesh, {.name = axis.name});
      const int64_t size = size_of(mesh, axis);
      const int64_t minor = axis.size == 0 ? 1 : whole / axis.pre_size / axis.size;
      index = index * size + place / behind % whole / minor % size;
    }
    result.push_back(index);
  }
  return result;
}

Sharding replicated_sharding(int rank) {
  return {.dims = std::vector<DimSharding>(static_cast<size_t>(rank))};
}

Meshes meshes_of(const Module& module) {
  Meshes meshes;
  for (const auto& [name, text] : module.attributes) {
    if (!name.starts_with(kMeshPrefix)) continue;
    meshes[name.substr(kMeshPrefix.size())] = parse_mesh(text);
  }
  return meshes;
}

Mesh parse_mesh(std::string_view text) {
  ShardingText reader("sdy.mesh", text);
  reader.accept("#sdy.");
  reader.accept("mesh");
  Mesh mesh = read_mesh_body(reader);
  // Attributes that follow the mesh mean nothing here: <["x"=2]> {loc = 1}.
  if (!reader.accept("{")) reader.expect_end();
  return mesh;
}

Sharding parse_sharding(std::string_view text, const Meshes& meshes, int rank) {
  const bool quotes = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  if (quotes) text = text.substr(1, text.size() - 2);
  ShardingText reader("sharding", text);
  if (text.starts_with("{")) {
    Sharding sharding = read_gspmd(reader, rank);
    reader.expect_end();
    return sharding;
  }
  if (reader.accept("#sdy.sharding_per_value")) {
    return parse_shardings(text, meshes, {rank})[0];
  }
  reader.accept("#sdy.sharding");
  Sharding sharding = read_sdy(reader, meshes, rank);
  reader.expect_end();
  return sharding;
}

std::vector<Sharding> parse_shardings(std::string_view text, const Meshes& meshes,
                                      const std::vector<int>& ranks) {
  ShardingText reader("sharding", text);
  const bool framed = reader.accept("#sdy.sharding_per_value");
  if (framed) reader.expect("<");
  std::vector<Sharding> shardings;
  reader.list("[", "]", [&] {
    reader.accept("#sdy.sharding");
    if (shardings.size() >= ranks.size()) throw reader.error("no more shardings");
    shardings.push_back(read_sdy(reader, meshes, ranks[shardings.size()]));
  });
  if (framed) reader.expect(">");
  reader.expect_end();
  if (shardings.size() != ranks.size()) {
    throw invalid_argument("sharding: number of them, got {}, expected {}", shardings.size(),
                           ranks.size());
  }
  return shardings;
}

std::vector<std::string> parse_manual_axes(std::string_view text) {
  ShardingText reader("sdy.manual_axes", text);
  const bool framed = reader.accept("#sdy<");
  if (framed) reader.expect("manual_axes");
  std::vector<std::string> names;
  reader.list("{", "}", [&] { names.push_back(reader.symbol()); });
  if (framed) reader.expect(">");
  reader.expect_end();
  return names;
}

}  // namespace systole::hlo
