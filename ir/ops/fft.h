// The expand rule of the primitive fft (fft_expand.cc).
#pragma once

#include "ir/builder.h"

namespace ct {

Values fft_expand(Builder& builder, absl::Span<const Value> operands, const AttrsPtr& attrs);

}  // namespace ct
