#include "ir/length_form.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ir/length_counts.h"
#include "ir/length_order.h"
#include "ir/length_range.h"
#include "ir/lengths.h"
#include "ir/ops.h"
#include "ir/primitive.h"

namespace ct {
namespace {

// Beyond these an expression is an atom of its own: lengths that programs have are far smaller.
constexpr size_t kMostTerms = 16;
constexpr int64_t kLargest = int64_t{1} << 40;
// What ranges are held to, so that sums of products do not overflow: far beyond every size.
constexpr int64_t kMostFactor = int64_t{1} << 34;
constexpr int64_t kMostHeldCoefficient = int64_t{1} << 24;
int64_t held_product(int64_t x, int64_t y) {  // of two that are held, and not negative
  return x > 0 && y > kMostFactor / x ? kMostFactor : x * y;
}

Form form_of(Polynomial polynomial) { return {{std::move(polynomial)}}; }

bool at_most(const Atoms& atoms, const Polynomial& x, const Polynomial& y) {
  return never_negative(atoms, sum_of(y, scaled(x, -1)));
}

bool at_most(const Atoms& atoms, const Smallest& x, const Smallest& y) {
  return std::all_of(y.begin(), y.end(), [&](const Polynomial& bound) {
    return std::any_of(x.begin(), x.end(), [&](const Polynomial& one) { return at_most(atoms, one, bound); });
  });
}

// Without the members that others make superfluous. `better(a, b)`: b is not needed beside a.
template <class T, class Better>
std::vector<T> needed(std::vector<T> all, Better better) {
  std::vector<T> kept;
  for (T& item : all) {
    if (std::any_of(kept.begin(), kept.end(), [&](const T& other) { return better(other, item); })) continue;
    kept.erase(std::remove_if(kept.begin(), kept.end(), [&](const T& other) { return better(item, other); }),
               kept.end());
    kept.push_back(std::move(item));
  }
  return kept;
}

std::optional<Form> simplified(const Atoms& atoms, Form form) {
  for (Smallest& smallest : form) {
    smallest =
        needed(std::move(smallest), [&](const Polynomial& a, const Polynomial& b) { return at_most(atoms, a, b); });
  }
  form = needed(std::move(form), [&](const Smallest& a, const Smallest& b) { return at_most(atoms, b, a); });
  size_t terms = 0;
  for (const Smallest& smallest : form) {
    for (const Polynomial& polynomial : smallest) {
      terms += std::max<size_t>(polynomial.size(), 1);
      for (const auto& [monomial, coefficient] : polynomial) {
        if (coefficient > kLargest || coefficient < -kLargest) return std::nullopt;
      }
    }
  }
  if (terms > kMostTerms) return std::nullopt;
  return form;
}

template <class Combine>
Form pairwise(const Form& x, const Form& y, Combine combine) {
  Form result;
  for (const Smallest& left : x) {
    for (const Smallest& right : y) result.push_back(combine(left, right));
  }
  return result;
}

Form added(const Form& x, const Form& y) {
  return pairwise(x, y, [](const Smallest& left, const Smallest& right) {
    Smallest sums;
    for (const Polynomial& a : left) {
      for (const Polynomial& b : right) sums.push_back(sum_of(a, b));
    }
    return sums;
  });
}

Form larger(const Form& x, const Form& y) {
  Form both = x;
  both.insert(both.end(), y.begin(), y.end());
  return both;
}

Form smaller(const Form& x, const Form& y) {
  return pairwise(x, y, [](const Smallest& left, const Smallest& right) {
    Smallest both = left;
    both.insert(both.end(), right.begin(), right.end());
    return both;
  });
}

// -max(min(a, b), c) = min(max(-a, -b), -c), and that as a largest of smallest.
Form negated(const Form& x) {
  Form result;
  for (const Smallest& smallest : x) {
    Form negative;
    for (const Polynomial& polynomial : smallest) negative.push_back({scaled(polynomial, -1)});
    result = result.empty() ? negative : smaller(result, negative);
  }
  return result;
}

template <class Function>
Form each(Form form, Function function) {
  for (Smallest& smallest : form) {
    for (Polynomial& polynomial : smallest) polynomial = function(polynomial);
  }
  return form;
}

bool is_one(const Form& form) { return form.size() == 1 && form[0].size() == 1; }

std::optional<int64_t> number_of(const Form& form) {
  if (!is_one(form)) return std::nullopt;
  const Polynomial& polynomial = form[0][0];
  if (polynomial.empty()) return 0;
  if (polynomial.size() == 1 && polynomial.begin()->first.empty()) return polynomial.begin()->second;
  return std::nullopt;
}

int64_t floor_of(int64_t x, int64_t divisor) { return x / divisor - (x % divisor < 0 ? 1 : 0); }

// A length that clamp_length holds to a size may be less than what was asked for. Two are the same when the same was
// asked for; a number, or a length to compute with, is only what is left.
enum class Clamped { kAsAskedFor, kAsHeld };

// The expressions of one builder's values.
class Reader {
 public:
  Reader(Builder& builder, Clamped clamped) : builder_(&builder), clamped_(clamped) {}

  const Form& read(Var var) {
    if (const auto found = forms_.find(var); found != forms_.end()) return found->second;
    std::optional<Form> form;
    if (const Equation* equation = builder_->producer(var)) form = read_equation(*equation);
    if (form) form = simplified(atoms_, *std::move(form));
    if (!form) form = as_atom(var);
    // The map may have grown by the operands; nodes of std::map stay where they are.
    return forms_.emplace(var, *std::move(form)).first->second;
  }

  Range range(const Form& form, const RangeOf& of_atom) const {
    std::optional<Range> largest;
    for (const Smallest& smallest : form) {
      std::optional<Range> least;
      for (const Polynomial& polynomial : smallest) {
        const Range one = range(polynomial, of_atom);
        least = least ? Range{std::min(least->least, one.least), std::min(least->most, one.most)} : one;
      }
      largest = largest ? Range{std::max(largest->least, least->least), std::max(largest->most, least->most)} : *least;
    }
    return *largest;
  }

  bool is_at_most(const Form& x, const Form& y) {
    if (at_most_turned(x, y)) return true;
    const MostOf most_of = [this](Var var) -> std::optional<int64_t> {
      const std::optional<Range> range = range_of_integer({builder_, var});
      return range && range->least >= 0 ? std::optional(range->most) : std::nullopt;
    };
    return at_most_in_all_cases(atoms_, most_of, x, y);
  }

  Value write(const Form& form) {
    Value result;
    for (const Smallest& smallest : form) {
      Value least;
      for (const Polynomial& polynomial : smallest) {
        const Value next = write(polynomial);
        least = least ? smaller_length(least, next) : next;
      }
      result = result ? larger_length(result, least) : least;
    }
    return result;
  }

 private:
  // As `at_most`; and n - n / 2 is (n + 1) / 2: quotients may be turned, those that are subtracted or those that are
  // added.
  bool at_most_turned(const Form& x, const Form& y) {
    const auto is_at_most = [&](const Polynomial& a, const Polynomial& b) {
      const Polynomial gap = sum_of(b, scaled(a, -1));
      return never_negative(atoms_, gap) || never_negative(atoms_, canonical(gap)) ||
             never_negative(atoms_, scaled(canonical(scaled(gap, -1)), -1));
    };
    const auto smallest_is = [&](const Smallest& a, const Smallest& b) {
      return std::ranges::all_of(b, [&](const Polynomial& bound) {
        return std::ranges::any_of(a, [&](const Polynomial& one) { return is_at_most(one, bound); });
      });
    };
    return std::ranges::all_of(x, [&](const Smallest& one) {
      return std::ranges::any_of(y, [&](const Smallest& bound) { return smallest_is(one, bound); });
    });
  }

  // The bounds of each term by themselves, and those of the polynomial with quotients taken for what they round.
  Range range(const Polynomial& polynomial, const RangeOf& of_atom) const {
    const Range terms = range_of_terms(polynomial, of_atom);
    if (std::none_of(polynomial.begin(), polynomial.end(), [&](const auto& term) { return is_quotient(term.first); })) {
      return terms;
    }
    std::map<Monomial, double> upper, lower;
    for (const auto& [monomial, coefficient] : polynomial) {
      upper[monomial] = static_cast<double>(coefficient);
      lower[monomial] = static_cast<double>(-coefficient);
    }
    constexpr double kRounding = 1e-6;
    const double most = std::floor(most_of(std::move(upper), of_atom) + kRounding);
    const double least = std::ceil(-most_of(std::move(lower), of_atom) - kRounding);
    return {std::max(terms.least, static_cast<int64_t>(std::max(least, -0x1p60))),
            std::min(terms.most, static_cast<int64_t>(std::min(most, 0x1p60)))};
  }

  bool is_quotient(const Monomial& monomial) const { return as_quotient(atoms_, monomial) != nullptr; }

  // x / d rounded down is from (x - d + 1) / d to x / d: n - n / 2 is at most (n + 1) / 2.
  double most_of(std::map<Monomial, double> terms, const RangeOf& of_atom) const {
    // Dividends are of atoms that were there before.
    for (size_t atom = atoms_.size(); atom-- > 0;) {
      const auto found = terms.find({atom});
      if (found == terms.end() || atoms_[atom].var != kNoVar) continue;
      const double coefficient = found->second / static_cast<double>(atoms_[atom].divisor);
      terms.erase(found);
      for (const auto& [monomial, inside] : atoms_[atom].dividend) {
        terms[monomial] += coefficient * static_cast<double>(inside);
      }
      if (coefficient < 0) terms[{}] -= coefficient * static_cast<double>(atoms_[atom].divisor - 1);
    }
    double sum = 0;
    for (const auto& [monomial, coefficient] : terms) {
      const Range product = range_of_product(monomial, of_atom);
      sum += coefficient * static_cast<double>(coefficient < 0 ? product.least : product.most);
    }
    return sum;
  }

  Range range_of_product(const Monomial& monomial, const RangeOf& of_atom) const {
    Range product{1, 1};
    for (Atom atom : monomial) {
      const Range factor = range(atoms_[atom], of_atom);
      product = {held_product(product.least, factor.least), held_product(product.most, factor.most)};
    }
    return product;
  }

  Range range_of_terms(const Polynomial& polynomial, const RangeOf& of_atom) const {
    Range sum{0, 0};
    for (const auto& [monomial, coefficient] : polynomial) {
      Range product = range_of_product(monomial, of_atom);
      const int64_t held = std::clamp<int64_t>(coefficient, -kMostHeldCoefficient, kMostHeldCoefficient);
      if (held < 0) std::swap(product.least, product.most);
      sum.least += held * product.least;
      sum.most += held * product.most;
    }
    return sum;
  }

  Range range(const AtomOf& atom, const RangeOf& of_atom) const {
    if (atom.var != kNoVar) {
      const std::optional<Range> known = of_atom(atom.var);
      if (!known) return {0, kMostFactor};
      if (atom.part == Part::kNegative) {
        return {std::clamp<int64_t>(-known->most, 0, kMostFactor), std::clamp<int64_t>(-known->least, 0, kMostFactor)};
      }
      return {std::clamp<int64_t>(known->least, 0, kMostFactor), std::clamp<int64_t>(known->most, 0, kMostFactor)};
    }
    const Range dividend = range(atom.dividend, of_atom);
    return {std::max<int64_t>(dividend.least, 0) / atom.divisor, std::max<int64_t>(dividend.most, 0) / atom.divisor};
  }

  // What is counted is at most what it is counted among.
  Form as_atom(Var var) {
    Form form = form_of(in_atoms(var));
    const Value most = counted_length({builder_, var});
    return most ? simplified(atoms_, smaller(form, read(most.var))).value_or(form) : form;
  }

  Polynomial in_atoms(Var var) {
    if (ct::never_negative({builder_, var})) return {{{atom_of(var, Part::kWhole)}, 1}};
    const Atom positive = atom_of(var, Part::kPositive);
    return {{{positive}, 1}, {{atom_of(var, Part::kNegative)}, -1}};
  }
  Atom atom_of(Var var, Part part) {
    atoms_.push_back({var, {}, 1, part});
    return atoms_.size() - 1;
  }

  std::optional<Form> read_equation(const Equation& equation) {
    const Primitive& primitive = *equation.primitive;
    const absl::Span<const Var> operands = builder_->operands(equation);
    if (!computes_length(*builder_, equation)) return std::nullopt;
    if (primitive.arrangement == Arrangement::kUniform) {
      return form_of(number(builder_->attrs(equation).integer("value")));
    }
    if (primitive.length_role == LengthRole::kSame) return read(operands[0]);
    if (primitive.length_role == LengthRole::kClamp) return clamped(read(operands[0]), read(operands[1]));
    if (primitive.computes(ScalarOp::kNeg)) return negated(read(operands[0]));
    const Form& x = read(operands[0]);
    const Form& y = read(operands[1]);
    switch (primitive.scalar_op) {
      case ScalarOp::kAdd:
        return added(x, y);
      case ScalarOp::kSub:
        return added(x, negated(y));
      case ScalarOp::kMax:
        return larger(x, y);
      case ScalarOp::kMin:
        return smaller(x, y);
      case ScalarOp::kMul:
        return multiplied(x, y);
      case ScalarOp::kDiv:
        return divided(x, number_of(y).value_or(0));
      default:
        return std::nullopt;
    }
  }

  std::optional<Form> clamped(const Form& length, const Form& size) const {
    const auto known = number_of(length), bound = number_of(size);
    if (known && bound) return form_of(number(std::min(std::max<int64_t>(*known, 0), *bound)));
    if (clamped_ == Clamped::kAsHeld) return std::nullopt;
    return larger(length, form_of({}));
  }

  std::optional<Form> multiplied(const Form& x, const Form& y) const {
    if (!is_one(y)) return is_one(x) ? multiplied(y, x) : std::nullopt;
    const Polynomial& factor = y[0][0];
    const auto times = [&](const Polynomial& polynomial) { return product_of(polynomial, factor); };
    if (is_one(x) || never_negative(atoms_, factor)) return each(x, times);
    if (const auto constant = number_of(y)) {
      return each(negated(x), [&](const Polynomial& p) { return scaled(p, -*constant); });
    }
    return std::nullopt;
  }

  // Rounded towards zero: up where the dividend is negative. max(floor(x / d), min(0, ceil(x / d))) says that of both.
  std::optional<Form> divided(const Form& x, int64_t divisor) {
    if (divisor <= 0) return std::nullopt;
    const Form down = each(x, [&](const Polynomial& p) { return floor_quotient(p, divisor); });
    const bool positive = std::all_of(x.begin(), x.end(), [this](const Smallest& smallest) {
      return std::all_of(smallest.begin(), smallest.end(),
                         [&](const Polynomial& p) { return never_negative(atoms_, p); });
    });
    if (positive) return down;
    const Form up =
        each(x, [&](const Polynomial& p) { return floor_quotient(sum_of(p, number(divisor - 1)), divisor); });
    return larger(down, smaller(form_of({}), up));
  }

  // Multiples of the divisor come out of the quotient. What stays has coefficients from 0 to divisor - 1.
  Polynomial floor_quotient(const Polynomial& x, int64_t divisor) {
    Polynomial whole, rest;
    int64_t common = divisor;  // factor of the divisor and all coefficients but the constant, which is rounded to it
    for (const auto& [monomial, coefficient] : x) {
      const int64_t quotient = floor_of(coefficient, divisor);
      if (quotient != 0) whole.emplace(monomial, quotient);
      const int64_t left = coefficient - quotient * divisor;
      if (left != 0) rest.emplace(monomial, left);
      if (!monomial.empty()) common = std::gcd(common, left);
    }
    const bool is_constant = rest.empty() || (rest.size() == 1 && rest.begin()->first.empty());
    if (is_constant) return whole;
    Polynomial reduced;
    for (const auto& [monomial, coefficient] : rest) add_term(reduced, monomial, coefficient / common);
    return sum_of(whole, quotient_of(reduced, divisor / common));
  }

  // Of coefficients from 0 to divisor - 1. What is rounded twice is rounded once: (a + p / c) / d is (a c + p) / (c d).
  Polynomial quotient_of(const Polynomial& dividend, int64_t divisor) {
    const auto is_single = [&](const auto& term) { return is_quotient(term.first) && term.second == 1; };
    const auto inner = std::ranges::find_if(dividend, is_single);
    if (inner != dividend.end()) {
      const AtomOf of_inner = atoms_[inner->first[0]];
      if (of_inner.divisor <= kMostHeldCoefficient / divisor) {
        Polynomial outer = dividend;
        outer.erase(inner->first);
        return floor_quotient(sum_of(scaled(outer, of_inner.divisor), of_inner.dividend), of_inner.divisor * divisor);
      }
    }
    return {{{quotient_atom(dividend, divisor)}, 1}};
  }

  // Without quotients that are subtracted: -(p / d), rounded down, is (d - 1 - p) / d, rounded down.
  Polynomial canonical(const Polynomial& x) {
    constexpr int kMostRounds = 8;
    Polynomial result = x;
    for (int round = 0; round < kMostRounds; ++round) {
      const auto subtracted =
          std::ranges::find_if(result, [&](const auto& term) { return term.second < 0 && is_quotient(term.first); });
      if (subtracted == result.end()) break;
      const int64_t count = -subtracted->second;
      const AtomOf atom = atoms_[subtracted->first[0]];
      result.erase(subtracted);
      const Polynomial turned =
          floor_quotient(sum_of(scaled(atom.dividend, -1), number(atom.divisor - 1)), atom.divisor);
      result = sum_of(result, scaled(turned, count));
    }
    return result;
  }

  Atom quotient_atom(const Polynomial& dividend, int64_t divisor) {
    for (Atom atom = 0; atom < atoms_.size(); ++atom) {
      const AtomOf& known = atoms_[atom];
      if (known.var == kNoVar && known.divisor == divisor && known.dividend == dividend) return atom;
    }
    atoms_.push_back({kNoVar, dividend, divisor});
    return atoms_.size() - 1;
  }

  Value write(const Polynomial& polynomial) {
    Value sum;
    int64_t constant = 0;
    for (const auto& [monomial, coefficient] : polynomial) {
      if (monomial.empty()) {
        constant = coefficient;
        continue;
      }
      Value product;
      for (Atom atom : monomial) product = product ? mul(product, write_atom(atom)) : write_atom(atom);
      product = scale_length(product, coefficient);
      sum = sum ? add_lengths(sum, product) : product;
    }
    return sum ? add_lengths(sum, constant) : constant_length(*builder_, constant);
  }

  Value write_atom(Atom atom) {
    const AtomOf& known = atoms_[atom];
    if (known.var != kNoVar) {
      const Value value{builder_, known.var};
      if (known.part == Part::kWhole) return value;
      return at_least_zero(scale_length(value, known.part == Part::kNegative ? -1 : 1));
    }
    const int64_t divisor = known.divisor;
    const Value dividend = write(Polynomial(known.dividend));
    return div(dividend, constant_length(*builder_, divisor));
  }

  Builder* builder_;
  Clamped clamped_;
  std::map<Var, Form> forms_;
  Atoms atoms_;
};

}  // namespace

bool is_length_type(const Aval& aval) {
  return aval.rank() == 0 && (aval.dtype() == DType::kInt32 || aval.dtype() == DType::kInt64);
}

bool computes_lengths(const Primitive& primitive) {
  if (primitive.arrangement == Arrangement::kUniform) return true;
  if (primitive.length_role == LengthRole::kClamp || primitive.length_role == LengthRole::kSame) return true;
  constexpr ScalarOp kOps[] = {ScalarOp::kNeg, ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul,
                               ScalarOp::kDiv, ScalarOp::kMax, ScalarOp::kMin};
  return std::ranges::any_of(kOps, [&](ScalarOp op) { return primitive.computes(op); });
}

bool computes_length(const Builder& builder, const Equation& equation) {
  const auto is_length = [&](Var var) { return is_length_type(builder.aval(var)); };
  return computes_lengths(*equation.primitive) && is_length(equation.first_output) &&
         std::ranges::all_of(builder.operands(equation), is_length);
}

bool same_length(Value x, Value y) {
  if (x == y) return true;
  if (!x || !y || x.builder != y.builder) return false;
  Reader reader(*x.builder, Clamped::kAsAskedFor);
  const Form& left = reader.read(x.var);
  const Form& right = reader.read(y.var);
  return reader.is_at_most(left, right) && reader.is_at_most(right, left);
}

std::optional<int64_t> constant_of_length(Value x) {
  return number_of(Reader(*x.builder, Clamped::kAsHeld).read(x.var));
}

Range range_of_length(Value x, const RangeOf& of_atom) {
  Reader reader(*x.builder, Clamped::kAsHeld);
  const Form form = reader.read(x.var);
  return reader.range(form, of_atom);
}

Value exact_quotient(Value x, int64_t divisor) {
  Reader reader(*x.builder, Clamped::kAsHeld);
  Form form = reader.read(x.var);
  for (Smallest& smallest : form) {
    for (Polynomial& polynomial : smallest) {
      for (auto& [monomial, coefficient] : polynomial) {
        if (coefficient % divisor != 0) return {};
        coefficient /= divisor;
      }
    }
  }
  return reader.write(form);
}

}  // namespace ct
