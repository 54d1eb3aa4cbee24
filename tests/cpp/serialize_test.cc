// The text form and the saved form: what was written reads back exactly, and damaged or hostile input gives an Error,
// never a crash.
#include "ir/serialize.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "ir/check.h"
#include "ir/ops.h"
#include "ir/parse.h"
#include "ir/primitive.h"
#include "ir/print.h"
#include "runtime/error.h"
#include "runtime/hash.h"

namespace ct {
namespace {

using Json = nlohmann::json;

// Takes any operands and attributes; as many results of its operands' types as `results` says, which it may lack.
const Primitive& kHolder = define_by_user({
    .name = "test_holder",
    .type =
        [](absl::Span<const Aval> operands, const Attrs& attrs) {
          const int64_t count = attrs.has("results") ? attrs.integer("results") : 1;
          if (count < 0 || count > 4) throw Error(ErrorKind::kValue, "too many results");
          return Avals(static_cast<size_t>(count), operands.empty() ? Aval(DType::kFloat32, {}) : operands[0]);
        },
    .jvp = {},
    .transpose = {},
    .batch = {},
    .mask = {},
    .element = {},
    .reference = {},
    .expand = {},
    .split = {},
    .has_side_effects = true,
});

class Callback : public Opaque {
 public:
  std::string to_string() const override { return "callback"; }
};

Aval f32(std::vector<int64_t> shape) { return Aval(DType::kFloat32, shape); }

GraphPtr inner_graph() {
  return build_graph({f32({2}), f32({2})}, [](Builder&, const Values& x) { return Values{x[0] * exp(x[1]), x[0]}; });
}

// Every kind of attribute, every shape of operand and result lists, weak types, names, sub-graphs twice.
GraphPtr everything() {
  Builder b;
  const Value x = b.input(f32({2, 3}), "x");
  const Value odd = b.input(Aval(DType::kInt32, {4}), "not an identifier");
  const Value weak = b.input(Aval(DType::kFloat32, {}, true), "scale");
  const Value empty = b.input(Aval(DType::kComplex64, {0, 5}), "");
  LocationScope location(intern_location(SourceLocation{"train.py", 12, "loss"}));
  const Value y = reshape(transpose(x, {1, 0}), {2, 3}) * broadcast_scalar(weak, {2, 3});
  const Value z = concatenate({y, slice_axis(x, 0, 0, 1)}, 0);
  const Value g = gather(z, convert(odd, DType::kInt64), 0, 0);
  const Value s = scatter_add(z, odd, g, 0, 0);
  const Value p = pad(s, full(b, f32({}), -0.0), {1, -1}, {0, 2}, {0, 1});
  const Value c = full_complex(b, Aval(DType::kComplex64, {0, 5}), 1.5, -std::numeric_limits<double>::infinity());
  const Value d = dot_general(y, x, {.lhs_contract = {1}, .rhs_contract = {1}, .lhs_batch = {}, .rhs_batch = {}});
  const Value r = fill_padding(cumsum(reduce_max(d, {0}), 0, true), {0}, 2.5);
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const GraphPtr inner = inner_graph();
  const GraphPtr outer = build_graph({f32({2})}, [&](Builder& o, const Values& v) {
    return o.bind(kHolder, v,
                  Attrs::make({{"graph", inner}, {"branches", std::vector<GraphPtr>{inner, inner_graph()}}}));
  });
  const Values held = b.bind(kHolder, {p, y},
                             Attrs::make({{"results", int64_t{2}},
                                          {"yes", true},
                                          {"no", false},
                                          {"least", std::numeric_limits<int64_t>::min()},
                                          {"tenth", 0.1},
                                          {"tiny", 5e-324},
                                          {"huge", 1.7976931348623157e308},
                                          {"three", 3.0},
                                          {"nan", kNan},
                                          {"inf", -std::numeric_limits<double>::infinity()},
                                          {"text", std::string("a \"b\" \\ c\n#d\te\xff")},
                                          {"void", std::string()},
                                          {"dtype", DType::kFloat8E4M3FN},
                                          {"ints", Ints{-1, 0, std::numeric_limits<int64_t>::max()}},
                                          {"no_ints", Ints{}},
                                          {"reals", std::vector<double>{0.5, kNan, -0.0, 1e300}},
                                          {"no_reals", std::vector<double>{}},
                                          {"graph", outer},
                                          {"again", inner},
                                          {"branches", std::vector<GraphPtr>{inner, outer}},
                                          {"no_graphs", std::vector<GraphPtr>{}}}));
  b.bind(kHolder, {}, Attrs::make({{"results", int64_t{0}}}));
  const Value dead = iota(b, Aval(DType::kUInt8, {3}), 0);
  static_cast<void>(dead);
  return b.finish({held[1], c, held[0], held[1], x, empty, r, reverse(y, {1}), set_length(y, dimension_size(x, 0), 0)},
                  Builder::Keep::kAll);
}

void expect_same(const Graph& a, const Graph& b) {
  EXPECT_EQ(print(a), print(b));
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_TRUE(same_graph(a, b));
  EXPECT_EQ(check(b), "");
}

// ---- Text ---------------------------------------------------------------------------------------------------------

TEST(Text, RoundTripOfEverything) {
  const GraphPtr graph = everything();
  const GraphPtr again = parse(print(*graph));
  expect_same(*graph, *again);
}

TEST(Text, AnnotatedTextReadsBackToo) {
  const GraphPtr graph = everything();
  expect_same(*graph, *parse(print_annotated(*graph)));
}

TEST(Text, EmptyAndManyVariables) {
  const GraphPtr empty = build_graph({}, [](Builder&, const Values&) { return Values{}; });
  EXPECT_EQ(print(*empty), "graph () {\n} -> ()\n");
  expect_same(*empty, *parse(print(*empty)));
  const GraphPtr many = build_graph({f32({})}, [](Builder&, const Values& x) {
    Value y = x[0];
    for (int i = 0; i < 2000; ++i) y = i % 2 ? y * x[0] : exp(y);
    return Values{y};
  });
  expect_same(*many, *parse(print(*many)));
}

TEST(Text, LayoutIsFreeAndTypesOfResultsMayBeLeftOut) {
  const GraphPtr graph = parse("graph(x:float32[2]){a=exp x b: float32[2] = mul a x # the product\n} -> (b, a)");
  EXPECT_EQ(print(*graph),
            "graph (x: float32[2]) {\n  a: float32[2] = exp x\n  b: float32[2] = mul a x\n} -> (b, a)\n");
}

TEST(Text, EquationsKeepTheirLine) {
  const GraphPtr graph = parse("graph (x: float32[]) {\n  a = exp x\n\n  b = mul a x\n} -> (b)", "program.ir");
  EXPECT_EQ(location_string(graph->equations()[1].location), "program.ir:4");
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Text, ErrorsSayWhere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"grph () {} -> ()", "<text>:1:1: expected 'graph', found 'grph'"},
      {"graph (x float32[]) {} -> ()", "<text>:1:10: expected ':' after the name of an input, found 'float32'"},
      {"graph (x: float33[]) {} -> ()", "<text>:1:11: there is no dtype 'float33'"},
      {"graph (x: float32[-1]) {} -> ()", "<text>:1:11: shape (-1,) has a negative dimension"},
      {"graph (x: float32[1.5]) {} -> ()", "<text>:1:19: expected an integer, found '1.5'"},
      {"graph (x: float32[], x: float32[]) {} -> ()", "<text>:1:22: 'x' is defined twice"},
      {"graph () {\n  a = exp y\n} -> ()", "<text>:2:11: there is no variable 'y' here"},
      {"graph () {\n} -> (q)", "<text>:2:7: there is no variable 'q' here"},
      {"graph (x: float32[]) {\n  a = expp x\n} -> (a)", "<text>:2:7: there is no primitive named 'expp'"},
      {"graph (x: float32[]) {\n  a = expp x\n} -> (a)", "did you mean 'exp'?"},
      {"graph (x: float32[]) {\n  a: int32[] = exp x\n} -> (a)",
       "<text>:2:3: 'a' is declared as int32[], but exp gives float32[]"},
      {"graph (x: float32[]) {\n  a, b = exp x\n} -> (a)", "<text>:2:3: 'exp' gives 1 results, 2 are named"},
      {"graph (x: float32[]) {\n  a = exp x {",
       "<text>:2:14: expected the name of an attribute, found the end of the text"},
      {"graph (x: float32[]) {\n  a = exp x {k=1, k=2}", "<text>:2:19: attribute 'k' is given twice"},
      {"graph (x: float32[]) {\n  a = exp x {k=[1, 2.5]}", "<text>:2:20: expected an integer, found '2.5'"},
      {"graph (x: float32[]) {\n  a = exp x {k=opaque(f)}", "an opaque value"},
      {"graph (x: float32[]) {\n  a = exp x {k=\"abc}", "<text>:2:16: this text has no closing quote"},
      {"graph (x: float32[]) {\n  a = exp x {k=99999999999999999999}", "<text>:2:16: expected an integer"},
      {"graph (x: float32[2]) {\n  a = reverse x\n} -> (a)", "<text>:2:7: reverse: attribute 'axes' is missing"},
      {"graph (x: float32[2]) {\n  a = reverse x {axes=[3]}\n} -> (a)", "axis 3 is out of range"},
      {"graph () {} -> () graph", "<text>:1:19: unexpected 'graph' after the graph"},
      {"", "<text>:1:1: expected 'graph', found the end of the text"},
  };
  for (const auto& [text, message] : cases) {
    const std::string error = error_of([&, &text = text] { parse(text); });
    EXPECT_NE(error.find(message), std::string::npos) << text << "\nexpected: " << message << "\ngot: " << error;
  }
}

TEST(Text, NestingHasALimit) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "graph () { a = test_holder {g=";
  EXPECT_NE(error_of([&] { parse(text); }).find("graphs nest deeper than 64"), std::string::npos);
}

TEST(Text, DamageGivesErrors) {
  const std::string text = print(*everything());
  std::mt19937 random(7);
  for (int trial = 0; trial < 3000; ++trial) {
    std::string damaged = text;
    switch (trial % 3) {
      case 0:
        damaged.resize(random() % text.size());
        break;
      case 1:
        damaged[random() % text.size()] = static_cast<char>(random());
        break;
      default: {
        const size_t at = random() % text.size();
        damaged.erase(at, 1 + random() % 5);
        break;
      }
    }
    try {
      EXPECT_EQ(check(*parse(damaged)), "");
    } catch (const Error&) {
    }
  }
}

// ---- Saved form ---------------------------------------------------------------------------------------------------

TEST(Saved, RoundTripOfEverything) {
  const GraphPtr graph = everything();
  const GraphPtr again = deserialize(serialize(*graph));
  expect_same(*graph, *again);
  EXPECT_EQ(graph->input_names(), again->input_names());
  EXPECT_EQ(location_string(again->equations()[0].location), "train.py:12 (loss)");
  EXPECT_EQ(serialize(*graph), serialize(*again));
}

TEST(Saved, WithoutLocations) {
  const std::string bytes = serialize(*everything(), {.locations = false});
  EXPECT_EQ(bytes.find("train.py"), std::string::npos);
  EXPECT_EQ(deserialize(bytes)->equations()[0].location, kNoLocation);
}

constexpr size_t kHeader = 28;

Json document_of(const std::string& bytes) {
  return Json::from_cbor(bytes.begin() + static_cast<int64_t>(kHeader), bytes.end());
}

// A file with the right header for any payload.
std::string file_of(const std::string& payload) {
  std::string bytes = "CTGRAPH\n";
  const auto append = [&](uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  };
  append(kFormatVersion, 4);
  append(payload.size(), 8);
  append(hash_bytes(payload), 8);
  return bytes + payload;
}

std::string file_of_document(const Json& document) {
  const std::vector<uint8_t> payload = Json::to_cbor(document);
  return file_of(std::string(payload.begin(), payload.end()));
}

TEST(Saved, EqualSubGraphsAreSavedOnce) {
  // inner, outer and the whole: `everything` uses two copies of inner.
  EXPECT_EQ(document_of(serialize(*everything()))["graphs"].size(), 3u);
}

TEST(Saved, OpaqueValuesCannotBeSaved) {
  const OpaquePtr callback = std::make_shared<Callback>();
  const GraphPtr graph = build_graph({f32({})}, [&](Builder& b, const Values& x) {
    return b.bind(kHolder, x, Attrs::make({{"function", callback}}));
  });
  EXPECT_NE(error_of([&] { serialize(*graph); }).find("attribute 'function' holds callback"), std::string::npos);
}

void expect_corrupt(const std::string& bytes, const std::string& message) {
  try {
    deserialize(bytes);
    ADD_FAILURE() << "no error: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCorruptFile);
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(Saved, HeaderErrors) {
  const std::string bytes = serialize(*inner_graph());
  expect_corrupt("", "the header is missing");
  expect_corrupt("not a graph at all, but long enough to be one", "the header is missing");
  expect_corrupt(bytes + "x", "the checksum does not match");
  expect_corrupt(bytes.substr(0, bytes.size() - 1), "truncated, or has a tail");
  std::string newer = bytes;
  newer[8] = 9;
  expect_corrupt(newer, "saved in format version 9, this library reads versions up to 2");
  std::string flipped = bytes;
  flipped.back() ^= 1;
  expect_corrupt(flipped, "the checksum does not match");
}

// A file with a document and what follows it.
std::string file_of_parts(const std::string& document, const std::string& values) {
  std::string bytes = file_of(document + values);
  for (int i = 0; i < 8; ++i) bytes[12 + static_cast<size_t>(i)] = static_cast<char>(document.size() >> (8 * i) & 0xff);
  return bytes;
}

TEST(Saved, ConstantsAreInTheFile) {
  const GraphPtr graph = build_graph({f32({2}), f32({2}), Aval(DType::kBool, {3})},
                                     [](Builder&, const Values& x) { return Values{add(x[0], x[1]), x[2]}; });
  Tensor numbers(f32({2})), flags(Aval(DType::kBool, {3}));
  std::memcpy(numbers.data(), std::vector<float>{1.5f, -2.0f}.data(), 8);
  std::memcpy(flags.data(), "\1\0\1", 3);
  const std::string bytes = serialize(*graph, {}, {numbers, flags});
  const SavedProgram program = deserialize_program(bytes);
  expect_same(*graph, *program.graph);
  ASSERT_EQ(program.constants.size(), 2u);
  EXPECT_EQ(program.constants[0].as<float>()[1], -2.0f);
  EXPECT_EQ(std::memcmp(program.constants[1].data(), "\1\0\1", 3), 0);
  EXPECT_TRUE(deserialize_program(serialize(*graph)).constants.empty());

  const std::string whole = bytes.substr(kHeader), document = whole.substr(0, whole.size() - 11);
  const std::string values = whole.substr(document.size());
  ASSERT_EQ(deserialize_program(file_of_parts(document, values)).constants.size(), 2u);
  expect_corrupt(file_of_parts(document, values.substr(1)), "truncated, or has a tail");
  expect_corrupt(file_of_parts(document, values + "x"), "truncated, or has a tail");
  expect_corrupt(file_of_parts(document, values.substr(0, 10) + "\2"), "neither 0 nor 1");
  expect_corrupt(file_of(whole), "malformed");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(deserialize_program(std::string_view(bytes).substr(0, size)), Error);
  }
  Json lie = Json::from_cbor(document.begin(), document.end());
  lie["constants"] = 4;
  const std::vector<uint8_t> cbor = Json::to_cbor(lie);
  expect_corrupt(file_of_parts(std::string(cbor.begin(), cbor.end()), values), "constants 4 is out of range");
}

TEST(Saved, EachLieIsFound) {
  const Json good = document_of(serialize(*inner_graph()));
  ASSERT_TRUE(deserialize(file_of_document(good)));
  const auto lie = [&](const std::string& message, const std::function<void(Json&)>& change) {
    Json document = good;
    change(document);
    expect_corrupt(file_of_document(document), message);
  };
  lie("'graphs' is missing", [](Json& d) { d.erase("graphs"); });
  lie("there is no graph", [](Json& d) { d["graphs"] = Json::array(); });
  lie("'avals' must be a list", [](Json& d) { d["avals"] = 3; });
  lie("there is no primitive named 'expp'", [](Json& d) { d["primitives"][0] = "expp"; });
  lie("there is no dtype 'float31'", [](Json& d) { d["avals"][0][0] = "float31"; });
  lie("shape (-2,) has a negative dimension", [](Json& d) { d["avals"][0][2] = -2; });
  lie("too large", [](Json& d) { d["avals"][0][2] = INT64_MAX; });
  lie("too large", [](Json& d) { d["avals"][0][2] = UINT64_MAX; });
  lie("operand variable 2 is out of range", [](Json& d) { d["graphs"][0]["equations"][0][2][0] = 2; });
  lie("operand variable -1 is out of range", [](Json& d) { d["graphs"][0]["equations"][0][2][0] = -1; });
  lie("operand variable must be an integer", [](Json& d) { d["graphs"][0]["equations"][0][2][0] = 0.0; });
  lie("takes 1 operand, got 2", [](Json& d) { d["graphs"][0]["equations"][0][2] = {0, 1}; });
  lie("primitive 7 is out of range", [](Json& d) { d["graphs"][0]["equations"][0][0] = 7; });
  lie("an equation is incomplete", [](Json& d) { d["graphs"][0]["equations"][0].erase(4); });
  lie("'exp' gives 1 results, 0 are recorded", [](Json& d) { d["graphs"][0]["equations"][0][3] = Json::array(); });
  lie("is recorded as float32[9], not float32[2]", [](Json& d) {
    d["avals"].push_back({"float32", false, 9});
    d["graphs"][0]["equations"][0][3][0] = 1;
  });
  lie("output variable 99 is out of range", [](Json& d) { d["graphs"][0]["outputs"][0] = 99; });
  lie("graph 0 is out of range", [](Json& d) { d["graphs"][0]["equations"][0][4] = {{"g", "g", 0}}; });
  lie("there are no attributes of kind 'z'", [](Json& d) { d["graphs"][0]["equations"][0][4] = {{"g", "z", 0}}; });
  lie("attribute 'g' is given twice",
      [](Json& d) { d["graphs"][0]["equations"][0][4] = {{"g", "i", 0}, {"g", "i", 0}}; });
}

TEST(Saved, HostileStructures) {
  expect_corrupt(file_of(std::string(1 << 20, '\x81')), "nests too deep");
  expect_corrupt(file_of("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"), "malformed");  // a list of 2**63 - 1 items
  expect_corrupt(file_of("\x5b\x7f\xff\xff\xff\xff\xff\xff\xff"), "malformed");  // so many bytes
  expect_corrupt(file_of(std::string()), "malformed");
  // Each graph holds the one before twice: 2**62 equations when written out.
  Json document = document_of(serialize(*build_graph({f32({})}, [](Builder& b, const Values& x) {
    return b.bind(kHolder, x, Attrs::make({{"graph", inner_graph()}}));
  })));
  Json& graphs = document["graphs"];
  Json wide = graphs[1];
  for (int i = 1; i < 62; ++i) {
    wide["equations"][0][4] = {{"a", "g", i}, {"b", "g", i}};
    graphs.push_back(wide);
  }
  expect_corrupt(file_of_document(document), "too many equations");
  graphs.erase(graphs.begin() + 2, graphs.end());
  for (int i = 1; i < 80; ++i) {
    wide["equations"][0][4] = {{"a", "g", i}};
    graphs.push_back(wide);
  }
  expect_corrupt(file_of_document(document), "graphs nest deeper than 64");
}

// Truncated, flipped and spliced payloads whose checksum is right: they load as something legal, or say what is wrong.
TEST(Saved, DamageGivesErrors) {
  const std::string bytes = serialize(*everything());
  const std::string payload = bytes.substr(kHeader);
  int loaded = 0;
  const auto attempt = [&](const std::string& damaged) {
    try {
      EXPECT_EQ(check(*deserialize(file_of(damaged))), "");
      ++loaded;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCorruptFile) << error.what();
    }
  };
  for (size_t size = 0; size < payload.size(); size += 3) attempt(payload.substr(0, size));
  for (size_t at = 0; at < payload.size(); ++at) {
    for (int bit = 0; bit < 8; bit += 2) {
      std::string damaged = payload;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      attempt(damaged);
    }
  }
  std::mt19937 random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    std::string damaged = payload;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    attempt(damaged);
  }
  EXPECT_GT(loaded, 0);  // a changed name or constant is still legal
}

}  // namespace
}  // namespace ct
