// Products of matrices as C: register tiles, and dot products, with each element's sum in the order of the plan.
#include <algorithm>
#include <utility>

#include "jit/c/emission.h"
#include "runtime/error.h"

namespace ct::jit::c {

namespace {

// An operand: element (r, c) is pointer[offset + r * row + c * column].
struct View {
  std::string pointer;
  std::string offset;  // a sum, or empty
  int64_t row, column;
  DType dtype;
  View transposed() const { return {pointer, offset, column, row, dtype}; }
};

// Row and column bind as products.
std::string place(const View& v, const std::string& row, const std::string& column) {
  std::string sum = v.offset;
  for (const auto& [number, stride] : {std::pair(row, v.row), std::pair(column, v.column)}) {
    if (number == "0" || stride == 0) continue;
    sum += concat(sum.empty() ? "" : " + ", number, stride == 1 ? "" : concat(" * ", stride));
  }
  return sum;
}
std::string element(const View& v, const std::string& row, const std::string& column) {
  const std::string at = place(v, row, column);
  return concat(v.pointer, "[", at.empty() ? "0" : at, "]");
}
std::string address(const View& v, const std::string& row, const std::string& column) {
  const std::string at = place(v, row, column);
  return at.empty() ? v.pointer : concat(v.pointer, " + ", at);
}

class Product {
 public:
  Product(Emission& e, const loop::Gemm& gemm)
      : e_(e),
        gemm_(gemm),
        dtype_(real_dtype(e.program.buffers[gemm.c.buffer].dtype) == DType::kFloat64 ? DType::kFloat64
                                                                                     : DType::kFloat32),
        size_(dtype_size(dtype_)),
        type_(register_type(dtype_)) {}

  void emit() {
    Problem p{gemm_.m,
              gemm_.n,
              gemm_.k,
              view(gemm_.a),
              view(gemm_.b),
              view(gemm_.c),
              gemm_.accumulate,
              count(gemm_.rows, "rows"),
              count(gemm_.columns, "columns"),
              count(gemm_.steps, "steps")};
    if (p.m == 0 || p.n == 0) return;
    if (p.k == 0) {
      if (!p.accumulate) clear(p.c, p);
      return;
    }
    if (is_complex(e_.program.buffers[gemm_.c.buffer].dtype)) return complex(std::move(p));
    p.a = widened(p.a, p.m * p.k, p.k, p.rows, p.steps);
    p.b = widened(p.b, p.k * p.n, p.n, p.steps, p.columns);
    const View target = p.c;
    const bool contiguous = target.column == 1 || target.row == 1 || p.n == 1 || p.m == 1;
    if (target.dtype == dtype_ && contiguous) return multiply(p);
    const bool accumulate = std::exchange(p.accumulate, false);
    p.c = {e_.scratch(dtype_, p.m * p.n), "", p.n, 1, dtype_};
    multiply(p);
    copy(p.c, target, p.rows, p.columns, accumulate);
  }

 private:
  struct Problem {
    int64_t m, n, k;
    View a, b, c;
    bool accumulate;
    std::string rows, columns, steps;  // how many there are, as numbers or variables
    bool of_complex = false;           // the parts of complex numbers: b is that, with half its strides
    bool knows_rows() const { return rows == std::to_string(m); }
    bool knows_columns() const { return columns == std::to_string(n); }
    bool knows_steps() const { return steps == std::to_string(k); }
  };

  View view(const loop::Matrix& m) {
    return {e_.buffer(m.buffer), m.offset == loop::Index(0) ? "" : e_.index(m.offset), m.row_stride, m.column_stride,
            real_dtype(e_.program.buffers[m.buffer].dtype)};
  }
  std::string count(const loop::Index& index, std::string_view kind) {
    if (index.is_constant()) return std::to_string(index.constant());
    const std::string name = e_.fresh(kind);
    e_.line("const int64_t ", name, " = ", e_.index(index), ";");
    return name;
  }
  static ProductShape shape(const Problem& p) {
    const auto strides = [](const View& v) { return ProductStrides{v.row, v.column}; };
    return {
        p.m, p.n, p.k, strides(p.a), strides(p.b), strides(p.c), p.knows_rows(), p.knows_columns(), p.knows_steps()};
  }
  static Problem flipped(const Problem& p) {
    return {p.n,          p.m,       p.k,    p.b.transposed(), p.a.transposed(), p.c.transposed(),
            p.accumulate, p.columns, p.rows, p.steps};
  }

  // ---- moving elements

  std::string stored(const View& v, const std::string& row, const std::string& column) {
    const std::string bits = element(v, row, column);
    return is_small_float(v.dtype) ? concat(e_.helpers.decode(v.dtype), "(", bits, ")") : bits;
  }
  // to (+)= from, element by element.
  void copy(const View& from, const View& to, const std::string& rows, const std::string& columns, bool add) {
    for_each(rows, [&](const std::string& i) {
      for_each(columns, [&](const std::string& j) {
        std::string value = stored(from, i, j);
        if (add) value = concat(stored(to, i, j), " + ", value);
        if (is_small_float(to.dtype))
          value = concat(e_.helpers.encode(to.dtype), "(", e_.helpers.round_to(to.dtype), "(", value, "))");
        e_.line(element(to, i, j), " = ", value, ";");
      });
    });
  }
  View widened(const View& v, int64_t elements, int64_t row, const std::string& rows, const std::string& columns) {
    if (v.dtype == dtype_) return v;
    View wide{e_.scratch(dtype_, elements), "", row, 1, dtype_};
    copy(v, wide, rows, columns, false);
    return wide;
  }
  void clear(const View& c, const Problem& p) {
    for_each(std::to_string(p.m), [&](const std::string& i) {
      for_each(std::to_string(p.n), [&](const std::string& j) { e_.line(element(c, i, j), " = 0;"); });
    });
  }

  template <typename Body>
  void for_each(const std::string& count, Body body) {
    const std::string variable = e_.loop_variable();
    e_.line("CT_INDEPENDENT");
    e_.open("for (int64_t ", variable, " = 0; ", variable, " < ", count, "; ++", variable, ")");
    body(variable);
    e_.close();
    --e_.loops_open;
  }
  template <typename Body>
  void for_steps(const std::string& count, int64_t step, Body body) {
    const std::string variable = e_.loop_variable();
    e_.open("for (int64_t ", variable, " = 0; ", variable, " < ", count, "; ", variable, " += ", step, ")");
    body(variable);
    e_.close();
    --e_.loops_open;
  }

  // ---- the forms

  void multiply(const Problem& problem) {
    const ProductPlan plan = plan_product(e_.facts, shape(problem), size_);
    const Problem p = plan.flipped ? flipped(problem) : problem;
    switch (plan.form) {
      case ProductForm::kTiles:
        return tiles(p, choose_tiling(e_.facts, shape(p), size_));
      case ProductForm::kDots:
        return dots(p);
      case ProductForm::kDotTiles:
        return dot_tiles(p);
    }
  }

  // A function for a tile of so many rows and vectors, whose last vector has `last` elements.
  std::string tile_function(unsigned lanes, int64_t rows, int64_t vectors) {
    Helpers& h = e_.helpers;
    const std::string vector = h.vector(dtype_, lanes), name = concat(vector, "_tile_", rows, "x", vectors);
    if (h.knows(name)) return name;
    const std::string load = h.load(dtype_, lanes), some = h.load_some(dtype_, lanes), all = h.splat(dtype_, lanes),
                      fma = h.vector_fma(dtype_, lanes), store = h.store(dtype_, lanes),
                      store_some = h.store_some(dtype_, lanes);
    return h.function(
        name,
        concat("/* c = a b or c + a b, of ", rows, " rows of a and ", vectors,
               " vectors of b's columns, of the last of which `last`\n", " * count. The sums stay in registers. */\n",
               kInline, "void ", name, "(int64_t steps, const ", type_, "* a, int64_t a_row, int64_t a_column, const ",
               type_, "* b, int64_t b_row, ", type_, "* c, int64_t c_row, int64_t last, bool accumulate) {\n  ", vector,
               " sum[", rows, "][", vectors, "] = {{{0}}};\n", "  for (int64_t step = 0; step < steps; ++step) {\n    ",
               vector, " row[", vectors, "];\n    CT_UNROLL\n    for (int v = 0; v < ", vectors,
               "; ++v)\n      row[v] = v == ", vectors - 1, " && last < ", lanes, " ? ", some,
               "(b + step * b_row + v * ", lanes, ", last)\n", "                 : ", load, "(b + step * b_row + v * ",
               lanes, ");\n", "    CT_UNROLL\n    for (int r = 0; r < ", rows, "; ++r) {\n      const ", vector,
               " x = ", all, "(a[r * a_row + step * a_column]);\n      CT_UNROLL\n", "      for (int v = 0; v < ",
               vectors, "; ++v) sum[r][v] = ", fma, "(x, row[v], sum[r][v]);\n    }\n  }\n",
               "  CT_UNROLL\n  for (int r = 0; r < ", rows, "; ++r) {\n    CT_UNROLL\n    for (int v = 0; v < ",
               vectors, "; ++v) {\n      ", type_, "* const to = c + r * c_row + v * ", lanes,
               ";\n      if (v == ", vectors - 1, " && last < ", lanes, ") {\n        ", store_some,
               "(to, accumulate ? ", some, "(to, last) + sum[r][v] : sum[r][v], last);\n      } else {\n        ",
               store, "(to, accumulate ? ", load, "(to) + sum[r][v] : sum[r][v]);\n      }\n    }\n  }\n}\n"));
  }

  void tiles(const Problem& p, const ProductTiling& t) {
    bool accumulate = p.accumulate;
    if (t.k_block < p.k && !accumulate) {
      clear(p.c, p);
      accumulate = true;
    }
    const bool packs = t.pack || p.b.column != 1 || p.of_complex;
    const std::string packed = packs ? e_.scratch(dtype_, t.k_block * t.width()) : "";
    if (t.k_block >= p.k) return tiles_of_block(p, t, p.steps, packed, accumulate);
    for_steps(p.steps, t.k_block, [&](const std::string& first) {
      std::string steps = std::to_string(t.k_block);
      if (!p.knows_steps() || p.k % t.k_block != 0) {
        steps = e_.fresh("steps");
        e_.line("const int64_t ", steps, " = ", least(concat(p.steps, " - ", first), t.k_block), ";");
      }
      Problem block = p;
      block.a.offset = place(p.a, "0", first);
      block.b.offset = place(p.b, first, "0");
      tiles_of_block(block, t, steps, packed, accumulate);
    });
  }

  void tiles_of_block(const Problem& p, const ProductTiling& t, const std::string& steps, const std::string& packed,
                      bool accumulate) {
    const auto strips = [&](const std::string& column, int64_t vectors, const std::string& last, const View& b) {
      const auto call = [&](int64_t rows, const std::string& row) {
        e_.line(tile_function(t.lanes, rows, vectors), "(", steps, ", ", address(p.a, row, "0"), ", ", p.a.row, ", ",
                p.a.column, ", ", address(b, "0", "0"), ", ", b.row, ", ", address(p.c, row, column), ", ", p.c.row,
                ", ", last, ", ", accumulate ? "true" : "false", ");");
      };
      const std::string row = e_.loop_variable();
      if (p.knows_rows()) {
        const int64_t whole = p.m / t.rows * t.rows;
        if (whole > t.rows) {
          e_.line("for (int64_t ", row, " = 0; ", row, " < ", whole, "; ", row, " += ", t.rows, ")");
          ++e_.depth;
          call(t.rows, row);
          --e_.depth;
        } else if (whole > 0) {
          call(t.rows, "0");
        }
        if (p.m > whole) call(p.m - whole, std::to_string(whole));
      } else {
        e_.open();
        e_.line("int64_t ", row, " = 0;");
        e_.line("for (; ", row, " + ", t.rows, " <= ", p.rows, "; ", row, " += ", t.rows, ")");
        ++e_.depth;
        call(t.rows, row);
        --e_.depth;
        if (t.rows > 1) {
          e_.line("for (; ", row, " < ", p.rows, "; ++", row, ")");
          ++e_.depth;
          call(1, row);
          --e_.depth;
        }
        e_.close();
      }
      --e_.loops_open;
    };
    // So many vectors of columns, the last of which has `last`.
    const auto panel = [&](const std::string& column, int64_t vectors, const std::string& last) {
      View b{p.b.pointer, place(p.b, "0", column), p.b.row, 1, dtype_};
      if (!packed.empty()) {
        const int64_t width = vectors * t.lanes;
        const bool whole = last == std::to_string(t.lanes);
        View to{packed, "", width, 1, dtype_};
        View from = p.b;
        from.offset = place(p.b, "0", column);
        const std::string there = whole          ? std::to_string(width)
                                  : vectors == 1 ? last
                                                 : concat(width - t.lanes, " + ", last);
        if (!whole) {
          e_.line("__builtin_memset(", packed, ", 0, (size_t)(", steps, ") * ", width * size_, ");");
        }
        if (p.of_complex) {
          pack_pairs(from, packed, width, steps, width - t.lanes + std::stoll(last));
        } else {
          copy(from, to, steps, there, false);
        }
        b = to;
      }
      strips(column, vectors, last, b);
    };
    const std::string lanes = std::to_string(t.lanes);
    if (p.knows_columns()) {
      const int64_t whole = p.n / t.width() * t.width();
      if (whole > t.width()) {
        for_steps(std::to_string(whole), t.width(),
                  [&](const std::string& column) { panel(column, t.vectors, lanes); });
      } else if (whole > 0) {
        panel("0", t.vectors, lanes);
      }
      if (const int64_t rest = p.n - whole; rest > 0) {
        const int64_t vectors = divide_up(rest, t.lanes);
        panel(std::to_string(whole), vectors, std::to_string(rest - (vectors - 1) * t.lanes));
      }
      return;
    }
    e_.open();
    const std::string column = e_.loop_variable();
    e_.line("int64_t ", column, " = 0;");
    e_.open("for (; ", column, " + ", t.width(), " <= ", p.columns, "; ", column, " += ", t.width(), ")");
    panel(column, t.vectors, lanes);
    e_.close();
    e_.open("for (; ", column, " < ", p.columns, "; ", column, " += ", t.lanes, ")");
    const std::string last = e_.fresh("last");
    e_.line("const int64_t ", last, " = ", least(concat(p.columns, " - ", column), t.lanes), ";");
    panel(column, 1, last);
    e_.close();
    --e_.loops_open;
    e_.close();
  }

  // c[r] = a[r] . x for `rows` rows.
  std::string dots_function(unsigned lanes, int64_t rows) {
    Helpers& h = e_.helpers;
    const std::string vector = h.vector(dtype_, lanes), name = concat(vector, "_dots_of_", rows);
    if (h.knows(name)) return name;
    const std::string load = h.load(dtype_, lanes), some = h.load_some(dtype_, lanes),
                      fma = h.vector_fma(dtype_, lanes), fold = h.fold(ScalarOp::kAdd, dtype_, lanes);
    const std::string rest =
        e_.facts.has_masks()
            ? concat("  if (rest) {\n    CT_UNROLL\n    for (int r = 0; r < ", rows, "; ++r) sum[r] = ", fma, "(", some,
                     "(a + r * a_row + i, steps - i), ", some, "(x + i, steps - i), sum[r]);\n  }\n")
            : "";
    const std::string tail =
        e_.facts.has_masks()
            ? ""
            : concat("    if (rest)\n      for (int64_t step = i; step < steps; ++step) total = ", h.fma(dtype_),
                     "(a[r * a_row + step], x[step], total);\n");
    return h.function(
        name, concat("/* c = a x or c + a x, of ", rows,
                     " rows of a. `rest`: there may be steps behind the last whole vector. */\n", kInline, "void ",
                     name, "(int64_t steps, const ", type_, "* a, int64_t a_row, const ", type_, "* x, ", type_,
                     "* c, int64_t c_row, bool rest, bool accumulate) {\n  ", vector, " sum[", rows,
                     "] = {{0}};\n  int64_t i = 0;\n  for (; i + ", lanes, " <= steps; i += ", lanes, ") {\n    const ",
                     vector, " along = ", load, "(x + i);\n    CT_UNROLL\n    for (int r = 0; r < ", rows,
                     "; ++r) sum[r] = ", fma, "(", load, "(a + r * a_row + i), along, sum[r]);\n  }\n", rest,
                     "  CT_UNROLL\n  for (int r = 0; r < ", rows, "; ++r) {\n    ", type_, " total = ", fold,
                     "(sum[r]);\n", tail, "    c[r * c_row] = accumulate ? c[r * c_row] + total : total;\n  }\n",
                     rest.empty() && tail.empty() ? "  (void)rest;\n" : "", "}\n"));
  }

  void dots(const Problem& p) {
    View x = p.b, a = p.a;
    if (x.row != 1 && p.k > 1) {
      View to{e_.scratch(dtype_, p.k), "", 1, 1, dtype_};
      copy(x, to, p.steps, "1", false);
      x = to;
    }
    if (a.column != 1 && p.k > 1) {
      View to{e_.scratch(dtype_, p.m * p.k), "", p.k, 1, dtype_};
      copy(a, to, p.rows, p.steps, false);
      a = to;
    }
    const unsigned lanes = lanes_of_dots(e_.facts, shape(p), size_);
    const bool rest = !p.knows_steps() || p.k % lanes != 0;
    const auto call = [&](int64_t rows, const std::string& row) {
      e_.line(dots_function(lanes, rows), "(", p.steps, ", ", address(a, row, "0"), ", ", a.row, ", ",
              address(x, "0", "0"), ", ", address(p.c, row, "0"), ", ", p.c.row, ", ", rest ? "true" : "false", ", ",
              p.accumulate ? "true" : "false", ");");
    };
    constexpr int64_t kRows = 8;
    const int64_t whole = p.m / kRows * kRows;
    if (whole > 0)
      for_steps(p.knows_rows() ? std::to_string(whole) : least(p.rows, whole), kRows,
                [&](const std::string& row) { call(kRows, row); });
    if (p.m > whole) call(p.m - whole, std::to_string(whole));
  }
  static std::string least(const std::string& a, int64_t b) {
    return concat("(", a, " < ", b, " ? ", a, " : ", b, ")");
  }

  std::string dot_tile_function(unsigned lanes, int64_t rows, int64_t columns) {
    Helpers& h = e_.helpers;
    const std::string vector = h.vector(dtype_, lanes), name = concat(vector, "_dots_of_", rows, "x", columns);
    if (h.knows(name)) return name;
    const std::string load = h.load(dtype_, lanes), some = h.load_some(dtype_, lanes),
                      fma = h.vector_fma(dtype_, lanes), fold = h.fold_neighbours(dtype_, lanes);
    const auto step = [&](const std::string& loads, const std::string& count, const std::string& indent) {
      return concat(indent, vector, " of_b[", columns, "];\n", indent, "CT_UNROLL\n", indent, "for (int j = 0; j < ",
                    columns, "; ++j) of_b[j] = ", loads, "(b + j * b_column + i", count, ");\n", indent, "CT_UNROLL\n",
                    indent, "for (int r = 0; r < ", rows, "; ++r) {\n", indent, "  const ", vector, " of_a = ", loads,
                    "(a + r * a_row + i", count, ");\n", indent, "  CT_UNROLL\n", indent, "  for (int j = 0; j < ",
                    columns, "; ++j) sum[r][j] = ", fma, "(of_a, of_b[j], sum[r][j]);\n", indent, "}\n");
    };
    return h.function(
        name, concat("/* c = a b or c + a b, of ", rows, " rows of a and ", columns,
                     " columns of b, both contiguous along the steps. */\n", kInline, "void ", name,
                     "(int64_t steps, const ", type_, "* a, int64_t a_row, const ", type_, "* b, int64_t b_column, ",
                     type_, "* c, int64_t c_row, int64_t c_column, bool rest, bool accumulate) {\n  ", vector, " sum[",
                     rows, "][", columns, "] = {{{0}}};\n  int64_t i = 0;\n  for (; i + ", lanes, " <= steps; i += ",
                     lanes, ") {\n", step(load, "", "    "), "  }\n  if (rest) {\n", step(some, ", steps - i", "    "),
                     "  }\n  for (int r = 0; r < ", rows, "; ++r)\n    for (int j = 0; j < ", columns,
                     "; ++j) {\n      ", type_, "* const to = c + r * c_row + j * c_column;\n      const ", type_,
                     " total = ", fold, "(sum[r][j]);\n      *to = accumulate ? *to + total : total;\n    }\n}\n"));
  }

  void dot_tiles(const Problem& p) {
    const DotTiling t = choose_dot_tiling(e_.facts, shape(p), size_);
    const auto lanes = static_cast<unsigned>(e_.facts.vector_bits / 8 / size_);
    const auto block = [&](const std::string& first, const std::string& steps, bool rest, bool accumulate) {
      const auto call = [&](int64_t rows, const std::string& row, int64_t columns, const std::string& column) {
        e_.line(dot_tile_function(lanes, rows, columns), "(", steps, ", ", address(p.a, row, first), ", ", p.a.row,
                ", ", address(p.b, first, column), ", ", p.b.column, ", ", address(p.c, row, column), ", ", p.c.row,
                ", ", p.c.column, ", ", rest ? "true" : "false", ", ", accumulate ? "true" : "false", ");");
      };
      const auto strip = [&](int64_t rows, const std::string& row) {
        const int64_t whole = p.n / t.columns * t.columns;
        if (whole > 0)
          for_steps(p.knows_columns() ? std::to_string(whole) : least(p.columns, whole), t.columns,
                    [&](const std::string& column) { call(rows, row, t.columns, column); });
        if (p.n > whole) call(rows, row, p.n - whole, std::to_string(whole));
      };
      const int64_t whole = p.m / t.rows * t.rows;
      if (whole > 0)
        for_steps(p.knows_rows() ? std::to_string(whole) : least(p.rows, whole), t.rows,
                  [&](const std::string& row) { strip(t.rows, row); });
      if (p.m > whole) strip(p.m - whole, std::to_string(whole));
    };
    const auto has_rest = [&](int64_t steps) { return steps % lanes != 0; };
    if (t.k_block == p.k) return block("0", p.steps, !p.knows_steps() || has_rest(p.k), p.accumulate);
    if (!p.accumulate) clear(p.c, p);
    std::string whole = std::to_string(p.k / t.k_block * t.k_block);
    if (!p.knows_steps()) {
      whole = e_.fresh("whole");
      e_.line("const int64_t ", whole, " = ", p.steps, " / ", t.k_block, " * ", t.k_block, ";");
    }
    for_steps(whole, t.k_block,
              [&](const std::string& first) { block(first, std::to_string(t.k_block), has_rest(t.k_block), true); });
    if (!p.knows_steps()) {
      block(whole, concat(p.steps, " - ", whole), true, true);
    } else if (const int64_t rest = p.k % t.k_block; rest != 0) {
      block(whole, std::to_string(rest), has_rest(rest), true);
    }
  }

  // Of complex numbers: a product of their parts, of twice the columns and steps.
  void complex(Problem p) {
    const ComplexPlan plan = plan_complex_product(shape(p));
    if (plan.flipped) p = flipped(p);
    const View target = p.c;
    const int64_t columns = p.n, steps = p.k;
    const bool accumulate = p.accumulate;
    if (p.a.column != 2) {
      const View whole{e_.scratch(dtype_, p.m * 2 * p.k), "", 2 * p.k, 2, dtype_};
      copy_pairs(p.a, whole, p.m, steps, false);
      p.a = whole;
    }
    p.a.column = 1;
    // Strides count parts, of which an element has two in each direction.
    p.b.row /= 2;
    p.b.column /= 2;
    p.of_complex = true;
    p.n = plan.parts.n;
    p.k = plan.parts.k;
    p.rows = std::to_string(p.m);
    p.columns = std::to_string(p.n);
    p.steps = std::to_string(p.k);
    const bool contiguous = target.column == 2;
    p.c = contiguous ? View{target.pointer, target.offset, target.row, 1, dtype_}
                     : View{e_.scratch(dtype_, p.m * p.n), "", p.n, 1, dtype_};
    if (!contiguous) p.accumulate = false;
    tiles(p, choose_tiling(e_.facts, plan.parts, size_));
    if (contiguous) return;
    p.c.column = 2;
    copy_pairs(p.c, target, p.m, columns, accumulate);
  }

  void copy_pairs(const View& from, const View& to, int64_t rows, int64_t columns, bool add) {
    for_each(std::to_string(rows), [&](const std::string& i) {
      for_each(std::to_string(columns), [&](const std::string& j) {
        for (const int part : {0, 1}) {
          const View of_from = part_of(from, part), of_to = part_of(to, part);
          const std::string before = add ? concat(element(of_to, i, j), " + ") : "";
          e_.line(element(of_to, i, j), " = ", before, element(of_from, i, j), ";");
        }
      });
    });
  }

  // Each row of b, and below it i times the row.
  void pack_pairs(const View& b, const std::string& to, int64_t width, const std::string& steps, int64_t columns) {
    const View real{b.pointer, b.offset, 2 * b.row, 2 * b.column, dtype_}, imaginary = part_of(real, 1);
    const std::string step = e_.fresh("step"), row = e_.fresh("row");
    e_.open("for (int64_t ", step, " = 0; ", step, " < ", steps, " / 2; ++", step, ")");
    e_.line(type_, "* const ", row, " = ", to, " + ", step, " * ", 2 * width, ";");
    for_each(std::to_string(columns / 2), [&](const std::string& j) {
      e_.line(row, "[2 * ", j, "] = ", element(real, step, j), ";");
      e_.line(row, "[2 * ", j, " + 1] = ", element(imaginary, step, j), ";");
      e_.line(row, "[", width, " + 2 * ", j, "] = -", element(imaginary, step, j), ";");
      e_.line(row, "[", width, " + 2 * ", j, " + 1] = ", element(real, step, j), ";");
    });
    e_.close();
  }

  static View part_of(View v, int part) {
    if (part == 1) v.offset = v.offset.empty() ? "1" : concat(v.offset, " + 1");
    return v;
  }

  Emission& e_;
  const loop::Gemm& gemm_;
  const DType dtype_;  // of the arithmetic
  const int64_t size_;
  const std::string_view type_;
};

}  // namespace

void Emission::product(const loop::Gemm& gemm) {
  open();
  Product(*this, gemm).emit();
  close();
  release_scratch();
}

}  // namespace ct::jit::c
