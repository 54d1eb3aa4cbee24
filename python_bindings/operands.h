// Operands as users give them (arrays, Python numbers, anything NumPy understands), brought to one dtype and shape.
//
// An Array's contents are used where they are: only what has to be converted or broadcast is made anew.
#pragma once

#include "python_bindings/array.h"

namespace ct::python {

enum class Promotion : uint8_t {
  kJoin,     // the join of the operands' types
  kInexact,  // the same, but the default float where that is no floating or complex type
};

// One operand. It stays where it is: `datum` may point into it.
struct Operand {
  Operand() = default;
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  const Datum* datum = nullptr;  // null: a Python number not yet materialised
  PyObject* scalar = nullptr;
  PromotedType type{};
  Shape shape;
  Datum owned;  // what `datum` points to when it is no Array's
};

// False: not something arithmetic understands, so Python may try the other operand.
bool read_operand(PyObject* object, Operand& operand);
// Whether operators leave it to the object what they do with an array, as NumPy's do: it has units, labels or gaps
// that are lost where its elements are taken. On the left of an operator it has been asked before.
bool answers_operators(PyObject* object);
// Anything an array can be made of; throws for the rest.
void read_any_operand(PyObject* object, Operand& operand);

// Of an operator that the user has written, inside of a mask: throws where an exact array has another size than a
// ragged axis that it meets, whatever the bound.
void check_sizes_beside_ragged(absl::Span<const Operand> operands);

// The operands of one type and shape: pointers to those that are so already, else into `made`, which has a place for
// each.
void promote_operands(absl::Span<Operand> operands, Promotion promotion, absl::Span<Datum> made,
                      absl::Span<const Datum*> promoted);

// The result of a primitive that has one.
Datum bind1_with_location(const Primitive& primitive, absl::Span<const Datum* const> operands,
                          const AttrsPtr& attrs = Attrs::empty());

// A primitive of two operands, promoted: what an operator does. Null: an error; NotImplemented: not our operands.
PyObject* bind_operator(const Primitive& primitive, PyObject* left, PyObject* right, Promotion promotion);

}  // namespace ct::python
