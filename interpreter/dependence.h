// Which results of an equation a derivative goes through: asked before a value leaves a program that is differentiated.
#pragma once

#include <vector>

#include "ir/primitive.h"

namespace ct {

// For each result, whether its tangent can differ from zero when those of the marked operands do. It is the jvp rule
// that knows; where it cannot be asked, every result of a floating or complex dtype counts.
std::vector<bool> moved_results(const Primitive& primitive, absl::Span<const Aval> operands,
                                absl::Span<const Aval> results, const std::vector<bool>& moving, const AttrsPtr& attrs);

}  // namespace ct
