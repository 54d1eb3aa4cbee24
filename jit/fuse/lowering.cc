#include "jit/fuse/lowering.h"

#include "absl/container/flat_hash_map.h"
#include "runtime/error.h"

namespace ct::jit {
namespace {

// Filled before main, then only read.
absl::flat_hash_map<std::type_index, std::unique_ptr<const Lowering>>& registry() {
  static auto* const instance = new absl::flat_hash_map<std::type_index, std::unique_ptr<const Lowering>>;
  return *instance;
}

}  // namespace

bool Lowering::has_elements(const Graph&, const Equation&) const { return false; }
ElementFacts Lowering::element_facts(const Graph&, const Equation&, int) const { CT_CHECK(false); }
std::optional<View> Lowering::view(const Graph&, const Equation&, const ViewOf&) const { return std::nullopt; }
ElementForm Lowering::form(const ElementLimits&, const Graph&, const Equation&, int) const { return {}; }
Var Lowering::shown(const ElementLimits&, const Graph&, const Equation&, int, const Limits&) const { return kNoVar; }
bool Lowering::has_length(const Graph&, const Equation&) const { return false; }

OperandLimits Lowering::operand_limits(const ElementLimits&, const Graph&, const Equation& equation) const {
  return OperandLimits(equation.operand_count, Limits{});
}
loop::Scalar Lowering::element(Frame&, const Equation&, Var, const Position&) const { CT_CHECK(false); }

OperandReading Lowering::reading(const Graph&, const Equation&, int) const {
  return {.form = OperandReading::Form::kArray, .reason = "a loop or branch reads it"};
}

void Lowering::emit(Frame&, const Equation&) const { CT_CHECK(false); }

void register_lowering(std::type_index kind, std::unique_ptr<const Lowering> lowering) {
  CT_CHECK(registry().emplace(kind, std::move(lowering)).second);
}

const Lowering& lowering_of(const Primitive& primitive) {
  static const Lowering& by_elements = *registry().at(typeid(ElementRule));
  if (primitive.structure != nullptr) {
    const Structure& structure = *primitive.structure;
    const auto found = registry().find(typeid(structure));
    if (found != registry().end()) return *found->second;
  }
  if (primitive.loops) return *registry().at(typeid(LoopRule));
  if (primitive.element) return by_elements;
  throw Error(ErrorKind::kUnsupported, "the compiler has no way to compute this primitive")
      .op(primitive.name)
      .hint("give it an element, loops or expand rule, or use backend=\"interpreter\"");
}

}  // namespace ct::jit
