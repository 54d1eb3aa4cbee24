// What to do about a primitive that lacks a rule: go through its expansion, or say so.
#pragma once

#include <string_view>

#include "ir/primitive.h"
#include "runtime/error.h"

namespace ct {

// The primitive's `expand` rule as a graph. Rules that are missing follow from it.
GraphPtr expansion(const Primitive& primitive, const Avals& operands, const AttrsPtr& attrs);

Error missing_rule(const Primitive& primitive, std::string_view slot, ErrorKind kind);

}  // namespace ct
