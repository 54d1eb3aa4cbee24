// The primitives that C++ code binds by themselves. Each is defined by its record, in ops/; the functions
// of ops.h bind most of them in a more readable way.
#pragma once

#include "ir/primitive.h"

namespace ct {

extern const Primitive& kAdd;
extern const Primitive& kBitcast;
extern const Primitive& kBroadcast;
extern const Primitive& kClampLength;
extern const Primitive& kComplex;
extern const Primitive& kConcatenate;
extern const Primitive& kConvert;
extern const Primitive& kDimensionSize;
extern const Primitive& kDiv;
extern const Primitive& kDotGeneral;
extern const Primitive& kDynamicSlice;
extern const Primitive& kDynamicUpdateSlice;
extern const Primitive& kFft;
extern const Primitive& kFillPadding;
extern const Primitive& kFull;
extern const Primitive& kGather;
extern const Primitive& kIota;
extern const Primitive& kMax;
extern const Primitive& kMin;
extern const Primitive& kMul;
extern const Primitive& kNeg;
extern const Primitive& kNot;
extern const Primitive& kPad;
extern const Primitive& kReal;
extern const Primitive& kReduceMax;
extern const Primitive& kReduceMin;
extern const Primitive& kReduceSum;
extern const Primitive& kReshape;
extern const Primitive& kReverse;
extern const Primitive& kScatter;
extern const Primitive& kScatterAdd;
extern const Primitive& kScatterMul;
extern const Primitive& kSelect;
extern const Primitive& kSetLength;
extern const Primitive& kSlice;
extern const Primitive& kSort;
extern const Primitive& kStopGradient;
extern const Primitive& kSub;
extern const Primitive& kTag;
extern const Primitive& kThreefry;
extern const Primitive& kTranspose;
extern const Primitive& kWindowSlice;

namespace linalg {

extern const Primitive& kCholesky;
extern const Primitive& kEig;
extern const Primitive& kEigh;
extern const Primitive& kLu;
extern const Primitive& kLuSolve;
extern const Primitive& kQr;
extern const Primitive& kSchur;
extern const Primitive& kSvd;
extern const Primitive& kSylvester;
extern const Primitive& kTriangularSolve;

}  // namespace linalg
}  // namespace ct
