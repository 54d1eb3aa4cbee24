// Common subexpressions: equations with the same primitive, operands and attributes become one. Found by hash; the
// table chains equations of one hash, so a collision costs a comparison and nothing else.
#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "ir/hash.h"
#include "transforms/common.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

class Table {
 public:
  explicit Table(Builder& builder) : builder_(&builder) {}

  Values bind(const Primitive& primitive, absl::Span<const Value> operands, const AttrsPtr& attrs) {
    if (has_side_effects(primitive, *attrs)) return builder_->bind(primitive, operands, attrs);
    key_.assign(operands.begin(), operands.end());
    if (is_commutative(primitive)) {
      std::sort(key_.begin(), key_.end(), [](const Value& a, const Value& b) { return a.var < b.var; });
    }
    uint64_t hash = hash_combine(reinterpret_cast<uintptr_t>(&primitive), attrs->hash());
    for (const Value& operand : key_) hash = hash_combine(hash, operand.var);
    auto [slot, inserted] = latest_.try_emplace(hash, kNone);
    for (uint32_t i = slot->second; i != kNone; i = entries_[i].next) {
      const Equation& candidate = builder_->equations()[entries_[i].equation];
      if (same(candidate, primitive, *attrs)) return outputs(candidate);
    }
    entries_.push_back({static_cast<uint32_t>(builder_->equations().size()), slot->second});
    slot->second = static_cast<uint32_t>(entries_.size() - 1);
    return builder_->bind(primitive, key_, attrs);
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Entry {
    uint32_t equation;
    uint32_t next;  // the entry before it with the same hash
  };

  // max and min are not: they may tell 0 from -0.
  static bool is_commutative(const Primitive& primitive) {
    if (!primitive.scalar) return false;
    switch (primitive.scalar_op) {
      case ScalarOp::kAdd:
      case ScalarOp::kMul:
      case ScalarOp::kAnd:
      case ScalarOp::kOr:
      case ScalarOp::kXor:
      case ScalarOp::kEq:
      case ScalarOp::kNe:
        return true;
      default:
        return false;
    }
  }

  bool same(const Equation& candidate, const Primitive& primitive, const Attrs& attrs) const {
    const absl::Span<const Var> vars = builder_->operands(candidate);
    return candidate.primitive == &primitive && vars.size() == key_.size() &&
           std::equal(vars.begin(), vars.end(), key_.begin(), [](Var var, const Value& v) { return var == v.var; }) &&
           builder_->attrs(candidate) == attrs;
  }

  Values outputs(const Equation& equation) const {
    Values values;
    for (uint32_t k = 0; k < equation.output_count; ++k) values.push_back({builder_, equation.first_output + k});
    return values;
  }

  Builder* builder_;
  Values key_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<uint64_t, uint32_t> latest_;
};

}  // namespace

GraphPtr eliminate_common_subexpressions(const Graph& graph) {
  std::optional<Table> table;
  return rewrite(
      graph, [&](Builder& builder, const Equation& equation, absl::Span<const Value> operands, const AttrsPtr& attrs) {
        if (!table) table.emplace(builder);
        return table->bind(*equation.primitive, operands, map_graphs(attrs, eliminate_common_subexpressions));
      });
}

}  // namespace ct
