// The primitives of this layer that C++ code binds by themselves: ir/primitives.h has those below.
#pragma once

#include "ir/primitive.h"

namespace ct {

extern const Primitive& kCall;
extern const Primitive& kCheckpoint;
extern const Primitive& kCond;
extern const Primitive& kCustomJvp;
extern const Primitive& kCustomVjpLinear;
extern const Primitive& kElementwise;
extern const Primitive& kHostCallback;
extern const Primitive& kLinearSolve;
extern const Primitive& kMask;
extern const Primitive& kScan;
extern const Primitive& kVmapRegion;
extern const Primitive& kWhile;

}  // namespace ct
