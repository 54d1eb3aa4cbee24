#include "ir/attrs.h"

#include <algorithm>
#include <bit>

#include "ir/graph.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/text.h"

namespace ct {
namespace {

bool same_value(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* graph = std::get_if<GraphPtr>(&a)) return same_graph(**graph, *std::get<GraphPtr>(b));
  if (const auto* graphs = std::get_if<std::vector<GraphPtr>>(&a)) {
    const auto& others = std::get<std::vector<GraphPtr>>(b);
    return std::equal(graphs->begin(), graphs->end(), others.begin(), others.end(),
                      [](const GraphPtr& x, const GraphPtr& y) { return same_graph(*x, *y); });
  }
  // Bitwise for doubles: NaN literals are equal to themselves and -0.0 differs from 0.0.
  const auto same_bits = [](double x, double y) { return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y); };
  if (const auto* real = std::get_if<double>(&a)) return same_bits(*real, std::get<double>(b));
  if (const auto* reals = std::get_if<std::vector<double>>(&a)) {
    const auto& others = std::get<std::vector<double>>(b);
    return std::equal(reals->begin(), reals->end(), others.begin(), others.end(), same_bits);
  }
  return a == b;
}

uint64_t hash_value(const AttrValue& value) {
  struct Visitor {
    uint64_t operator()(bool v) const { return v; }
    uint64_t operator()(int64_t v) const { return static_cast<uint64_t>(v); }
    uint64_t operator()(double v) const { return std::bit_cast<uint64_t>(v); }
    uint64_t operator()(const std::string& v) const { return hash_bytes(v); }
    uint64_t operator()(DType v) const { return static_cast<uint64_t>(v); }
    uint64_t operator()(const Ints& v) const {
      uint64_t h = v.size();
      for (int64_t x : v) h = hash_combine(h, static_cast<uint64_t>(x));
      return h;
    }
    uint64_t operator()(const std::vector<double>& v) const {
      uint64_t h = v.size();
      for (double x : v) h = hash_combine(h, std::bit_cast<uint64_t>(x));
      return h;
    }
    uint64_t operator()(const GraphPtr& v) const { return v->hash(); }
    uint64_t operator()(const std::vector<GraphPtr>& v) const {
      uint64_t h = v.size();
      for (const GraphPtr& g : v) h = hash_combine(h, g->hash());
      return h;
    }
    uint64_t operator()(const OpaquePtr& v) const { return reinterpret_cast<uintptr_t>(v.get()); }
  };
  return hash_combine(value.index(), std::visit(Visitor{}, value));
}

}  // namespace

std::shared_ptr<const Attrs> Attrs::empty() {
  static const AttrsPtr instance = make({});
  return instance;
}

std::shared_ptr<const Attrs> Attrs::make(std::vector<Item> items) {
  auto attrs = std::make_shared<Attrs>();
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.first < b.first; });
  attrs->items_ = std::move(items);
  uint64_t hash = attrs->items_.size();
  for (const auto& [key, value] : attrs->items_)
    hash = hash_combine(hash_combine(hash, hash_bytes(key)), hash_value(value));
  attrs->hash_ = hash;
  for (const auto& [key, value] : attrs->items_) {
    std::vector<GraphPtr> graphs;
    if (const auto* graph = std::get_if<GraphPtr>(&value)) graphs = {*graph};
    if (const auto* several = std::get_if<std::vector<GraphPtr>>(&value)) graphs = *several;
    for (const GraphPtr& graph : graphs) attrs->has_side_effects_ |= graph != nullptr && graph->has_side_effects();
  }
  return attrs;
}

bool Attrs::operator==(const Attrs& other) const {
  if (this == &other) return true;
  if (hash_ != other.hash_ || items_.size() != other.items_.size()) return false;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].first != other.items_[i].first || !same_value(items_[i].second, other.items_[i].second)) return false;
  }
  return true;
}

std::shared_ptr<const Attrs> Attrs::with(std::string_view key, AttrValue value) const {
  std::vector<Item> items;
  for (const Item& item : items_) {
    if (item.first != key) items.push_back(item);
  }
  items.emplace_back(std::string(key), std::move(value));
  return make(std::move(items));
}

const AttrValue* Attrs::find(std::string_view key) const {
  for (const Item& item : items_) {
    if (item.first == key) return &item.second;
  }
  return nullptr;
}

void Attrs::fail(std::string_view key) {
  // What whoever made the equation is to know: type rules read attributes before anything else does.
  throw Error(ErrorKind::kType, concat("attribute '", key, "' is missing or has another type"))
      .hint("give the equation every attribute of its primitive's record, each of the type that stands there");
}

}  // namespace ct
