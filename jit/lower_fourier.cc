// Fourier transforms of lengths that factor well are loops (loop_fourier.h); the library's are the others.
#include "jit/loop_fourier.h"
#include "jit/lower_frame.h"

namespace ct::jit {

// Whether it did.
bool Frame::emit_fourier(const Equation& equation) {
  const Attrs& attrs = graph_.attrs(equation);
  const std::string& kind = attrs.text("kind");
  const Ints& lengths = attrs.ints("lengths");
  const Var operand = graph_.operands(equation)[0], var = equation.first_output;
  const Aval& aval = graph_.aval(var);
  if (options_.kernels || aval.size() <= 1 || (kind != "fft" && kind != "ifft")) return false;

  // From the last axis to the first.
  std::vector<loop::FourierShape> axes;
  int64_t inner = 1, outer = aval.size();
  double scale = 1;
  for (size_t i = lengths.size(); i-- > 0;) {
    outer /= lengths[i];
    if (lengths[i] > 1) axes.push_back({outer, lengths[i], inner});
    inner *= lengths[i];
    if (kind == "ifft") scale /= static_cast<double>(lengths[i]);
  }
  if (axes.empty()) axes.push_back({aval.size(), 1, 1});
  for (const loop::FourierShape& axis : axes) {
    if (!loop::has_fourier(axis, aval.dtype())) return false;
  }
  ensure_place(var);
  Place from = stored_place(operand);
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool last = i + 1 == axes.size();
    const Place to = last ? *places_[var] : Place{b_.temporary(aval.dtype(), aval.size(), 0), 0};
    loop::emit_fourier(b_, axes[i], {from.buffer, from.offset}, {to.buffer, to.offset},
                       {.inverse = kind == "ifft", .scale = last ? scale : 1});
    from = to;
  }
  return true;
}

}  // namespace ct::jit
