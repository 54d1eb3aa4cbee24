// The static parameters of an equation: a small sorted list of (key, value), immutable, shared and hashed.
//
// Keys are string literals that live as long as the program. Values are the variant `AttrValue`; sub-graphs of
// control flow and custom rules are attribute values like any other, so printing, hashing, comparing and saving
// an equation needs no code of its own for any primitive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "runtime/dtype.h"

namespace ct {

class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

// A value of the front end that the IR only carries: a Python callback, say. Compared and hashed by identity.
class Opaque {
 public:
  virtual ~Opaque() = default;
  virtual std::string to_string() const = 0;
};
using OpaquePtr = std::shared_ptr<const Opaque>;

using Ints = std::vector<int64_t>;
inline Ints ints(absl::Span<const int64_t> values) { return {values.begin(), values.end()}; }
using AttrValue = std::variant<bool, int64_t, double, std::string, DType, Ints, std::vector<double>, GraphPtr,
                               std::vector<GraphPtr>, OpaquePtr>;

class Attrs {
 public:
  using Item = std::pair<std::string, AttrValue>;

  static std::shared_ptr<const Attrs> empty();
  static std::shared_ptr<const Attrs> make(std::vector<Item> items);

  const std::vector<Item>& items() const { return items_; }
  uint64_t hash() const { return hash_; }
  bool has_side_effects() const { return has_side_effects_; }  // an equation of a sub-graph has
  bool operator==(const Attrs& other) const;

  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Throw when the key is missing or has another type. Type rules ask first, so that both are certain to all others.
  bool flag(std::string_view key) const { return get<bool>(key); }
  int64_t integer(std::string_view key) const { return get<int64_t>(key); }
  double real(std::string_view key) const { return get<double>(key); }
  const std::string& text(std::string_view key) const { return get<std::string>(key); }
  DType dtype(std::string_view key) const { return get<DType>(key); }
  const Ints& ints(std::string_view key) const { return get<Ints>(key); }
  const std::vector<double>& reals(std::string_view key) const { return get<std::vector<double>>(key); }
  const GraphPtr& graph(std::string_view key) const { return get<GraphPtr>(key); }
  const std::vector<GraphPtr>& graphs(std::string_view key) const { return get<std::vector<GraphPtr>>(key); }
  const OpaquePtr& opaque(std::string_view key) const { return get<OpaquePtr>(key); }

  // The same attributes with `key` replaced or added.
  std::shared_ptr<const Attrs> with(std::string_view key, AttrValue value) const;

 private:
  const AttrValue* find(std::string_view key) const;
  template <class T>
  const T& get(std::string_view key) const {
    const AttrValue* value = find(key);
    if (value == nullptr || !std::holds_alternative<T>(*value)) fail(key);
    return std::get<T>(*value);
  }
  [[noreturn]] static void fail(std::string_view key);

  std::vector<Item> items_;  // sorted by key
  uint64_t hash_ = 0;
  bool has_side_effects_ = false;
};

using AttrsPtr = std::shared_ptr<const Attrs>;

}  // namespace ct
