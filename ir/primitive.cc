#include "ir/primitive.h"

#include <algorithm>
#include <memory>

#include "runtime/error.h"
#include "runtime/process.h"
#include "runtime/text.h"

namespace ct {
namespace {

using Registry = std::map<std::string, std::unique_ptr<Primitive>, std::less<>>;

Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}

ProcessMutex& registry_mutex() {
  static auto* instance = new ProcessMutex;
  return *instance;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

bool fits(const AttrValue& value, AttributeKind kind) {
  if (kind != AttributeKind::kNumber) return value.index() == static_cast<size_t>(kind);
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value) ||
         std::holds_alternative<std::vector<double>>(value);
}

std::string_view described(AttributeKind kind) {
  static constexpr std::string_view kTexts[] = {"a flag",  "an integer", "a real number", "a text",
                                                "a dtype", "integers",   "real numbers",  "a graph",
                                                "graphs",  "an object",  "a number"};
  return kTexts[static_cast<size_t>(kind)];
}

}  // namespace

std::optional<AttributeProblem> check_attributes(const Primitive& primitive, const Attrs& attrs) {
  if (primitive.user_defined) return std::nullopt;
  for (const auto& [key, value] : attrs.items()) {
    const auto known = std::ranges::find(primitive.attributes, key, &AttributeRecord::name);
    if (known == primitive.attributes.end()) return {{key, concat(primitive.name, " has no attribute '", key, "'")}};
    // An empty list says nothing of what it holds.
    const auto* integers = std::get_if<Ints>(&value);
    const bool empty = integers != nullptr && integers->empty() &&
                       (known->kind == AttributeKind::kReals || known->kind == AttributeKind::kGraphs);
    if (!empty && !fits(value, known->kind)) {
      return {{key, concat(primitive.name, ": attribute '", key, "' must be ", described(known->kind))}};
    }
  }
  for (const AttributeRecord& record : primitive.attributes) {
    if (!record.optional && !attrs.has(record.name)) {
      return {{record.name, concat(primitive.name, ": attribute '", record.name, "' is missing")}};
    }
  }
  return std::nullopt;
}

const Primitive& define(Primitive primitive) {
  auto record = std::make_unique<Primitive>(std::move(primitive));
  std::lock_guard lock(registry_mutex());
  auto [it, inserted] = registry().try_emplace(record->name, nullptr);
  if (!inserted) {
    throw Error(ErrorKind::kValue, "a primitive named '" + it->first + "' exists already").hint("choose another name");
  }
  it->second = std::move(record);
  return *it->second;
}

const Primitive& define_by_user(Primitive primitive) {
  static auto* replaced = new std::vector<std::unique_ptr<Primitive>>;
  primitive.user_defined = true;
  auto record = std::make_unique<Primitive>(std::move(primitive));
  std::lock_guard lock(registry_mutex());
  std::unique_ptr<Primitive>& slot = registry()[record->name];
  if (slot != nullptr && !slot->user_defined) {
    throw Error(ErrorKind::kValue, "the library has a primitive named '" + slot->name + "'")
        .hint("choose another name");
  }
  if (slot != nullptr) replaced->push_back(std::move(slot));
  slot = std::move(record);
  return *slot;
}

bool has_side_effects(const Primitive& primitive, const Attrs& attrs) {
  return primitive.has_side_effects || attrs.has_side_effects() || (primitive.effects && primitive.effects(attrs));
}

const Primitive* find_primitive(std::string_view name) {
  std::lock_guard lock(registry_mutex());
  auto it = registry().find(name);
  return it == registry().end() ? nullptr : it->second.get();
}

const Primitive& get_primitive(std::string_view name) {
  if (const Primitive* primitive = find_primitive(name)) return *primitive;
  Error error(ErrorKind::kValue, "there is no primitive named '" + std::string(name) + "'");
  std::lock_guard lock(registry_mutex());
  std::string_view nearest;
  for (const auto& [other, _] : registry()) {
    if (nearest.empty() || edit_distance(name, other) < edit_distance(name, nearest)) nearest = other;
  }
  if (!nearest.empty()) error.hint("did you mean '" + std::string(nearest) + "'?");
  throw error;
}

std::vector<const Primitive*> all_primitives() {
  std::vector<const Primitive*> result;
  std::lock_guard lock(registry_mutex());
  for (const auto& [_, record] : registry()) result.push_back(record.get());
  return result;
}

}  // namespace ct
