#include "jit/fuse/fuse.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "ir/error.h"

namespace ct::jit {
namespace {

// Recomputing this many additions per element is cheaper than a buffer.
constexpr double kCheap = 4;
// An exponential, say.
constexpr double kDear = 16;
// As scalars in a scatter's loop, so many additions are hidden behind its memory traffic.
constexpr double kMostScalar = 16;
// Bounds on what one nest computes, for the sake of registers, compile time and recursion in lowering.
constexpr int kDeepest = 256;
constexpr int kLargest = 400;
constexpr int64_t kSmallArray = 1 << 12;  // elements: to store them and read them again costs next to nothing
// Where no array has more elements than this, so that no loop is worth threads, a loop ends with the operation that
// brings those of many statements each (an exponential has 21, a sine 139) to so many statements: loops of few of them
// are alike more often, and then one function.
constexpr int64_t kFewElements = 512;
constexpr int kLongOperation = 20, kEnoughLong = 150;
constexpr size_t kMostHomes = 6;
constexpr size_t kMostMembers = 16;
constexpr int kMostUpdates = 8;
// Of a concatenation: pieces, and neighbouring elements of each.
constexpr size_t kMostSegments = 5;
constexpr int64_t kLongRun = 128;
constexpr int kFarthestJoin = 64;
constexpr int kFarthestFeed = 128;
// Multiply-adds of a product below which calls of it are slow, and those that are worth a copy of an element.
constexpr double kLeastProduct = 1 << 15, kCopiedElement = 4;

// A place where a variable's elements are wanted: the nest that ends in stored variable `root`.
struct Home {
  Var root;
  double moved = 0;   // evaluations per element at other positions than the nest's own
  bool same = false;  // wanted at the nest's own position, however often: computed once
  double evaluations() const { return moved + (same ? 1 : 0); }
};

class Fuser {
 public:
  Fuser(const Graph& graph, const FusionOptions& options) : graph_(graph), options_(options) {}

  Fusion run() {
    const uint32_t vars = graph_.num_vars();
    fusion_.definition.assign(vars, Fusion::kInput);
    fusion_.stored.assign(vars, false);
    fusion_.reasons.assign(vars, nullptr);
    fusion_.views.resize(vars);
    fusion_.transposed.assign(vars, kNoVar);
    is_output_.assign(vars, false);
    required_.assign(vars, false);
    cut_.assign(vars, false);
    uses_.resize(vars);
    facts_.resize(vars);
    homes_.resize(vars);
    step_of_.assign(vars, -1);
    for (Var var : graph_.outputs()) is_output_[var] = true;
    collect();
    require_operands();
    require_outputs();
    transpose_products();
    bound_chains();
    for (size_t i = graph_.equations().size(); i-- > 0;) {
      const Equation& equation = graph_.equations()[i];
      for (uint32_t k = 0; k < equation.output_count; ++k) place(equation, equation.first_output + k);
    }
    for (Var var = 0; var < graph_.num_inputs(); ++var) fusion_.stored[var] = true;
    for (uint32_t i = 0; i < graph_.equations().size(); ++i) schedule(i);
    return std::move(fusion_);
  }

 private:
  struct Use {
    uint32_t equation;
    int operand;
  };

  const Equation& equation_of(Var var) const { return graph_.equations()[fusion_.definition[var]]; }
  int64_t size_of(Var var) const { return graph_.aval(var).size(); }
  bool is_inline(uint32_t equation) const { return inline_[equation]; }

  void collect() {
    inline_.resize(graph_.equations().size());
    for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
      const Equation& equation = graph_.equations()[i];
      inline_[i] = has_elements(graph_, equation);
      absl::Span<const Var> operands = graph_.operands(equation);
      for (size_t k = 0; k < operands.size(); ++k) uses_[operands[k]].push_back({i, static_cast<int>(k)});
      for (uint32_t k = 0; k < equation.output_count; ++k) {
        fusion_.definition[equation.first_output + k] = i;
        if (inline_[i]) facts_[equation.first_output + k] = element_facts(graph_, equation, static_cast<int>(k));
      }
    }
  }

  // The cost of each variable's elements if everything before it that can be were recomputed; chains that become too
  // long are cut.
  void bound_chains() {
    cost_.assign(graph_.num_vars(), 0);
    std::vector<int> depth(graph_.num_vars(), 0);
    // By variable: all that would be recomputed with it, until nothing asks any more; each once, however often it is
    // used.
    std::vector<std::vector<Var>> behind(graph_.num_vars());
    bool all_small = true;
    for (Var var = 0; var < graph_.num_vars(); ++var) all_small = all_small && size_of(var) <= kFewElements;
    // Of large arrays memory counts, of small ones the time to compile.
    auto work = [&](Var var) {
      return 1 + (size_of(var) <= kSmallArray ? facts_[var].statements : facts_[var].cost) / 4;
    };
    for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
      if (!is_inline(i)) continue;
      const Equation& equation = graph_.equations()[i];
      absl::Span<const Var> operands = graph_.operands(equation);
      for (uint32_t k = 0; k < equation.output_count; ++k) {
        const Var var = equation.first_output + k;
        double cost = facts_[var].cost;
        int read = 0;
        std::vector<Var> all = {var};
        for (size_t j = 0; j < operands.size(); ++j) {
          if (facts_[var].operands[j].reads == 0) continue;
          const Var operand = operands[j];
          const bool chained = fusion_.definition[operand] != Fusion::kInput && !required_[operand];
          if (chained) {
            // What is broadcast is not computed again for each element: it has memory, or costs nothing.
            if (size_of(operand) * 2 > size_of(var)) {
              cost += cost_[operand];
            } else {
              cost += std::min(cost_[operand], 1.0);
            }
            depth[var] = std::max(depth[var], depth[operand] + 1);
            std::vector<Var> both;
            std::set_union(all.begin(), all.end(), behind[operand].begin(), behind[operand].end(),
                           std::back_inserter(both));
            all = std::move(both);
          }
          if (!chained || !is_inline(fusion_.definition[operand]) || !facts_[operand].operands.empty()) ++read;
        }
        cost_[var] = std::min(cost + std::max(0, read - 1), 1e6);
        int size = 0, in_long = 0;
        for (Var each : all) {
          size += work(each);
          if (facts_[each].statements >= kLongOperation) in_long += facts_[each].statements;
        }
        const bool holds_enough = all_small && in_long >= kEnoughLong;
        if (depth[var] >= kDeepest || size >= kLargest || holds_enough) {
          require(var, "what it is computed from is as much as one loop may hold");
          cut_[var] = size_of(var) <= kSmallArray;
          cost_[var] = depth[var] = 0;
        } else if (!uses_[var].empty()) {
          behind[var] = std::move(all);
        }
      }
      for (const Var operand : operands) {
        if (uses_[operand].back().equation == i) behind[operand] = {};
      }
    }
  }

  // Products, scatters and control flow read memory. A product can read it through a view.
  void require_operands() {
    std::vector<int> updates(graph_.num_vars(), 0);  // that a variable is made by, one after the other
    for (uint32_t i = 0; i < graph_.equations().size(); ++i) {
      const Equation& equation = graph_.equations()[i];
      if (is_inline(i)) {
        if (equation.primitive->lowering != Lowering::kUpdate) continue;
        const Var var = equation.first_output;
        updates[var] = updates[graph_.operands(equation)[0]] + 1;
        if (updates[var] > kMostUpdates) require(var, "each element would look at many updates");
        continue;
      }
      switch (equation.primitive->lowering) {
        case Lowering::kReduce:
        case Lowering::kCumulative:
        case Lowering::kScatter:
          break;
        case Lowering::kDot:
          for (int operand : {0, 1}) require_view(equation, operand);
          break;
        case Lowering::kHost:
          for (Var operand : graph_.operands(equation)) {
            require(alias_base(graph_, fusion_.definition, operand), "a function outside of the program reads it");
          }
          break;
        default:
          for (Var operand : graph_.operands(equation)) require(operand, "a loop or branch reads it");
      }
    }
  }

  View view_of(Var var) {
    const uint32_t i = fusion_.definition[var];
    if (i != Fusion::kInput && !required_[var] && !is_output_[var]) {
      const Equation& equation = graph_.equations()[i];
      auto view =
          derived_view(graph_, equation, [&](int operand) { return view_of(graph_.operands(equation)[operand]); });
      if (view) return *view;
    }
    return whole_view(graph_, var);
  }

  void require_view(const Equation& product, int operand) {
    const Var var = graph_.operands(product)[operand];
    View view = view_of(var);
    if (size_of(view.base) == 1 || (view.base != var && is_cut_up(product, operand, view))) {
      view = whole_view(graph_, var);
    }
    require(view.base, "a matrix product reads it");
    fusion_.views[var] = std::move(view);
  }

  // Some axes of an array as runs, in each of which neighbours have one distance by all the strides: how often the
  // longest of them goes into the axes, and the distance of its neighbours by the first strides.
  struct Runs {
    int64_t count = 1, distance = 1;
  };
  static Runs runs_of(const Shape& shape, const Ints& axes, std::initializer_list<const Shape*> strides) {
    int64_t all = 1, run = 1, longest = 1, start = 1;
    Runs result;
    std::vector<int64_t> next(strides.size());
    for (size_t i = axes.size(); i-- > 0;) {
      const int64_t size = shape[axes[i]];
      if (size == 1) continue;
      bool continues = run > 1;
      size_t k = 0;
      for (const Shape* each : strides) {
        continues = continues && (*each)[axes[i]] == next[k];
        next[k++] = (*each)[axes[i]] * size;
      }
      if (!continues) start = (**strides.begin())[axes[i]];
      run = continues ? run * size : size;
      if (run > longest) result.distance = start;
      longest = std::max(longest, run);
      all *= size;
    }
    result.count = all / longest;
    return result;
  }

  // Whether a product written the other way round would fall into more products than one written as it is, each with
  // too little work to be worth it: then its result is transposed by a loop. A product of few rows takes as long as
  // reading its other operand does, and must read it in the order in which it lies.
  bool is_cut_up_by_transposing(const Equation& product, const Equation& transposition) const {
    const DotAxes axes = dot_axes(graph_, product);
    const Shape dense = dense_strides(graph_.aval(product.first_output).shape());
    const Shape written = transposed_strides(graph_, product.first_output, transposition);
    int64_t as_it_is = 1, other_way = 1;
    bool across[] = {false, false};
    size_t out_axis = axes.lhs_batch.size();
    for (int operand : {0, 1}) {
      const Var var = graph_.operands(product)[operand];
      const Shape& shape = graph_.aval(var).shape();
      const Ints& free = operand == 0 ? axes.lhs_free : axes.rhs_free;
      const Shape own = required_[var] || !fusion_.views[var] ? dense_strides(shape) : fusion_.views[var]->strides;
      Shape dense_here(shape.size(), 0), written_here(shape.size(), 0);
      for (const int64_t axis : free) {
        dense_here[axis] = dense[out_axis];
        written_here[axis] = written[out_axis++];
      }
      const Runs as_it_is_here = runs_of(shape, free, {&own, &dense_here});
      const Runs other_way_here = runs_of(shape, free, {&own, &written_here});
      as_it_is *= as_it_is_here.count;
      other_way *= other_way_here.count;
      across[operand] = as_it_is_here.distance == 1 && other_way_here.distance != 1;
    }
    if (other_way <= as_it_is) return false;
    // An operand that is read across the order in which it lies costs more than a pass over the result, unless many
    // rows of the other one share what was read.
    constexpr int64_t kRowsPerStep = 4;
    if ((across[0] && axes.n < kRowsPerStep * axes.k) || (across[1] && axes.m < kRowsPerStep * axes.k)) return true;
    constexpr int64_t kFewRows = 8;
    constexpr double kLeastPart = 1 << 11;
    const double work = static_cast<double>(axes.batch * axes.m) * static_cast<double>(axes.n * axes.k);
    return std::min(axes.m, axes.n) < kFewRows || work < kLeastPart * static_cast<double>(axes.batch * other_way);
  }

  // Whether a product that read its operand through the view would fall into small products around which there are
  // loops, and into fewer and larger ones if the operand were stored as it is.
  bool is_cut_up(const Equation& product, int operand, const View& view) {
    const Var var = graph_.operands(product)[operand];
    const Shape& shape = graph_.aval(var).shape();
    const DotAxes axes = dot_axes(graph_, product);
    const Ints& free = operand == 0 ? axes.lhs_free : axes.rhs_free;
    const Ints& contract = operand == 0 ? axes.lhs_contract : axes.rhs_contract;
    const auto runs = [&](const Ints& group, const Shape& strides) { return runs_of(shape, group, {&strides}).count; };
    const Shape dense = dense_strides(shape);
    const int64_t of_view = runs(free, view.strides) * runs(contract, view.strides);
    const int64_t of_copy = runs(free, dense) * runs(contract, dense);
    if (of_view <= of_copy) return false;
    if (is_only_for(var, view.base)) return true;
    const double work = static_cast<double>(axes.batch * axes.m) * static_cast<double>(axes.n * axes.k);
    return work < kLeastProduct * static_cast<double>(axes.batch * of_view) &&
           work > kCopiedElement * static_cast<double>(size_of(var));
  }

  // Whether the view's base is computed for nothing but `var`, so that either can be stored at the same cost.
  bool is_only_for(Var var, Var base) {
    while (var != base) {
      Var next = kNoVar;
      for (Var operand : graph_.operands(equation_of(var))) {
        if (next == kNoVar && view_of(operand).base == base) next = operand;
      }
      if (next == kNoVar || uses_[next].size() != 1) return false;
      var = next;
    }
    return fusion_.definition[base] != Fusion::kInput && is_inline(fusion_.definition[base]) && !required_[base] &&
           !is_output_[base];
  }

  // A reshaped output shares memory with what it reshapes, which is then written to the output at once.
  void require_outputs() {
    for (Var var : graph_.outputs()) require(alias_base(graph_, fusion_.definition, var), "it is a result");
  }

  // A product that is only transposed can be written that way round at once.
  void transpose_products() {
    for (const Equation& equation : graph_.equations()) {
      const Var product = equation.first_output;
      if (equation.primitive->lowering != Lowering::kDot || has_elements(graph_, equation) || is_output_[product] ||
          required_[product] || uses_[product].size() != 1 || size_of(product) <= 1) {
        continue;
      }
      const Equation& use = graph_.equations()[uses_[product][0].equation];
      if (!is_inline(uses_[product][0].equation) || use.primitive->lowering != Lowering::kElement) continue;
      const auto view = derived_view(graph_, use, [&](int) { return whole_view(graph_, product); });
      if (!view || view->base != product || view->offset != 0 || !is_permutation(*view, use.first_output)) continue;
      if (is_cut_up_by_transposing(equation, use)) continue;
      fusion_.transposed[product] = use.first_output;
      require(use.first_output, "a matrix product writes it");
    }
  }

  // Every element of the view's base once.
  bool is_permutation(const View& view, Var var) const {
    const Shape& shape = graph_.aval(var).shape();
    if (num_elements(shape) != size_of(view.base)) return false;
    std::vector<std::pair<int64_t, int64_t>> axes;  // stride, size
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] > 1) axes.emplace_back(view.strides[axis], shape[axis]);
    }
    std::sort(axes.begin(), axes.end());
    int64_t expected = 1;
    for (const auto& [stride, size] : axes) {
      if (stride != expected) return false;
      expected = stride * size;
    }
    return true;
  }

  void add_home(std::vector<Home>& homes, Var root, bool same, double evaluations) {
    auto at = std::find_if(homes.begin(), homes.end(), [&](const Home& home) { return home.root == root; });
    if (at == homes.end()) at = homes.insert(homes.end(), Home{root});
    if (same) {
      at->same = true;
    } else {
      at->moved += evaluations;
    }
  }

  void require(Var var, const char* reason) {
    required_[var] = true;
    if (fusion_.reasons[var] == nullptr) fusion_.reasons[var] = reason;
  }
  void store(Var var, const char* reason) {
    fusion_.stored[var] = true;
    if (fusion_.reasons[var] == nullptr) fusion_.reasons[var] = reason;
  }

  // Decides whether `var` is stored, all its consumers having been decided.
  void place(const Equation& equation, Var var) {
    if (!is_inline(fusion_.definition[var]) || required_[var]) {
      store(var, "it is what a fold, a product, a loop or a call out of the program results in");
      return;
    }
    if (size_of(var) == 1) {
      // A scalar lives in a register unless it is free.
      if (cost_[var] > 0 || equation.output_count > 1) return store(var, "it is one number: a register");
    }
    if (feeds_back(var)) return store(var, "an array is updated with it in place");
    std::vector<Home> homes;
    for (const Use& use : uses_[var]) {
      const Equation& consumer = graph_.equations()[use.equation];
      if (!is_inline(use.equation)) {
        const double size = static_cast<double>(std::max<int64_t>(size_of(var), 1));
        switch (consumer.primitive->lowering) {
          case Lowering::kScatter:
            if (use.operand > 0 && cost_[var] > kMostScalar && !scatters_rows(consumer)) {
              return store(var, "a scatter goes one element after the other, this can be computed as vectors");
            }
            if (use.operand == 1) {
              const double times = static_cast<double>(size_of(graph_.operands(consumer)[2])) / size;
              add_home(homes, consumer.first_output, times <= 1, times);
            } else {
              add_home(homes, consumer.first_output, use.operand == 2, 1);
            }
            break;
          case Lowering::kDot:
          case Lowering::kHost:
            break;  // through a view, or under another shape: the base is stored
          default:
            add_home(homes, consumer.first_output, true, 1);
        }
        continue;
      }
      for (uint32_t k = 0; k < consumer.output_count; ++k) {
        const Var result = consumer.first_output + k;
        const OperandAccess& access = facts_[result].operands[use.operand];
        if (access.reads == 0) continue;
        if (consumer.primitive->lowering == Lowering::kUpdate && fusion_.stored[result]) {
          add_home(homes, result, false, 1);  // by a step of its own
          continue;
        }
        const double evaluations = access.same || is_segment(consumer, result, var)
                                       ? 1
                                       : access.reads * static_cast<double>(size_of(result)) /
                                             static_cast<double>(std::max<int64_t>(size_of(var), 1));
        if (fusion_.stored[result]) {
          add_home(homes, result, access.same, evaluations);
          continue;
        }
        for (const Home& home : homes_[result]) {
          if (access.same && home.same) add_home(homes, home.root, true, 1);
          const double moved = access.same ? home.moved : home.evaluations() * evaluations;
          if (moved > 0) add_home(homes, home.root, false, moved);
        }
      }
    }
    double evaluations = 0;
    for (const Home& home : homes) evaluations += home.evaluations();
    const bool constant = facts_[var].operands.empty() && cost_[var] == 0;
    if (homes.size() > kMostHomes && !constant) return store(var, "many loops want it");
    if ((evaluations - 1) * cost_[var] > kCheap) {
      const Var source = is_updated_in_memory(equation, var) ? kNoVar : moved_from(equation, var, evaluations);
      if (source == kNoVar) return store(var, "computing it again where it is wanted costs more");
      require(source, "several show its elements at other places");
    }
    if (is_updated_in_memory(equation, var)) return store(var, "it is updated in place");
    homes_[var] = std::move(homes);
  }

  // Whether what an index scatters is a row, whose elements are next to each other.
  bool scatters_rows(const Equation& scatter) const {
    const Attrs& attrs = graph_.attrs(scatter);
    const int64_t index_dims = graph_.aval(graph_.operands(scatter)[1]).rank() - attrs.integer("batch_dims");
    return graph_.aval(graph_.operands(scatter)[2]).rank() > attrs.integer("axis") + index_dims;
  }

  // Where `var` is dear only by what it is made of, and shows elements of an array at other positions, as several
  // variables do: that array, to be stored instead of all of them. kNoVar otherwise.
  Var moved_from(const Equation& equation, Var var, double evaluations) const {
    if ((evaluations - 1) * facts_[var].cost > kCheap) return kNoVar;
    Var source = kNoVar;
    absl::Span<const Var> operands = graph_.operands(equation);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (facts_[var].operands[k].reads == 0) continue;
      if (source != kNoVar || facts_[var].operands[k].same) return kNoVar;
      source = operands[k];
    }
    if (source == kNoVar || fusion_.definition[source] == Fusion::kInput || uses_[source].size() < 2 ||
        size_of(source) > size_of(var) * static_cast<int64_t>(uses_[source].size())) {
      return kNoVar;
    }
    return source;
  }

  // Whether `var` is a piece of a concatenation whose nest is cut where its pieces meet (Frame::choose_segments), so
  // that its elements are computed once. Not of dear ones, as no nest is cut that also folds.
  bool is_segment(const Equation& consumer, Var result, Var var) const {
    if (consumer.primitive->arrangement != Arrangement::kConcatenate) return false;
    if (!fusion_.stored[result] || cost_[var] >= kDear) return false;
    if (consumer.operand_count > kMostSegments || size_of(result) < kSmallArray) return false;
    const Shape& shape = graph_.aval(var).shape();
    const auto axis = static_cast<size_t>(graph_.attrs(consumer).integer("axis"));
    return num_elements(absl::MakeConstSpan(shape).subspan(axis)) >= kLongRun;
  }

  // Whether `var` is what an array is updated with, and computed from that array: first, then, so that the update can
  // be made in the array's own memory.
  bool feeds_back(Var var) const {
    return std::any_of(uses_[var].begin(), uses_[var].end(), [&](const Use& use) {
      const Equation& consumer = graph_.equations()[use.equation];
      const Lowering lowering = consumer.primitive->lowering;
      const bool updates = (lowering == Lowering::kScatter && use.operand == 2) ||
                           (lowering == Lowering::kUpdate && use.operand == 1 && fusion_.stored[consumer.first_output]);
      int budget = kFarthestFeed;
      return updates && is_behind(alias_base(graph_, fusion_.definition, graph_.operands(consumer)[0]), var, budget);
    });
  }

  // Whether elements of `var` are computed, within its nest, from `base`. Says yes when it would take long to find out.
  bool is_behind(Var base, Var var, int& budget) const {
    if (var == base || --budget < 0) return true;
    if (fusion_.definition[var] == Fusion::kInput || required_[var] || !is_inline(fusion_.definition[var]))
      return false;
    const Equation& equation = equation_of(var);
    absl::Span<const Var> operands = graph_.operands(equation);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (facts_[var].operands[k].reads > 0 && is_behind(base, operands[k], budget)) return true;
    }
    return false;
  }

  // Updates of updates are made one after the other in the same memory.
  bool is_updated_in_memory(const Equation& equation, Var var) const {
    if (equation.primitive->lowering != Lowering::kUpdate) return false;
    return std::any_of(uses_[var].begin(), uses_[var].end(), [&](const Use& use) {
      const Equation& consumer = graph_.equations()[use.equation];
      const Lowering lowering = consumer.primitive->lowering;
      return use.operand == 0 && (lowering == Lowering::kScatter ||
                                  (lowering == Lowering::kUpdate && fusion_.stored[consumer.first_output]));
    });
  }

  // ---- steps ------------------------------------------------------------------------------------------------------

  // What a nest computing `var` reads from memory; `same`: only at its own position.
  using Reads = std::map<Var, bool>;
  void collect_reads(Var var, bool same, Reads& reads, std::map<Var, bool>& seen) {
    if (fusion_.stored[var]) {
      auto [at, inserted] = reads.insert({var, same});
      if (!inserted) at->second = at->second && same;
      return;
    }
    auto [at, inserted] = seen.insert({var, same});
    if (!inserted) {
      if (same || !at->second) return;
      at->second = false;
    }
    collect_operand_reads(var, same, reads, seen);
  }
  void collect_operand_reads(Var var, bool same, Reads& reads, std::map<Var, bool>& seen) {
    const Equation& equation = equation_of(var);
    absl::Span<const Var> operands = graph_.operands(equation);
    for (size_t k = 0; k < operands.size(); ++k) {
      const OperandAccess& access = facts_[var].operands[k];
      if (access.reads > 0) collect_reads(operands[k], same && access.same, reads, seen);
    }
  }

  // The first step that may read these, and whether step `step` may, with members of its own among them.
  bool fits(const Reads& reads, int step, const std::vector<Var>& members, const std::vector<Var>& more = {}) const {
    auto contains = [](const std::vector<Var>& vars, Var var) {
      return std::find(vars.begin(), vars.end(), var) != vars.end();
    };
    for (const auto& [var, same] : reads) {
      if (step_of_[var] < step) continue;
      if (step_of_[var] > step || !same || cut_[var] || !(contains(members, var) || contains(more, var))) return false;
    }
    return true;
  }
  // The first step to consider for joining.
  int join_from(const Reads& reads) const {
    int step = std::max(0, last_step() - kFarthestJoin);
    for (const auto& [var, _] : reads) step = std::max(step, step_of_[var]);
    return step;
  }

  // Another sweep over the same space, for a nest that has one already.
  bool join_elements(Var var, const Reads& reads) {
    if (!options_.share_nests) return false;
    const Shape& shape = graph_.aval(var).shape();
    for (int j = last_step(), end = join_from(reads); j >= end; --j) {
      Step& step = fusion_.steps[j];
      if (step.kind != StepKind::kNest || members(step) >= kMostMembers) continue;
      if (step.shape == shape && fits(reads, j, step.elements)) {
        step.elements.push_back(var);
        step_of_[var] = j;
        return true;
      }
      if (!step.reductions.empty() && kept_shape(step.shape, step.reduced) == shape &&
          fits(reads, j, step.reductions, step.epilogues)) {
        step.epilogues.push_back(var);
        step_of_[var] = j;
        return true;
      }
    }
    return false;
  }

  bool join_reduction(Var var, const Shape& shape, const Ints& axes, const Reads& reads) {
    if (!options_.share_nests) return false;
    for (int j = last_step(), end = join_from(reads); j >= end; --j) {
      Step& step = fusion_.steps[j];
      if (step.kind != StepKind::kNest || step.shape != shape || members(step) >= kMostMembers) continue;
      if (!(step.reductions.empty() || step.reduced == axes) || !fits(reads, j, step.elements)) continue;
      step.reduced = axes;
      step.reductions.push_back(var);
      step_of_[var] = j;
      return true;
    }
    return false;
  }

  static size_t members(const Step& step) {
    return step.elements.size() + step.reductions.size() + step.epilogues.size();
  }
  int last_step() const { return static_cast<int>(fusion_.steps.size()) - 1; }

  void append(Step step) { fusion_.steps.push_back(std::move(step)); }

  void schedule(uint32_t i) {
    const Equation& equation = graph_.equations()[i];
    const Lowering lowering = equation.primitive->lowering;
    const bool in_memory =
        lowering == Lowering::kUpdate && fusion_.stored[equation.first_output] && size_of(equation.first_output) > 1;
    if (is_inline(i) && !in_memory) {
      for (uint32_t k = 0; k < equation.output_count; ++k) {
        const Var var = equation.first_output + k;
        if (!fusion_.stored[var] || step_of_[var] >= 0) continue;
        Reads reads;
        std::map<Var, bool> seen;
        collect_operand_reads(var, true, reads, seen);
        if (size_of(var) > 1 && join_elements(var, reads)) continue;
        append({.kind = StepKind::kNest,
                .shape = graph_.aval(var).shape(),
                .reduced = {},
                .elements = {var},
                .reductions = {},
                .epilogues = {}});
        step_of_[var] = last_step();
      }
      return;
    }
    if (lowering == Lowering::kReduce) {
      const Var var = equation.first_output;
      const Var operand = graph_.operands(equation)[0];
      const Shape& shape = graph_.aval(operand).shape();
      const Ints& axes = graph_.attrs(equation).ints("axes");
      Reads reads;
      std::map<Var, bool> seen;
      collect_reads(operand, true, reads, seen);
      if (graph_.aval(operand).size() > 1 && join_reduction(var, shape, axes, reads)) return;
      append({.kind = StepKind::kNest,
              .shape = shape,
              .reduced = axes,
              .elements = {},
              .reductions = {var},
              .epilogues = {}});
      step_of_[var] = last_step();
      return;
    }
    StepKind kind = StepKind::kControl;
    if (lowering == Lowering::kDot) kind = StepKind::kDot;
    if (lowering == Lowering::kCumulative) kind = StepKind::kCumulative;
    if (lowering == Lowering::kScatter) kind = StepKind::kScatter;
    if (lowering == Lowering::kUpdate) kind = StepKind::kUpdate;
    if (lowering == Lowering::kHost) kind = StepKind::kHost;
    append(
        {.kind = kind, .equation = i, .shape = {}, .reduced = {}, .elements = {}, .reductions = {}, .epilogues = {}});
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      const Var var = equation.first_output + k;
      step_of_[var] = last_step();
      if (fusion_.transposed[var] != kNoVar) step_of_[fusion_.transposed[var]] = last_step();
    }
  }

  const Graph& graph_;
  FusionOptions options_;
  Fusion fusion_;
  std::vector<bool> is_output_;
  std::vector<bool> required_;  // must be stored
  std::vector<bool> cut_;       // stored so that loops stay small: read by other loops only
  std::vector<bool> inline_;    // by equation
  std::vector<std::vector<Use>> uses_;
  std::vector<ElementFacts> facts_;
  std::vector<double> cost_;
  std::vector<std::vector<Home>> homes_;
  std::vector<int> step_of_;
};

}  // namespace

Shape kept_shape(absl::Span<const int64_t> shape, absl::Span<const int64_t> reduced) {
  Shape kept;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(axis)) == reduced.end()) {
      kept.push_back(shape[axis]);
    }
  }
  return kept;
}

Var alias_base(const Graph& graph, absl::Span<const uint32_t> definition, Var var) {
  while (definition[var] != Fusion::kInput) {
    const Equation& equation = graph.equations()[definition[var]];
    if (equation.primitive->lowering != Lowering::kAlias) break;
    var = graph.operands(equation)[0];
  }
  return var;
}

Fusion fuse(const Graph& graph, const FusionOptions& options) { return Fuser(graph, options).run(); }

}  // namespace ct::jit
