#include "systole/graph/core/graph.h"
#include "systole/graph/core/variable.h"

namespace systole {

struct Graph::Collections {
  std::map<std::string, std::vector<Item>, std::less<>> lists;
};

Graph::Graph() : collections_(std::make_unique<Collections>()) {}
Graph::~Graph() = default;

void Graph::add_to_collection(std::string_view key, Item item) {
  collections_->lists[std::string(key)].push_back(std::move(item));
}

namespace {

template <class T>
std::string name_of_item(const T& item) {
  if constexpr (std::is_same_v<T, Saveable>) {
    return item.name;
  } else {
    return item.name();
  }
}

}  // namespace

template <class T>
std::vector<T> Graph::collection(std::string_view key, std::string_view scope) const {
  std::vector<T> result;
  const auto it = collections_->lists.find(key);
  if (it == collections_->lists.end()) return result;
  for (const Item& item : it->second) {
    const T* wanted = std::get_if<T>(&item);
    if (wanted != nullptr && name_of_item(*wanted).starts_with(scope)) {
      result.push_back(*wanted);
    }
  }
  return result;
}

template std::vector<Output> Graph::collection(std::string_view, std::string_view) const;
template std::vector<Operation> Graph::collection(std::string_view, std::string_view) const;
template std::vector<Variable> Graph::collection(std::string_view, std::string_view) const;
template std::vector<Saveable> Graph::collection(std::string_view, std::string_view) const;

}  // namespace systole
