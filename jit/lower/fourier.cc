// Fourier transforms of lengths that factor well are loops (loop/expand/fourier.h); the library's are the others.
#include "jit/loop/expand/fourier.h"

#include <algorithm>

#include "jit/lower/library_calls.h"

namespace ct::jit {

bool emit_fourier(Frame& frame, const Equation& equation) {
  loop::Builder& b = frame.builder();
  const Attrs& attrs = frame.attrs(equation);
  const std::string& kind = attrs.text("kind");
  const Ints& lengths = attrs.ints("lengths");
  const Var operand = frame.operands(equation)[0], var = equation.first_output;
  const Aval& aval = frame.aval(var);
  if (!frame.options().machine.chunks) return false;
  if (aval.size() == 0) {
    frame.place(var);
    return true;
  }

  const bool to_complex = kind == "rfft", to_real = kind == "irfft", inverse = kind == "ifft" || to_real;
  const Aval& spectrum = frame.aval(to_real ? operand : var);
  // Complex ones, from the last axis to the first.
  std::vector<loop::FourierShape> axes;
  int64_t inner = 1, outer = spectrum.size();
  double scale = 1;
  for (size_t i = lengths.size(); i-- > 0;) {
    const int64_t size = spectrum.shape()[spectrum.shape().size() - lengths.size() + i];
    const bool is_half = (to_complex || to_real) && i + 1 == lengths.size();
    outer /= size;
    if (!is_half && size > 1 && lengths[i] != 0) axes.push_back({outer, size, inner});
    inner *= size;
    if (inverse && lengths[i] != 0) scale /= static_cast<double>(lengths[i]);
  }
  const int64_t rows = spectrum.size() / spectrum.shape().back();
  const bool is_real = to_complex || to_real;
  if (is_real && !loop::has_real_fourier(rows, lengths.back(), spectrum.dtype())) return false;
  if (!is_real && axes.empty()) axes.push_back({spectrum.size(), 1, 1});
  for (const loop::FourierShape& axis : axes) {
    if (!loop::has_fourier(axis, spectrum.dtype())) return false;
  }

  const Place result = frame.place(var);
  Place from = frame.stored_place(operand);
  size_t left = axes.size() + (is_real ? 1 : 0);
  const auto step = [&](const auto& emit) {
    const bool last = --left == 0;
    const Place to = last ? result : Place{b.temporary(spectrum.dtype(), spectrum.size(), 0), 0};
    emit(loop::FourierArray{from.buffer, from.offset}, loop::FourierArray{to.buffer, to.offset},
         loop::FourierOptions{.inverse = inverse, .scale = last ? scale : 1});
    from = to;
  };
  const auto real_step = [&](const auto&... arguments) {
    loop::emit_real_fourier(b, rows, lengths.back(), arguments...);
  };
  if (to_complex) step(real_step);
  for (const loop::FourierShape& axis : axes)
    step([&](const auto&... arguments) { loop::emit_fourier(b, axis, arguments...); });
  if (to_real) step(real_step);
  frame.reload(equation);
  return true;
}

}  // namespace ct::jit
