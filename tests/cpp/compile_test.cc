// Compiled programs against the reference evaluation: each primitive on each dtype it takes, products of every form,
// control flow, memory, and random programs.
#include <algorithm>

#include "ir/primitive.h"
#include "tests/cpp/compile_testing.h"

namespace ct {
namespace {

const DType kAllDTypes[] = {DType::kBool,     DType::kInt8,    DType::kInt16,   DType::kInt32,     DType::kInt64,
                            DType::kUInt8,    DType::kUInt16,  DType::kUInt32,  DType::kUInt64,    DType::kFloat16,
                            DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128};

// ---- one primitive at a time ----------------------------------------------------------------------------------------

TEST(Compile, EveryElementwisePrimitiveOnEveryDType) {
  int checked = 0;
  for (const Primitive* primitive : all_primitives()) {
    if (!primitive->scalar) continue;
    const int arity = scalar_op_info(primitive->scalar_op).arity;
    for (DType dtype : kAllDTypes) {
      const std::vector<Aval> avals(static_cast<size_t>(arity), Aval(dtype, {37}));
      try {
        primitive->type(avals, *Attrs::empty());
      } catch (const Error&) {
        continue;
      }
      SCOPED_TRACE(primitive->name + " " + std::string(dtype_name(dtype)));
      expect_compiles(avals, [&](Builder& b, const Values& x) { return b.bind(*primitive, x); }, 3, 0.1, 3);
      ++checked;
    }
  }
  EXPECT_GT(checked, 150);
}

TEST(Compile, ConversionsBetweenAllDTypes) {
  for (DType from : kAllDTypes) {
    for (DType to : kAllDTypes) {
      SCOPED_TRACE(std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
      expect_compiles({Aval(from, {19})}, [&](Builder&, const Values& x) { return Values{convert(x[0], to)}; });
    }
  }
}

TEST(Compile, ShapeOperations) {
  for (DType dtype : {DType::kFloat32, DType::kComplex64, DType::kInt8, DType::kBFloat16}) {
    const Aval x({dtype, {4, 5, 6}});
    expect_compiles({x}, [](Builder&, const Values& v) { return Values{transpose(v[0], {2, 0, 1})}; });
    expect_compiles({x}, [](Builder&, const Values& v) { return Values{reshape(v[0], {6, 20})}; });
    expect_compiles({x},
                    [](Builder&, const Values& v) { return Values{reshape(transpose(v[0], {1, 0, 2}), {10, 12})}; });
    expect_compiles({x}, [](Builder&, const Values& v) { return Values{reverse(v[0], {0, 2})}; });
    expect_compiles({x},
                    [](Builder&, const Values& v) { return Values{slice(v[0], {1, 0, 2}, {4, 5, 6}, {2, 1, 3})}; });
    expect_compiles({x},
                    [](Builder&, const Values& v) { return Values{concatenate({v[0], v[0], reverse(v[0], {1})}, 1)}; });
    expect_compiles({x}, [](Builder&, const Values& v) { return Values{broadcast(v[0], {4, 3, 5, 6}, {0, 2, 3})}; });
    expect_compiles({x, Aval(dtype, {})}, [](Builder&, const Values& v) {
      return Values{pad(v[0], v[1], {1, -1, 0}, {2, 0, 3}, {0, 1, 2})};
    });
  }
}

TEST(Compile, Reductions) {
  for (DType dtype : kAllDTypes) {
    for (const Primitive* primitive : all_primitives()) {
      if (!primitive->is<structures::Fold>()) continue;
      for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}, Ints{0, 1, 2}, Ints{1, 2}}) {
        for (const Shape& shape : {Shape{3, 5, 7}, Shape{1, 40, 1}, Shape{2, 0, 3}}) {
          const Aval x(dtype, shape);
          const auto attrs = Attrs::make({{"axes", axes}});
          try {
            primitive->type(std::vector<Aval>{x}, *attrs);
          } catch (const Error&) {
            continue;
          }
          SCOPED_TRACE(primitive->name);
          expect_compiles({x}, [&](Builder& b, const Values& v) { return b.bind(*primitive, v, attrs); }, 4, 0.5, 1.5);
        }
      }
    }
  }
}

TEST(Compile, FusedReductions) {
  const Aval x(DType::kFloat32, {9, 33});
  // softmax along either axis, mean and variance, several results of one nest
  for (int64_t axis : {0, 1}) {
    const int64_t kept = 1 - axis;
    expect_compiles({x}, [&](Builder&, const Values& v) {
      const Value largest = broadcast(reduce_max(v[0], {axis}), v[0].shape(), {kept});
      const Value e = exp(v[0] - largest);
      const Value sum = reduce_sum(e, {axis});
      return Values{e / broadcast(sum, v[0].shape(), {kept}), log(sum), e};
    });
    expect_compiles({x}, [&](Builder&, const Values& v) {
      const Value n = full_like(reduce_sum(v[0], {axis}), static_cast<double>(v[0].shape()[axis]));
      const Value mean = reduce_sum(v[0], {axis}) / n;
      const Value square = reduce_sum(v[0] * v[0], {axis}) / n;
      const Value deviation = sqrt(square - mean * mean + full_like(mean, 1e-3));
      return Values{(v[0] - broadcast(mean, v[0].shape(), {kept})) / broadcast(deviation, v[0].shape(), {kept})};
    });
  }
  expect_compiles({x}, [&](Builder&, const Values& v) {
    return Values{reduce_sum(v[0], {0, 1}), reduce_max(tanh(v[0]), {0, 1}), tanh(v[0]), v[0], v[0]};
  });
}

TEST(Compile, Cumulative) {
  for (DType dtype : {DType::kFloat32, DType::kInt32, DType::kComplex128, DType::kFloat16}) {
    for (int axis : {0, 1, 2}) {
      for (bool reverse : {false, true}) {
        expect_compiles({Aval(dtype, {3, 9, 5})},
                        [&](Builder&, const Values& v) { return Values{cumsum(v[0] + v[0], axis, reverse)}; });
      }
    }
  }
}

// ---- products -------------------------------------------------------------------------------------------------------

TEST(Compile, Products) {
  struct Case {
    Shape lhs, rhs;
    DotDimensions dimensions;
  };
  const std::vector<Case> cases = {
      {{5, 7}, {7, 9}, {{1}, {0}, {}, {}}},
      {{7, 5}, {9, 7}, {{0}, {1}, {}, {}}},
      {{7}, {7, 9}, {{0}, {0}, {}, {}}},
      {{5, 7}, {7}, {{1}, {0}, {}, {}}},
      {{7}, {7}, {{0}, {0}, {}, {}}},
      {{7}, {5}, {{}, {}, {}, {}}},
      {{3, 5, 7}, {3, 7, 4}, {{2}, {1}, {0}, {0}}},
      {{5, 3, 7}, {7, 4, 3}, {{2}, {0}, {1}, {2}}},
      {{3, 7}, {3, 7}, {{1}, {1}, {0}, {0}}},
      {{3, 7}, {3, 5}, {{}, {}, {0}, {0}}},
      {{2, 3, 4, 5}, {4, 3, 6}, {{1, 2}, {1, 0}, {}, {}}},
      {{2, 3, 4, 5}, {5, 2, 3, 3}, {{0, 3}, {1, 0}, {1}, {2}}},
      {{40, 50}, {50, 60}, {{1}, {0}, {}, {}}},
      {{5, 0}, {0, 9}, {{1}, {0}, {}, {}}},
      {{0, 3}, {3, 9}, {{1}, {0}, {}, {}}},
      {{1, 1}, {1, 4}, {{1}, {0}, {}, {}}},
      {{1, 1}, {1, 1}, {{1}, {0}, {}, {}}},
  };
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt32,
                      DType::kComplex64, DType::kUInt8}) {
    for (const Case& c : cases) {
      const std::vector<Aval> avals{Aval(dtype, c.lhs), Aval(dtype, c.rhs)};
      expect_compiles(avals, [&](Builder&, const Values& v) { return Values{dot_general(v[0], v[1], c.dimensions)}; });
      // Operands that are computed, and views of others.
      expect_compiles(avals, [&](Builder&, const Values& v) {
        Ints axes;
        for (int axis = 0; axis < v[1].rank(); ++axis) axes.push_back(axis);
        return Values{dot_general(v[0] + v[0], reverse(v[1], axes), c.dimensions)};
      });
    }
  }
}

TEST(Compile, ProductsReadViews) {
  const Aval x(DType::kFloat32, {6, 8}), y(DType::kFloat32, {3, 8, 4});
  expect_compiles({x, y}, [](Builder&, const Values& v) {
    const Value flat = reshape(transpose(v[1], {1, 0, 2}), {8, 12});
    return Values{dot_general(transpose(v[0], {1, 0}), slice(flat, {1, 0}, {7, 12}, {1, 2}), {{1}, {0}, {}, {}})};
  });
  expect_compiles({x, y}, [](Builder&, const Values& v) {
    return Values{dot_general(broadcast(v[0], {3, 6, 8}, {1, 2}), v[1], {{2}, {1}, {0}, {0}})};
  });
}

TEST(Compile, GatherAndScatter) {
  for (DType dtype : {DType::kFloat32, DType::kInt64, DType::kComplex64, DType::kFloat16}) {
    for (DType index : {DType::kInt32, DType::kUInt8, DType::kInt64}) {
      const Aval x(dtype, {5, 6, 7});
      expect_compiles({x, Aval(index, {3, 4})},
                      [](Builder&, const Values& v) { return Values{gather(v[0], v[1], 1, 0)}; });
      expect_compiles({x, Aval(index, {5, 4})},
                      [](Builder&, const Values& v) { return Values{gather(v[0], v[1], 1, 1)}; });
      expect_compiles({x, Aval(index, {5, 4})},
                      [](Builder&, const Values& v) { return Values{gather(v[0], v[1], 2, 1)}; });
      expect_compiles({x, Aval(index, {})}, [](Builder&, const Values& v) { return Values{gather(v[0], v[1], 0, 0)}; });
      expect_compiles({x, Aval(index, {9}), Aval(dtype, {5, 9, 7})},
                      [](Builder&, const Values& v) { return Values{scatter_add(v[0], v[1], v[2] + v[2], 1, 0)}; });
      expect_compiles(
          {x, Aval(index, {5, 9}), Aval(dtype, {5, 6, 9})},
          [](Builder&, const Values& v) { return Values{scatter_add(zeros_like(v[0]), v[1], v[2], 2, 1)}; }, 7);
      expect_compiles({x, Aval(index, {}), Aval(dtype, {6, 7})},
                      [](Builder&, const Values& v) { return Values{scatter_add(v[0] * v[0], v[1], v[2], 0, 0)}; });
    }
  }
}

TEST(Compile, RandomWords) {
  const Aval words(DType::kUInt32, {11});
  expect_compiles({words, words, words, words},
                  [](Builder&, const Values& v) { return threefry2x32(v[0], v[1], v[2], v[3]); });
}

TEST(Compile, EmptyAndScalarPrograms) {
  expect_compiles({Aval(DType::kFloat32, {})}, [](Builder&, const Values& v) { return Values{v[0] + v[0], v[0]}; });
  expect_compiles({Aval(DType::kFloat32, {0, 3})}, [](Builder&, const Values& v) {
    return Values{exp(v[0]), reduce_sum(v[0], {0}), reshape(v[0], {3, 0})};
  });
  expect_compiles({}, [](Builder& b, const Values&) {
    return Values{iota(b, Aval(DType::kInt32, {3, 4}), 1), zeros(b, Aval(DType::kComplex64, {2}))};
  });
  expect_compiles({Aval(DType::kFloat32, {1, 1})}, [](Builder&, const Values& v) {
    const Value s = reshape(exp(v[0]), {});
    return Values{broadcast_scalar(s * s, {2, 2}), reshape(s, {1, 1, 1})};
  });
}

// ---- random programs ------------------------------------------------------------------------------------------------

// A program of mild operations on arrays of a few related shapes, with reuse, so that fusion has decisions to make.
class RandomProgram {
 public:
  RandomProgram(Builder& builder, Values values, std::mt19937& generator)
      : b_(builder), values_(std::move(values)), generator_(generator) {}

  Values run(int steps) {
    for (int i = 0; i < steps; ++i) values_.push_back(step());
    Values outputs;
    for (int i = 0; i < 3; ++i) outputs.push_back(pick());
    outputs.push_back(values_.back());
    return outputs;
  }

 private:
  int random(int n) { return static_cast<int>(generator_() % static_cast<unsigned>(n)); }
  Value pick() {
    return values_[random(3) == 0 ? random(static_cast<int>(values_.size()))
                                  : std::max(0, static_cast<int>(values_.size()) - 1 - random(6))];
  }
  // A value of the shape: one there is, or one made to fit.
  Value of_shape(const Shape& shape) {
    for (int i = 0; i < 8; ++i) {
      const Value x = pick();
      if (x.shape() == shape) return x;
    }
    const Value x = pick();
    const Ints target(shape.begin(), shape.end());
    if (x.aval().size() == num_elements(shape)) return reshape(x, target);
    Ints all;
    for (int axis = 0; axis < x.rank(); ++axis) all.push_back(axis);
    return broadcast_scalar(tanh(reduce_sum(x, all)), target);
  }
  Value mild(Value x) { return random(2) == 0 ? sin(x) : tanh(x); }

  Value step() {
    const Value x = pick();
    const Shape& shape = x.shape();
    const Ints ints(shape.begin(), shape.end());
    const int rank = x.rank();
    const int axis = rank == 0 ? 0 : random(rank);
    switch (random(16)) {
      case 0:
        return x + of_shape(shape);
      case 1:
        return x * mild(of_shape(shape));
      case 2:
        return mild(x);
      case 3:
        return select(lt(x, of_shape(shape)), x, of_shape(shape));
      case 4:
        return max(x, of_shape(shape));
      case 5: {
        if (rank == 0) return mild(x);
        Ints permutation(rank);
        for (int i = 0; i < rank; ++i) permutation[i] = i;
        std::shuffle(permutation.begin(), permutation.end(), generator_);
        return transpose(x, permutation);
      }
      case 6:
        return rank == 0 ? x - mild(x) : mild(reduce_sum(x, {axis}));
      case 7: {
        if (rank == 0) return x;
        Ints axes;
        for (int i = 0; i < rank; ++i) {
          if (random(2) == 0) axes.push_back(i);
        }
        return axes.empty() ? x : reduce_max(x, axes);
      }
      case 8: {
        if (rank >= 3) return x + x;
        Ints target = ints, axes;
        const int at = random(rank + 1);
        target.insert(target.begin() + at, 1 + random(4));
        for (int i = 0; i <= rank; ++i) {
          if (i != at) axes.push_back(i);
        }
        return broadcast(x, target, axes);
      }
      case 9:
        return rank == 0 || shape[axis] < 2 ? mild(x) : slice_axis(x, axis, 1, shape[axis]);
      case 10:
        return rank == 0 || shape[axis] > 12 ? mild(x) : concatenate({x, of_shape(shape)}, axis);
      case 11:
        return rank == 0 ? x : reverse(x, {axis});
      case 12:
        return rank == 0 ? x : mild(cumsum(x, axis, random(2) == 0));
      case 13: {
        if (rank == 0) return x;
        Ints low(rank, 0), high(rank, 0), interior(rank, 0);
        low[axis] = random(3) - 1;
        high[axis] = random(2);
        if (shape[axis] + low[axis] + high[axis] < 1 || shape[axis] > 12) return mild(x);
        return pad(x, full(b_, Aval(x.dtype(), {}), 0.5), low, high, interior);
      }
      case 14: {
        const Value y = pick();
        for (int i = 0; i < rank; ++i) {
          for (int j = 0; j < y.rank(); ++j) {
            if (shape[i] == y.shape()[j] && rank + y.rank() <= 5) {
              return mild(dot_general(x, y, {{i}, {j}, {}, {}}));
            }
          }
        }
        return mild(x);
      }
      default: {
        if (x.aval().size() % 2 != 0) return reshape(x, {x.aval().size()});
        return reshape(x, {2, x.aval().size() / 2});
      }
    }
  }

  Builder& b_;
  Values values_;
  std::mt19937& generator_;
};

TEST(Compile, RandomPrograms) {
  const char* count_text = std::getenv("CT_RANDOM_PROGRAMS");
  const char* seed_text = std::getenv("CT_RANDOM_SEED");
  const int count = count_text != nullptr ? std::atoi(count_text) : 150;
  const uint32_t first = seed_text != nullptr ? static_cast<uint32_t>(std::atoi(seed_text)) : 1;
  for (uint32_t seed = first; seed < first + static_cast<uint32_t>(count); ++seed) {
    SCOPED_TRACE("CT_RANDOM_SEED=" + std::to_string(seed));
    std::mt19937 generator(seed);
    const DType dtype = seed % 3 == 0 ? DType::kFloat32 : DType::kFloat64;
    const std::vector<Aval> avals{Aval(dtype, {4, 6}), Aval(dtype, {6}), Aval(dtype, {}), Aval(dtype, {3, 4, 2})};
    std::vector<Tensor> inputs;
    for (const Aval& aval : avals) inputs.push_back(random_tensor(aval, generator));
    const GraphPtr graph = build_graph(avals, [&](Builder& b, const Values& v) {
      return RandomProgram(b, v, generator).run(5 + static_cast<int>(seed % 40));
    });
    if (graph->output_avals().back().size() > 100000) continue;
    expect_compiles(graph, inputs, 100);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace ct
