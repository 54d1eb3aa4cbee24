// Whole messages of errors that C++ programs meet and Python programs do not: of rules written in C++, and of arguments
// that the Python package checks before it calls.
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "interpreter/evaluate.h"
#include "ir/lengths.h"
#include "ir/masking.h"
#include "ir/ops.h"
#include "jit/compile.h"
#include "jit/export/saved_file.h"
#include "runtime/sort_order.h"
#include "runtime/status.h"
#include "tests/cpp/error_sites.h"
#include "tests/cpp/graph_testing.h"
#include "transforms/transforms.h"

namespace ct {
namespace {

const Aval kVector(DType::kFloat32, {3});

// x -> what has its type, with more rules or without.
const Primitive& like(const std::string& name, const std::function<void(Primitive&)>& add = [](Primitive&) {}) {
  Primitive primitive;
  primitive.name = name;
  primitive.type = [](absl::Span<const Aval> operands, const Attrs&) { return Avals{operands[0]}; };
  add(primitive);
  return define(std::move(primitive));
}

GraphPtr graph_of(const Primitive& primitive, const Aval& aval = kVector) {
  return build_graph({aval}, [&](Builder& builder, const Values& inputs) {
    LocationScope scope(intern_location({"train.py", 12, "loss"}));
    return builder.bind(primitive, inputs);
  });
}

std::string message_in(const absl::Status& status) {
  const std::string message(status.message());
  if (const auto site = site_of(status)) note_site(site->first, site->second, message);
  return message;
}

TEST(Errors, TwoPrimitivesOfOneName) {
  like("test_one_name");
  EXPECT_EQ(message_of([] { like("test_one_name"); }),
            "a primitive named 'test_one_name' exists already\n"
            "  choose another name");
}

TEST(Errors, AnAttributeThatIsNotThere) {
  EXPECT_EQ(message_of([] { Attrs::empty()->integer("axis"); }),
            "attribute 'axis' is missing or has another type\n"
            "  give the equation every attribute of its primitive's record, each of the type that stands there");
}

TEST(Errors, AConstantWithoutAValue) {
  Builder builder;
  const AttrsPtr attrs = Attrs::make({{"dtype", DType::kFloat32}, {"shape", Ints{3}}, {"weak", false}});
  EXPECT_EQ(message_of([&] { builder.bind(get_primitive("full"), {}, attrs); }),
            "full: attribute 'value' is missing\n"
            "  write it between the braces: {value=...}");
}

TEST(Errors, APrimitiveThatNobodyCanCompute) {
  const Primitive& primitive = like("test_without_rules");
  EXPECT_EQ(message_of([&] { evaluate_primitive(primitive, {Tensor(kVector)}, Attrs::empty()); }),
            "test_without_rules: this primitive has no evaluation: no reference, element, loops or expand rule\n"
            "  define one of these rules on the primitive");
  EXPECT_EQ(message_in(compile(graph_of(primitive), {.use_disk_cache = false}).status()),
            "test_without_rules: the compiler has no way to compute this primitive\n"
            "  at train.py:12 (loss)\n"
            "  give it an element, loops or expand rule, or use backend=\"interpreter\"");
}

TEST(Errors, AnOperationThatComplexNumbersDoNotHave) {
  const Primitive& primitive = like("test_floor", [](Primitive& made) {
    made.element = [](ElementBuilder& element, const Attrs&, const Aval&, int, absl::Span<const Index> position) {
      return element.unary(ScalarOp::kFloor, element.read(0, position));
    };
  });
  EXPECT_EQ(message_in(compile(graph_of(primitive, Aval(DType::kComplex64, {3})), {.use_disk_cache = false}).status()),
            "floor is not defined for complex numbers\n"
            "  take the real and imaginary parts apart");
}

TEST(Errors, AJvpRuleWithTooFewTangents) {
  const Primitive& primitive = like("test_few_tangents", [](Primitive& made) {
    made.jvp = [](Builder&, absl::Span<const Value> primals, absl::Span<const Value>, const AttrsPtr&) {
      return JvpResult{{primals[0]}, {}};
    };
  });
  EXPECT_EQ(message_of([&] { jvp(*graph_of(primitive), {true}); }),
            "test_few_tangents: the jvp rule returned 1 outputs and 0 tangents\n"
            "  at train.py:12 (loss)\n"
            "  return one tangent for each output");
}

TEST(Errors, AMaskRuleWithoutLengths) {
  const Primitive& primitive = like("test_no_lengths", [](Primitive& made) {
    made.mask = [](Builder&, absl::Span<const Masked> operands, const AttrsPtr&) {
      return std::vector<Masked>{{operands[0].value, {}}};
    };
  });
  Builder builder;
  const Value x = builder.input(kVector), length = builder.input(Aval(DType::kInt32, {}));
  EXPECT_EQ(message_of([&] { mask_inline(builder, *graph_of(primitive), {{Masked{x, {length}}}}); }),
            "test_no_lengths: the mask rule returned float32[3] with 0 lengths for an output of type float32[3]\n"
            "  at train.py:12 (loss)\n"
            "  a mask rule keeps the padded shapes and gives one length (or none) for each axis");
}

TEST(Errors, ALengthThatInt32CannotHold) {
  Builder builder;
  EXPECT_EQ(message_of([&] { constant_length(builder, int64_t{1} << 33); }),
            "a ragged axis of up to 8589934592 elements is too long\n"
            "  lengths are int32: keep ragged axes below 2**31 elements");
}

TEST(Errors, AnAxisTooLongToSort) {
  EXPECT_EQ(message_of([] { LineSorter(int64_t{1} << 33, 1, false); }),
            "cannot sort an axis of 8589934592 elements\n"
            "  axes below 2**32 elements can be sorted");
}

TEST(Errors, AnInputWithoutAValue) {
  Builder builder;
  const Value x = builder.input(kVector, "x");
  const GraphPtr graph = builder.finish({neg(x)});
  EXPECT_EQ(message_of([&] { evaluate(*graph, {Tensor()}); }),
            "input 0 ('x') of the graph has no value\n"
            "  give a tensor for each input");
}

TEST(Errors, ArgumentsOfCompiledCode) {
  const LoadedPtr loaded = *compile(graph_of(get_primitive("neg")), {.use_disk_cache = false});
  EXPECT_EQ(message_of([&] { (*loaded)({}); }),
            "compiled for 1 arguments, called with 0\n"
            "  pass an array for each input of the graph");
  EXPECT_EQ(message_of([&] { (*loaded)({Tensor(Aval(DType::kInt32, {3}))}); }),
            "argument 0 was compiled for float32[3], called with int32[3]\n"
            "  compile the graph for other types, too");
}

TEST(Errors, SavedFilesThatCannotBeRead) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "errors_test";
  std::filesystem::create_directories(folder);
  const std::string absent = folder / "absent.ctir", file = folder / "file.ctir";
  EXPECT_EQ(message_of([&] { SavedFile::open(absent); }),
            "cannot read " + absent + ": No such file or directory\n" + "  check the path and its permissions");
  EXPECT_EQ(message_of([&] { SavedFile::open(folder); }),
            folder.string() + " is not a file\n" + "  name a file that was saved");
  std::ofstream(file) << "x";
  std::filesystem::resize_file(file, uintmax_t{1} << 43);  // of holes
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit little{uintmax_t{1} << 42, before.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  const std::string message = message_of([&] { SavedFile::open(file); });
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(message,
            "cannot map " + file + ": Cannot allocate memory\n" + "  it takes 8796093022208 bytes of addresses");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ct
