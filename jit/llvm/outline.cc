#include "jit/llvm/outline.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "jit/llvm/crossings.h"
#include "jit/llvm/modules.h"
#include "jit/llvm/periods.h"
#include "jit/llvm/statement_form.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::Block;
using loop::BlockId;
using loop::Program;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

// In statements, of which each becomes an instruction or two. A function costs as much to compile as some 50 of them,
// however small: each pass has to come into the processor's caches again.
constexpr int64_t kMost = 600;        // a function of no more is not cut
constexpr int64_t kLeastShared = 24;  // below, the call costs as much as the code
constexpr int64_t kLeastSaved = 80;
constexpr int64_t kMostShared = 4000;
constexpr int64_t kLeastPerVaried = 24;  // of a function, for each constant that differs between its uses
constexpr int64_t kProductWeight = 250;  // of a product of matrices that brings its own code
constexpr int64_t kCall = 4;
constexpr int64_t kUsualCall = 12;  // with its arguments
// Of elementwise loops outside of all others, which become two loops of vectors each: several times their statements.
constexpr size_t kLeastElementwise = 8;
constexpr int64_t kLeastSavedElementwise = 60;

class Outliner {
 public:
  Outliner(const Program& program, const LoopFacts& facts)
      : program_(program), facts_(facts), weights_(program.blocks.size(), -1) {}

  Outline run() {
    result_.functions.emplace_back().end = static_cast<uint32_t>(program_.blocks[0].statements.size());
    is_large_ = weight_of_block(0) > kMost;
    find_elementwise_loops();
    if (is_large_ || elementwise_.size() >= kLeastElementwise) {
      constants_.resize(program_.values.size());
      for (const Block& block : program_.blocks) {
        for (const Statement& s : block.statements) {
          if (s.kind == StatementKind::kConstant) constants_[s.result] = &s;
          if (s.kind == StatementKind::kSwap) swaps_ = true;
          loop::visit_yields(program_, s, [&](Value value) {
            if (value != loop::kNoValue) yielded_.insert(value);
          });
        }
      }
      find_repeats(0, false);
      if (std::ranges::any_of(repeats_, [](const auto& each) { return each.second.varies_much; }))
        find_repeats(0, true);
      std::vector<Item> items = plan(0, true);
      cut(0, items);
      take(result_.functions[0], items);
    } else {
      result_.functions[0].weight = weight_of_block(0);
    }
    find_crossings(program_, constants_, result_);
    bundle_modules(result_);
    return std::move(result_);
  }

 private:
  // A statement, or a call in place of some.
  struct Item {
    uint32_t begin, end;
    int64_t weight;
    bool is_call = false;
    bool may_fail = false;
    OutlinedCall call = {};
  };

  int64_t weight_of(const Statement& s) {
    switch (s.kind) {
      case StatementKind::kConstant:
        return 0;
      case StatementKind::kGemm:
        return facts_.ready_made && facts_.ready_made(program_.gemms[s.detail]) ? kUsualCall : kProductWeight;
      case StatementKind::kFill:
      case StatementKind::kCopy:
      case StatementKind::kSwap:
        return 4;
      case StatementKind::kHostCall: {
        const loop::HostCall& call = program_.host_calls[s.detail];
        return 8 + 2 * static_cast<int64_t>(call.inputs.size() + call.outputs.size());
      }
      default:
        break;
    }
    int64_t weight = loop::is_instruction(s) || s.kind == StatementKind::kStore ? 1 : 4;
    loop::visit_blocks_of(program_, s, [&](BlockId inner) { weight += weight_of_block(inner); });
    return weight;
  }
  int64_t weight_of_block(BlockId block) {
    int64_t& weight = weights_[block];
    if (weight < 0) {
      int64_t sum = 0;
      for (const Statement& s : program_.blocks[block].statements) sum += weight_of(s);
      weights_[block] = sum;
      return sum;
    }
    return weight;
  }

  bool holds(const Statement& s, StatementKind a, StatementKind b) const {
    bool found = s.kind == a || s.kind == b;
    loop::visit_blocks_of(program_, s, [&](BlockId block) {
      for (const Statement& inner : program_.blocks[block].statements) found = found || holds(inner, a, b);
    });
    return found;
  }
  // Whether the blocks inside run a statement at a time.
  bool opens(const Statement& s) {
    switch (s.kind) {
      case StatementKind::kFor: {
        const auto [at, is_new] = opens_.emplace(s.detail, false);
        if (is_new) at->second = !program_.fors[s.detail].options.whole && !facts_.vectorized(program_.fors[s.detail]);
        return at->second;
      }
      case StatementKind::kWhile:
      case StatementKind::kIf:
        return true;
      default:
        return false;
    }
  }

  // -------------------------------------------------------------------------------------------------------- sharing

  // Loops that run once, whose extents may differ. They are so cheap that how they are reached counts elsewhere.
  void find_elementwise_loops() {
    for (const Statement& s : program_.blocks[0].statements) {
      if (s.kind != StatementKind::kFor) continue;
      std::vector<uint64_t> decided = facts_.decided_by_extent(program_.fors[s.detail]);
      if (!decided.empty()) elementwise_.emplace(s.detail, std::move(decided));
    }
  }
  bool is_elementwise(const Statement& s) const {
    return s.kind == StatementKind::kFor && elementwise_.contains(s.detail);
  }

  Form form_of(const Statement& s) {
    Form form(program_, constants_);
    if (is_elementwise(s)) {
      form.add_of_any_extent(s, elementwise_.at(s.detail));
    } else {
      form.add(s);
    }
    return form;
  }

  bool may_share(const Statement& s) {
    if (is_elementwise(s)) return weight_of(s) <= kMostShared;
    if (!is_large_) return false;
    if (s.kind != StatementKind::kFor && s.kind != StatementKind::kGemm && s.kind != StatementKind::kWhile)
      return false;
    const int64_t weight = weight_of(s);
    return weight >= kLeastShared && weight <= kMostShared && !holds(s, StatementKind::kSwap, StatementKind::kHostCall);
  }

  // Statements alike, but for float constants, of which some may differ.
  struct Repeat {
    int count = 0;
    uint32_t function = 0;
    std::vector<int64_t> first;     // by array
    std::vector<uint64_t> floats;   // of the first one
    std::vector<uint32_t> differs;  // positions in these
    bool varies_much = false;
    int64_t extent = 0;  // of the first one, if that is an elementwise loop
    bool extents_differ = false;
  };

  // Where too many constants differ, the same ones are part of what is alike.
  Repeat& repeat_of(Form& form) {
    Form::Words words = form.take_words();
    Repeat& alike = repeats_[words];
    if (!alike.varies_much) return alike;
    words.append(form.floats());
    return repeats_[std::move(words)];
  }

  void find_repeats(BlockId block, bool only_varying) {
    for (const Statement& s : program_.blocks[block].statements) {
      if (may_share(s)) {
        Form form = form_of(s);
        count(form, s, only_varying);
      }
      if (opens(s)) loop::visit_blocks_of(program_, s, [&](BlockId inner) { find_repeats(inner, only_varying); });
    }
  }

  void count(Form& form, const Statement& s, bool only_varying) {
    const int64_t extent = is_elementwise(s) ? program_.fors[s.detail].extent.constant() : 0;
    const std::vector<const Statement*>& floats = form.floats();
    Form::Words words = form.take_words();
    if (only_varying) {
      if (!repeats_[words].varies_much) return;
      words.append(floats);
    }
    Repeat& repeat = repeats_[std::move(words)];
    if (repeat.count++ == 0) {
      repeat.extent = extent;
      for (const Statement* constant : floats) repeat.floats.push_back(constant->bits);
      return;
    }
    repeat.extents_differ = repeat.extents_differ || repeat.extent != extent;
    for (uint32_t i = 0; i < floats.size() && !repeat.varies_much; ++i) {
      if (floats[i]->bits == repeat.floats[i] || std::ranges::find(repeat.differs, i) != repeat.differs.end()) continue;
      repeat.differs.push_back(i);
      repeat.varies_much = static_cast<int64_t>(repeat.differs.size()) * kLeastPerVaried > weight_of(s);
    }
  }

  bool share(const Statement& s, uint32_t position, BlockId block, std::vector<Item>& items) {
    if (!may_share(s)) return false;
    Form form = form_of(s);
    Repeat& repeat = repeat_of(form);
    // What is small and comes again in the same way is left to parts.
    if (is_large_ && weight_of(s) < kLeastShared && (in_part_ || !repeat.extents_differ)) return false;
    if ((repeat.count - 1) * weight_of(s) < (is_elementwise(s) ? kLeastSavedElementwise : kLeastSaved)) return false;
    if (repeat.function == 0) {
      repeat.function = static_cast<uint32_t>(result_.functions.size());
      OutlinedFunction& f = result_.functions.emplace_back();
      f.block = block;
      f.begin = position;
      f.end = position + 1;
      f.shared = true;
      f.values = form.values();
      f.results = form.results();
      for (uint32_t i : repeat.differs) f.varied.push_back(form.floats()[i]->result);
      for (const Statement* constant : form.constants()) {
        if (std::ranges::find(f.varied, constant->result) == f.varied.end()) f.constants.push_back(constant);
      }
      f.buffers = form.tables();
      f.weight = weight_of(s);
      f.any_extent = repeat.extents_differ;
      for (const Form::Array& array : form.arrays()) {
        f.arrays.push_back(array.buffer);
        repeat.first.push_back(array.first);
      }
    }
    Item item{position, position + 1, kCall, true, false, {position, position + 1, repeat.function, {}, {}, {}, {}}};
    if (repeat.extents_differ) item.call.extent = program_.fors[s.detail].extent.constant();
    for (size_t i = 0; i < repeat.first.size(); ++i) {
      item.call.arrays.push_back({form.arrays()[i].buffer, form.arrays()[i].first - repeat.first[i]});
    }
    for (uint32_t i : repeat.differs) item.call.constants.push_back(form.floats()[i]);
    item.call.values = form.values();
    item.call.results = form.results();
    item.weight += static_cast<int64_t>(item.call.arrays.size() + item.call.constants.size() + item.call.values.size() +
                                        item.call.results.size());
    items.push_back(std::move(item));
    return true;
  }

  // ----------------------------------------------------------------------------------------------------------- parts

  struct Part {
    int count = 0;
    bool pays = true;
    uint32_t function = 0;
    std::vector<int64_t> first;  // by array
  };

  // Where parts begin in a block, and where they end.
  absl::flat_hash_map<uint32_t, uint32_t> find_parts(BlockId block) {
    absl::flat_hash_map<uint32_t, uint32_t> ends;
    const std::vector<Statement>& statements = program_.blocks[block].statements;
    if (swaps_ || weight_of_block(block) <= kMost) return ends;
    // Constants are made where they are used, so it does not matter where they stand.
    std::vector<uint32_t> positions;
    std::vector<uint64_t> tokens;
    std::vector<int64_t> weights;
    for (uint32_t i = 0; i < statements.size(); ++i) {
      const Statement& s = statements[i];
      if (s.kind == StatementKind::kConstant) continue;
      positions.push_back(i);
      weights.push_back(may_share(s) && weight_of(s) >= kLeastShared ? kUsualCall : weight_of(s));
      tokens.push_back(0);
      if (holds(s, StatementKind::kSwap, StatementKind::kHostCall)) continue;
      Form form(program_, constants_);
      form.add(s);
      Form::Words words = form.take_words();
      words.append(form.floats());
      tokens.back() = std::max<uint64_t>(absl::HashOf(words), 1);
    }
    const std::vector<uint32_t> last = last_of_expansions(statements);
    for (const PeriodicRun& run : find_periodic_runs(tokens, weights)) {
      // What comes again within one function of numbers, terms of a polynomial say, would cut it in pieces.
      const uint32_t expansion = statements[positions[run.begin]].expansion;
      const uint32_t end = run.begin + run.period * run.count;
      if (!in_loop_ && expansion != 0 && positions[end - 1] <= last[expansion]) continue;
      // Small periods by the dozen, large ones in pieces. What is left over at the end is not shared.
      int64_t weight = 0;
      for (uint32_t i = 0; i < run.period; ++i) weight += weights[run.begin + i];
      const auto made = [&](uint32_t together) {
        return (together + run.count % together) * weight + run.count / together * kUsualCall;
      };
      const auto most = static_cast<uint32_t>(
          std::clamp<int64_t>(kChunkWeight / std::max<int64_t>(weight, 1), 1, static_cast<int64_t>(run.count) / 2));
      uint32_t together = most;
      for (uint32_t fewer = most; --fewer > 0;) {
        if (made(fewer) < made(together)) together = fewer;
      }
      const uint32_t groups = run.count / together;
      const uint32_t period = run.period * together;
      std::vector<uint32_t> cuts = {0};
      weight = 0;
      for (uint32_t i = 0; i < period; ++i) {
        if (weight > 0 && weight + weights[run.begin + i] > kChunkWeight) {
          cuts.push_back(i);
          weight = 0;
        }
        weight += weights[run.begin + i];
      }
      cuts.push_back(period);
      for (uint32_t copy = 0; copy < groups; ++copy) {
        for (size_t i = 0; i + 1 < cuts.size(); ++i) {
          const uint32_t start = run.begin + copy * period;
          ends[positions[start + cuts[i]]] = positions[start + cuts[i + 1] - 1] + 1;
        }
      }
    }
    if (!in_loop_) find_expansions(block, last, ends);
    find_last_uses(block);
    for (const auto& [begin, end] : ends) {
      Form form = form_of_part(block, begin, end);
      ++parts_[part_words(form)].count;
    }
    return ends;
  }

  // Where the calls of functions of numbers end, by expansion.
  std::vector<uint32_t> last_of_expansions(const std::vector<Statement>& statements) const {
    std::vector<uint32_t> last(program_.expansions.size() + 1, 0);
    for (uint32_t i = 0; i < statements.size(); ++i) last[statements[i].expansion] = i;
    return last;
  }

  // Functions of numbers, a sine say, that are not in what was found already: a call takes longer than what is written
  // out, which counts in loops and not where everything runs once.
  void find_expansions(BlockId block, const std::vector<uint32_t>& last,
                       absl::flat_hash_map<uint32_t, uint32_t>& ends) {
    const std::vector<Statement>& statements = program_.blocks[block].statements;
    for (uint32_t i = 0; i < statements.size(); ++i) {
      if (const auto known = ends.find(i); known != ends.end()) {
        i = known->second - 1;
        continue;
      }
      const uint32_t expansion = statements[i].expansion;
      if (expansion == 0 || (i > 0 && statements[i - 1].expansion == expansion)) continue;
      const uint32_t end = last[expansion] + 1;
      int64_t weight = 0;
      bool whole = true;
      for (uint32_t k = i; k < end && whole; ++k) {
        // Those inside of it were begun later.
        whole = statements[k].expansion >= expansion && !ends.contains(k) &&
                !holds(statements[k], StatementKind::kSwap, StatementKind::kHostCall);
        weight += weight_of(statements[k]);
      }
      if (!whole || weight < kLeastShared || weight > kMostShared) continue;
      ends[i] = end;
      i = end - 1;
    }
  }

  void find_last_uses(BlockId block) {
    const std::vector<Statement>& statements = program_.blocks[block].statements;
    for (uint32_t i = 0; i < statements.size(); ++i) {
      const auto use = [&](Value value) {
        if (value != loop::kNoValue) last_uses_[value] = i;
      };
      const auto visit = [&](const Statement& s) {
        loop::visit_inputs(program_, s, use);
        loop::visit_yields(program_, s, use);
      };
      visit(statements[i]);
      loop::visit_blocks_of(program_, statements[i],
                            [&](BlockId inner) { loop::visit_statements(program_, inner, visit); });
    }
  }

  Form form_of_part(BlockId block, uint32_t begin, uint32_t end) {
    Form form(program_, constants_);
    const auto needed = [&](Value value) {
      const auto at = last_uses_.find(value);
      return yielded_.contains(value) || (at != last_uses_.end() && at->second >= end);
    };
    for (uint32_t i = begin; i < end; ++i) form.add_of_part(program_.blocks[block].statements[i], needed);
    return form;
  }
  static Form::Words part_words(Form& form) {
    Form::Words words = form.take_words();
    words.append(form.floats());
    return words;
  }

  bool share_part(BlockId block, uint32_t begin, uint32_t end, std::vector<Item>& items) {
    Form form = form_of_part(block, begin, end);
    Part& part = parts_[part_words(form)];
    if (part.count < 2 || !part.pays) return false;
    if (part.function == 0) {
      std::vector<Item> inside;
      in_part_ = true;
      for (uint32_t i = begin; i < end; ++i) plan_statement(block, i, false, inside);
      in_part_ = false;
      // Each array, value and result of the first one is looked up.
      const size_t found = form.arrays().size() + form.values().size() + form.results().size();
      const int64_t made = total(inside) + static_cast<int64_t>(found);
      part.pays = part.count * total(inside) >= made + part.count * kCall + kLeastSaved;
      if (!part.pays) return false;
      part.function = static_cast<uint32_t>(result_.functions.size());
      OutlinedFunction& f = result_.functions.emplace_back();
      f.block = block;
      f.begin = begin;
      f.end = end;
      f.shared = f.part = true;
      f.values = form.values();
      f.results = form.results();
      f.constants = form.constants();
      f.buffers = form.tables();
      for (const Form::Array& array : form.arrays()) {
        f.arrays.push_back(array.buffer);
        part.first.push_back(array.first);
      }
      take(f, inside);
    }
    Item item{begin, end, kCall, true, false, {begin, end, part.function, {}, {}, {}, {}}};
    for (size_t i = 0; i < part.first.size(); ++i) {
      item.call.arrays.push_back({form.arrays()[i].buffer, form.arrays()[i].first - part.first[i]});
    }
    item.call.values = form.values();
    item.call.results = form.results();
    items.push_back(std::move(item));
    return true;
  }

  // --------------------------------------------------------------------------------------------------------- cutting

  // `parts`: whether what repeats back to back may become functions of its own.
  std::vector<Item> plan(BlockId block, bool parts) {
    std::vector<Item> items;
    const auto size = static_cast<uint32_t>(program_.blocks[block].statements.size());
    const absl::flat_hash_map<uint32_t, uint32_t> ends =
        parts ? find_parts(block) : absl::flat_hash_map<uint32_t, uint32_t>();
    for (uint32_t i = 0; i < size; ++i) {
      const auto at = ends.find(i);
      if (at != ends.end() && share_part(block, i, at->second, items)) {
        i = at->second - 1;
      } else {
        plan_statement(block, i, parts, items);
      }
    }
    return items;
  }

  void plan_statement(BlockId block, uint32_t position, bool parts, std::vector<Item>& items) {
    const Statement& s = program_.blocks[block].statements[position];
    if (share(s, position, block, items)) return;
    Item item{position, position + 1, weight_of(s)};
    item.may_fail = s.kind == StatementKind::kHostCall;
    if (opens(s)) {
      item.weight = 4;
      // Threads that share a loop would find the same scratch memory.
      const bool alone = s.kind != StatementKind::kFor || !program_.fors[s.detail].options.parallel;
      const bool was_in_loop = std::exchange(in_loop_, in_loop_ || s.kind != StatementKind::kIf);
      loop::visit_blocks_of(program_, s, [&](BlockId inner) {
        std::vector<Item> inside = plan(inner, parts && alone);
        // A part has no inputs and outputs to hand on to a chunk.
        if (!in_part_) cut(inner, inside);
        std::vector<OutlinedCall> calls;
        for (Item& each : inside) {
          item.weight += each.weight;
          item.may_fail = item.may_fail || each.may_fail;
          if (each.is_call) calls.push_back(std::move(each.call));
        }
        if (!calls.empty()) result_.inner_calls.emplace(inner, std::move(calls));
      });
      in_loop_ = was_in_loop;
    }
    items.push_back(std::move(item));
  }

  static int64_t total(const std::vector<Item>& items) {
    int64_t sum = 0;
    for (const Item& item : items) sum += item.weight;
    return sum;
  }

  // Makes chunks until the block is small.
  void cut(BlockId block, std::vector<Item>& items) {
    for (int64_t before = INT64_MAX, now = total(items); now > kMost && now < before;) {
      std::vector<Item> chunks;
      for (size_t first = 0; first < items.size();) {
        size_t last = first;
        int64_t weight = 0;
        while (last < items.size() && (last == first || weight + items[last].weight <= kChunkWeight)) {
          weight += items[last++].weight;
        }
        if (last == first + 1 && items[first].is_call) {
          chunks.push_back(std::move(items[first]));
        } else {
          chunks.push_back(chunk(block, {items.begin() + static_cast<std::ptrdiff_t>(first),
                                         items.begin() + static_cast<std::ptrdiff_t>(last)}));
        }
        first = last;
      }
      items = std::move(chunks);
      before = now;
      now = total(items);
    }
  }

  Item chunk(BlockId block, std::vector<Item> parts) {
    const auto function = static_cast<uint32_t>(result_.functions.size());
    OutlinedFunction& f = result_.functions.emplace_back();
    f.block = block;
    f.begin = parts.front().begin;
    f.end = parts.back().end;
    take(f, parts);
    return {f.begin, f.end, kCall, true, f.may_fail, {f.begin, f.end, function, {}, {}, {}, {}}};
  }

  static void take(OutlinedFunction& f, std::vector<Item>& parts) {
    for (Item& part : parts) {
      f.weight += part.weight;
      f.may_fail = f.may_fail || part.may_fail;
      if (part.is_call) f.calls.push_back(std::move(part.call));
    }
  }

  const Program& program_;
  const LoopFacts& facts_;
  Outline result_;
  std::vector<int64_t> weights_;               // by block; -1: not known yet
  std::vector<const Statement*> constants_;    // by value; empty when the program is not cut
  absl::flat_hash_map<uint32_t, bool> opens_;  // by For
  absl::flat_hash_map<Form::Words, Repeat> repeats_;
  absl::flat_hash_map<Form::Words, Part> parts_;
  bool is_large_ = false;
  absl::flat_hash_map<uint32_t, std::vector<uint64_t>> elementwise_;  // by For
  bool swaps_ = false;                              // somewhere: an array's place is then known only at run time
  bool in_part_ = false;                            // what is planned
  bool in_loop_ = false;                            // the same
  absl::flat_hash_map<Value, uint32_t> last_uses_;  // positions of statements in the block that is searched for parts
  absl::flat_hash_set<Value> yielded_;              // used at the end of a block
};

}  // namespace

Outline outline(const Program& program, const LoopFacts& facts) { return Outliner(program, facts).run(); }

}  // namespace ct::jit
