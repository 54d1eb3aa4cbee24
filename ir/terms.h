// Sums of products: what a value is when the primitives that made it are multilinear, as far back as somebody wants to
// look. A pass that looks for a better order of evaluation (transforms/contract.h) asks each primitive for its rule
// `terms`: from what the operands are to what the result is.
//
//   Sum      terms that are added up; one shape
//   Term     a coefficient and factors. An index runs over each axis of a factor; those that the result does not have
//            are summed over. Each of the result's axes is a list of indices, the last one fastest, so that reshapes
//            that merge axes change nothing but these lists. No index has size 1: an axis of that size has none.
//   Factor   a leaf, seen under some shape, with an index for each axis; or a one-hot array: 1 where the integers of
//            the leaf are equal to the last index, else 0
//   Leaf     an array that is in memory: a variable, or what is quickly made from variables
//
// Gradients of one example are such sums: dot_general(a, d) is the sum over t of a[b,t,m] d[b,t,n], its sum of squares
// that of a[b,t,m] d[b,t,n] a[b,s,m] d[b,s,n].
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ir/attrs.h"
#include "ir/graph.h"
#include "runtime/aval.h"
#include "runtime/dtype.h"

namespace ct::terms {

using Index = uint32_t;
using Indices = std::vector<Index>;
using LeafId = uint32_t;

struct Part {
  LeafId leaf;
  Ints shape;   // that the leaf is seen under; without axes of size 1
  Ints axes{};  // where its axes are: see Leaf
  double coefficient = 1;
  bool operator==(const Part&) const = default;
};

// `count` places of an axis of `of`: first, first + step, …
struct Range {
  int64_t first = 0, step = 1, count = 0, of = 0;
  bool is_whole() const { return count == of && step == 1; }
  bool operator==(const Range&) const = default;
};

struct Leaf {
  enum class Kind : uint8_t {
    kVariable,
    kConcatenation,  // parts[i] with axes permuted so that its axis axes[k] is axis k, -1 for a new one of size 1; one
                     // behind the other along the last axis
    kGate,           // parts[0] where parts[1], booleans whose axis i is its axis axes[i], is true, else 0
    kInverseGate,    // and where it is false
    kAny,            // whether parts[0], booleans, is true anywhere along its axes `axes`, which are gone
    kAll,            // and whether it is everywhere
    kQuotient,       // parts[0] divided by parts[1], whose axis i is its axis axes[i]
    kConverted,      // parts[0] in a wider dtype
    kTaken,          // the places `range` of parts[0] along its axis axes[0]
    kSpread,         // parts[0] with its elements along axes[0] at the places `range`, and zeros elsewhere
    kReciprocal,     // 1 / parts[0]
    kFinite,         // parts[0] with zeros for what is infinite or no number
    kNotFinite,      // 1 where parts[0] is infinite or no number, else 0
    kNotZero,        // 1 where parts[0] is not zero, else 0
    // Of parts[0], integers, of which those in [0, limit) are values (transforms/contract/distinct.h): whether they
    // are; with `axes` those of a batch, the places of the first equal ones in the others, the values at these, how
    // many there are.
    kInside,
    kFirst,
    kDistinct,
    kCounts,
  };
  Kind kind = Kind::kVariable;
  Var var = kNoVar;
  DType dtype = DType::kFloat32;  // of what is converted
  int64_t limit = 0;
  Range range{};
  std::vector<Part> parts{};
  bool operator==(const Leaf&) const = default;
};

struct Factor {
  LeafId leaf;
  bool one_hot = false;
  Ints shape;       // that the leaf is seen under, without axes of size 1; one less than indices when one_hot
  Indices indices;  // the last one of a one-hot factor is what the leaf's integers are compared with
};

// Two sets of factors, by bit: an exact zero of the product of `zeros` wins over what is infinite or no number in
// `over` (ops/no_nan.cc). Factors in `over` are cleared of that (Leaf::kFinite), so the term is as if zeros were
// everywhere where they are not finite; whoever makes it has to ask where they are, and `zeros` are none.
struct ZerosWin {
  uint32_t zeros = 0, over = 0;
};

struct Term {
  // Norms scale what they square, so that neither overflows; the square of such a scale is beyond a double.
  long double coefficient = 1;
  std::vector<Factor> factors{};
  std::vector<Indices> axes{};  // of the result
  // Sets of factors, by bit, each of which is summed over what only it has before anything else is multiplied with it:
  // what is squared after it has been summed up, where what cancels in the sum must be gone. Two of them share nothing,
  // or one holds the other.
  std::vector<uint32_t> whole{};
  std::vector<ZerosWin> zeros_win{};
};

struct Sum {
  std::vector<Term> terms{};
  // It holds terms that are in memory as they are: its square is not multiplied out, because of what would cancel.
  bool mixed = false;
  // No element is below zero, whatever the values of the leaves.
  bool square = false;
};

// What rules make sums with. Indices and leaves mean something in one context only.
class Context {
 public:
  static constexpr size_t kMostTerms = 36, kMostFactors = 8;

  Index fresh(int64_t size) {
    sizes_.push_back(size);
    return static_cast<Index>(sizes_.size() - 1);
  }
  int64_t size(Index index) const { return sizes_[index]; }

  LeafId variable(Var var) { return intern({.var = var}); }
  LeafId intern(Leaf leaf);
  const Leaf& leaf(LeafId id) const { return leaves_[id]; }

  // A leaf as a sum, and a number that all elements are.
  Sum of_leaf(LeafId leaf, absl::Span<const int64_t> shape);
  Sum of_constant(double value, absl::Span<const int64_t> shape);

  // The same with indices of its own.
  Term renamed(const Term& term);
  // The index becomes several, of these sizes, in the factors too. None if a factor cannot be seen so.
  std::optional<Indices> split(Term& term, Index index, absl::Span<const int64_t> sizes);

  // Makes axes of the two one, those of `a`. False where a factor cannot be seen so.
  bool align(Term& a, size_t axis_of_a, Term& b, size_t axis_of_b);
  // Sums the term up so that these are its axes.
  void sum_to(Term& term, std::vector<Indices> axes) const;
  // The product of two sums where the axes of each pair are one. `axes` gives those of the result. None where
  // factors cannot be seen so, or where it is long.
  struct Pair {
    size_t first, second;
  };
  std::optional<Sum> product(const Sum& x, const Sum& y, absl::Span<const Pair> pairs,
                             const std::function<std::vector<Indices>(const Term& x, const Term& y)>& axes);
  // The product of two sums of one shape, element by element, in which an exact zero of x wins over what is infinite or
  // no number in y; and where `both`, one of y over that in x.
  std::optional<Sum> product_no_nan(const Sum& x, const Sum& y, bool both);
  // 1 / y, which has to be a leaf. None where it is not.
  std::optional<Sum> reciprocal(const Sum& y);
  // x divided by y, which has to be a leaf: of each term the smallest factor that has all of y's indices is divided.
  // None where a term has no such factor.
  std::optional<Sum> quotient(const Sum& x, const Sum& y);
  // x where y, booleans, is `passing`, else 0; y has to be a leaf. Every factor is cleared where all places that use it
  // are: zero times what is not a number would be none. None where a term has no factor with all of y's indices.
  std::optional<Sum> gated(const Sum& x, const Sum& y, bool passing);
  // Terms that are alike but for their leaves become one, over a concatenation of these.
  void merge(Sum& sum);

 private:
  LeafId finite(LeafId leaf, const Ints& shape);
  void append(std::vector<Part>& parts, const Part& part);
  // The terms of x, aligned with y one by one, each changed by `change`; none where that is false.
  std::optional<std::vector<Term>> each_with_leaf(const Sum& x, const Sum& y,
                                                  const std::function<bool(Term& term, const Term& by)>& change);

  std::vector<int64_t> sizes_;
  std::vector<Leaf> leaves_;
  std::map<std::string, LeafId> known_;
};

// The factor's place in `axes` of each of the indices, if it has all of them once.
std::optional<Ints> places_of(const Factor& factor, const Indices& indices);

// What a rule is given. `operands` may be longer sums or single leaves; at least one is not a leaf, or the primitive
// makes something larger than its operands.
struct Input {
  Context& context;
  absl::Span<const Sum> operands;
  absl::Span<const Aval> avals;  // of the operands
  absl::Span<const Var> vars;    // the operands themselves
  const Attrs& attrs;
  const Aval& result;

  // The number that all elements of an operand are.
  std::optional<double> constant(size_t operand) const;
};
using Rule = std::function<std::optional<Sum>(const Input& input)>;

// Rules that several primitives have.
Rule scaled_by(double coefficient);
Rule sum_of_operands(double second);  // the second one times a number

}  // namespace ct::terms
