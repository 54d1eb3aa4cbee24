// What a capture holds while it runs, and what is left of it when it has ended. For the files that implement `Capture`
// (trace.h) alone: trace.cc has the stack of captures, inputs and bound equations, capture_lengths.cc ragged axes,
// capture_values.cc the concrete values of variables and what they depend on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "interpreter/dependence.h"
#include "interpreter/trace.h"
#include "ir/length_text.h"
#include "ir/lengths.h"
#include "ir/masking.h"
#include "runtime/error.h"

namespace ct {

// What is left of a variable when its capture has ended: enough for an error about its use.
struct Remains {
  Aval aval;
  const Primitive* primitive = nullptr;  // null: an input
  LocationId location = kNoLocation;
};

// An equation of a capture that has ended, none of whose operands depends on what the function was captured for.
struct OutsideEquation {
  const Primitive* primitive;
  AttrsPtr attrs;
  absl::InlinedVector<Var, 2> operands;
  Var first_output;
  uint32_t output_count;
  LocationId location;
};

// Whether an equation may be made again elsewhere, where its operands are the same.
bool repeatable(const Primitive& primitive, const Attrs& attrs);

// The mask rules' own program, shared by a mask capture and the captures nested in it. Only its lengths are wanted.
struct MaskShadow {
  MaskShadow() { scratch.share_equations(); }

  Builder scratch;
  LengthLabels labels{&scratch, {}};
};

struct Capture::State {
  State(CaptureOptions given, uint64_t number_given)
      : options(std::move(given)), number(number_given), builder(std::make_unique<Builder>()) {}

  CaptureOptions options;
  const uint64_t number;             // see innermost_capture_number
  std::unique_ptr<Builder> builder;  // null when the capture has ended
  std::vector<Remains> remains;      // then
  // And then, of vmap and of derivatives: what does not depend on the function's arguments, and is made again where the
  // function left it to later code. Under jit it belongs to that program.
  std::vector<OutsideEquation> outside_equations;
  absl::flat_hash_map<Var, Datum> outside_values;
  Capture* enclosing = nullptr;
  Var declared = 0;  // variables before this one are the function's arguments

  // Closure conversion: what the inputs beyond the declared ones stand for, and where they went.
  std::vector<Datum> captured;
  absl::flat_hash_map<std::pair<const Buffer*, uint64_t>, Var> lifted_tensors;  // by buffer and aval hash
  absl::flat_hash_map<std::pair<const Capture*, Var>, Var> lifted_values;
  // Inputs that stand for values of captures that need not be live; the values keep those captures' addresses taken.
  absl::flat_hash_map<std::pair<const Capture*, Var>, Var> stand_ins;
  std::vector<Traced> stood_for;

  // Concrete shadow: values of variables, as far as somebody asked; what each input stands for.
  std::vector<Tensor> values;
  absl::flat_hash_map<Var, Datum> shadows;

  // What values depend on, as far as somebody asked. Inputs: what they stand for, and what is differentiated here.
  size_t depth = 0;
  std::vector<std::optional<Levels>> dependence;
  absl::flat_hash_map<Var, Levels> input_dependence;
  Levels applied_by = 0;  // of a derivative's rule: the derivative

  // Raggedness of each variable, up to equation `masked_equations`; `length_vars` finds the int32 scalar here that is
  // a given value of the scratch builder.
  std::shared_ptr<MaskShadow> mask;
  std::optional<KeepLengths> lengths_kept;  // while there is a mask
  std::vector<Masked> masked;
  size_t masked_equations = 0;
  absl::flat_hash_map<Var, Var> length_vars;

  // ---- capture_state.cc: as it ends
  Remains describe(Var var) const;
  void note_remains();
  void note_outside();
  bool keeps_outside() const;
  void end();  // everything but what was noted goes: shadows may hold large arrays and enclosing captures
  const OutsideEquation* outside_producer(Var var) const;
  // Of a capture that has ended.
  bool is_outside(Var var) const { return outside_values.contains(var) || outside_producer(var) != nullptr; }

  // ---- capture_lengths.cc
  // A value where the mask rules run; null where it is of another mask.
  Value masked_value(const Traced& traced) const;
  void run_mask_rules();
  void note_lengths(const Equation& equation);
  void set_masked(Var var, Masked value);

  // ---- capture_values.cc
  Tensor value_of(Var var, std::string_view use);
  Levels dependence_of(Var var);
  Datum outside_value(Var var);
  Levels outside_dependence(Var var) const;
};

// ---- words of messages

std::string_view mode_name(CaptureMode mode);
std::string concretization_hint(CaptureMode mode, std::string_view use);
std::string quoted_function(const CaptureOptions& options);
std::string described(const Remains& remains);
inline constexpr std::string_view kLeakHint =
    "return the value from the function instead of keeping it in a global, an attribute, a closure or a list";

}  // namespace ct
