#include "ir/serialize.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/primitive.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/text.h"

namespace ct {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMagic = "CTGRAPH\n";
constexpr size_t kHeaderBytes = 8 + 4 + 8 + 8;  // magic, version, payload length, payload checksum

// No file needs more; hostile ones would exhaust stack, memory or patience.
constexpr int kDeepestDocument = 16;
constexpr uint64_t kMostEquations = uint64_t{1} << 22;  // with every sub-graph written out where it is used
constexpr int64_t kMostBytesOfArray = int64_t{1} << 50;

[[noreturn]] void corrupt(const std::string& what) {
  throw Error(ErrorKind::kCorruptFile, "not a valid saved graph: " + what)
      .hint("save the graph again")
      .see("corrupt-file");
}

template <class T>
void append_little_endian(std::string& bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

template <class T>
T read_little_endian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

// The kinds of attribute values, in the order of AttrValue's alternatives.
constexpr std::string_view kKinds = "birstIRgG?";
enum : char {
  kBoolKind = 'b',
  kIntegerKind = 'i',
  kRealKind = 'r',
  kTextKind = 's',
  kTypeKind = 't',
  kIntegersKind = 'I',
  kRealsKind = 'R',
  kGraphKind = 'g',
  kGraphsKind = 'G',
};

// ---- Writing ------------------------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(const SaveOptions& options) : options_(options) {}

  Json run(const Graph& graph) {
    number(graph);
    return Json::object(
        {{"primitives", primitives_}, {"avals", avals_}, {"locations", locations_}, {"graphs", graphs_}});
  }

 private:
  size_t number(const Graph& graph) {
    for (auto [it, end] = numbers_.equal_range(graph.hash()); it != end; ++it) {
      if (same_graph(*it->second.first, graph)) return it->second.second;
    }
    Json written = write(graph);
    const size_t index = graphs_.size();
    graphs_.push_back(std::move(written));
    numbers_.emplace(graph.hash(), std::make_pair(&graph, index));
    return index;
  }

  template <class Map, class Key>
  static size_t intern(Map& numbers, Json& items, const Key& key, const std::function<Json()>& write) {
    const auto [it, inserted] = numbers.emplace(key, items.size());
    if (inserted) items.push_back(write());
    return it->second;
  }

  size_t aval(const Aval& aval) {
    return intern(aval_numbers_, avals_, aval.to_string(), [&] {
      Json item = Json::array({dtype_name(aval.dtype()), aval.weak()});
      for (int64_t size : aval.shape()) item.push_back(size);
      return item;
    });
  }

  size_t location(LocationId id) {
    return intern(location_numbers_, locations_, id, [&] {
      const SourceLocation source = resolve_location(id);
      const size_t directory = options_.directories ? std::string::npos : source.file.rfind('/');
      return Json::array({source.file.substr(directory + 1), source.line, source.function});
    });
  }

  Json write(const Graph& graph) {
    Json inputs = Json::array(), names = Json::array(), equations = Json::array(), outputs = Json::array();
    for (const Aval& input : graph.input_avals()) inputs.push_back(aval(input));
    for (const std::string& name : graph.input_names()) names.push_back(name);
    for (const Equation& equation : graph.equations()) {
      Json operands = Json::array(), results = Json::array(), attributes = Json::array();
      for (Var var : graph.operands(equation)) operands.push_back(var);
      for (uint32_t k = 0; k < equation.output_count; ++k)
        results.push_back(aval(graph.aval(equation.first_output + k)));
      for (const auto& [key, value] : graph.attrs(equation).items()) {
        attributes.push_back(Json::array({key, std::string(1, kKinds[value.index()]), write_value(key, value)}));
      }
      const LocationId where = options_.locations ? equation.location : kNoLocation;
      const std::string& name = equation.primitive->name;
      equations.push_back(Json::array({intern(primitive_numbers_, primitives_, name, [&] { return Json(name); }),
                                       location(where), operands, results, attributes}));
    }
    for (Var var : graph.outputs()) outputs.push_back(var);
    return Json::object({{"inputs", inputs}, {"names", names}, {"equations", equations}, {"outputs", outputs}});
  }

  Json write_value(const std::string& key, const AttrValue& value) {
    struct Visitor {
      Writer& writer;
      const std::string& key;
      Json operator()(bool v) const { return v; }
      Json operator()(int64_t v) const { return v; }
      Json operator()(double v) const { return std::bit_cast<uint64_t>(v); }
      // As bytes: a text of the user's need not be UTF-8.
      Json operator()(const std::string& v) const { return Json::binary(std::vector<uint8_t>(v.begin(), v.end())); }
      Json operator()(DType v) const { return dtype_name(v); }
      Json operator()(const Ints& v) const { return v; }
      Json operator()(const std::vector<double>& v) const {
        Json bits = Json::array();
        for (double x : v) bits.push_back(std::bit_cast<uint64_t>(x));
        return bits;
      }
      Json operator()(const GraphPtr& v) const { return writer.number(*v); }
      Json operator()(const std::vector<GraphPtr>& v) const {
        Json numbers = Json::array();
        for (const GraphPtr& graph : v) numbers.push_back(writer.number(*graph));
        return numbers;
      }
      Json operator()(const OpaquePtr& v) const {
        throw Error(ErrorKind::kUnsupported,
                    concat("attribute '", key, "' holds ", v->to_string(), ", which exists only in this process"))
            .hint("save a program without host callbacks");
      }
    };
    return std::visit(Visitor{*this, key}, value);
  }

  SaveOptions options_;
  std::map<std::string, size_t> primitive_numbers_, aval_numbers_;
  std::map<LocationId, size_t> location_numbers_;
  std::unordered_multimap<uint64_t, std::pair<const Graph*, size_t>> numbers_;
  Json primitives_ = Json::array(), avals_ = Json::array(), locations_ = Json::array(), graphs_ = Json::array();
};

// ---- Reading ------------------------------------------------------------------------------------------------------

// Walks the document without building it, and stops where it nests too deep: the reader recurses.
struct DepthGuard : nlohmann::json_sax<Json> {
  int depth = 0;
  bool enter() { return ++depth <= kDeepestDocument; }
  bool leave() {
    --depth;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }
};

Json read_document(std::string_view payload) {
  DepthGuard guard;
  if (!Json::sax_parse(payload.begin(), payload.end(), &guard, Json::input_format_t::cbor)) {
    corrupt(guard.depth > kDeepestDocument ? "it nests too deep" : "the document is malformed");
  }
  return Json::from_cbor(payload.begin(), payload.end());
}

const Json& field(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) corrupt(concat("'", key, "' is missing"));
  return object[key];
}

const Json& array_of(const Json& value, const char* what) {
  if (!value.is_array()) corrupt(concat(what, " must be a list"));
  return value;
}

const Json& item(const Json& list, size_t index, const char* what) {
  if (!list.is_array() || index >= list.size()) corrupt(concat(what, " is incomplete"));
  return list[index];
}

std::string text_of(const Json& value, const char* what) {
  if (!value.is_string()) corrupt(concat(what, " must be a text"));
  static_cast<void>(value.dump());  // throws where it is not UTF-8
  return value.get<std::string>();
}

int64_t integer_of(const Json& value, const char* what) {
  if (!value.is_number_integer()) corrupt(concat(what, " must be an integer"));
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    corrupt(concat(what, " is too large"));
  }
  return value.get<int64_t>();
}

// An integer below `count`.
size_t index_of(const Json& value, size_t count, const char* what) {
  const int64_t index = integer_of(value, what);
  if (index < 0 || static_cast<uint64_t>(index) >= count) corrupt(concat(what, " ", index, " is out of range"));
  return static_cast<size_t>(index);
}

double real_of(const Json& value) {
  if (!value.is_number_unsigned()) corrupt("a real must be given by its bits");
  return std::bit_cast<double>(value.get<uint64_t>());
}

DType dtype_of(const Json& value) {
  const std::string name = text_of(value, "a dtype");
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) corrupt(concat("there is no dtype '", name, "'"));
  return *dtype;
}

class Reader {
 public:
  explicit Reader(const Json& document) {
    for (const Json& name : array_of(field(document, "primitives"), "'primitives'")) {
      primitives_.push_back(primitive_named(text_of(name, "the name of a primitive")));
    }
    for (const Json& aval : array_of(field(document, "avals"), "'avals'")) avals_.push_back(read_aval(aval));
    for (const Json& location : array_of(field(document, "locations"), "'locations'")) {
      locations_.push_back(read_location(location));
    }
    for (const Json& graph : array_of(field(document, "graphs"), "'graphs'")) graphs_.push_back(read_graph(graph));
    if (graphs_.empty()) corrupt("there is no graph");
  }

  GraphPtr result() const { return graphs_.back().graph; }

 private:
  struct LoadedGraph {
    GraphPtr graph;
    int depth = 0;           // of graphs inside
    uint64_t equations = 0;  // with those of graphs inside
  };

  static const Primitive* primitive_named(const std::string& name) {
    const Primitive* primitive = find_primitive(name);
    if (primitive == nullptr) {
      throw Error(ErrorKind::kCorruptFile, concat("not a valid saved graph: there is no primitive named '", name, "'"))
          .hint("if a module of yours defines it, import that before loading");
    }
    return primitive;
  }

  static Aval read_aval(const Json& value) {
    const DType dtype = dtype_of(item(value, 0, "a type"));
    const Json& weak = item(value, 1, "a type");
    if (!weak.is_boolean()) corrupt("a type's weak flag must be a bool");
    Shape shape;
    for (size_t i = 2; i < value.size(); ++i) shape.push_back(integer_of(value[i], "a size"));
    const Aval aval(dtype, shape, weak.get<bool>());
    if (aval.size() > kMostBytesOfArray / dtype_size(dtype)) corrupt("an array is too large to address");
    return aval;
  }

  static LocationId read_location(const Json& value) {
    const std::string file = text_of(item(value, 0, "a location"), "a location's file");
    const int64_t line = integer_of(item(value, 1, "a location"), "a location's line");
    const std::string function = text_of(item(value, 2, "a location"), "a location's function");
    if (file.empty()) return kNoLocation;
    return intern_location(SourceLocation{file, static_cast<int>(line & INT32_MAX), function});
  }

  const Aval& aval(const Json& value) const { return avals_[index_of(value, avals_.size(), "type")]; }

  LoadedGraph read_graph(const Json& value) {
    LoadedGraph loaded;
    Builder builder;
    Values variables;
    const Json& names = array_of(field(value, "names"), "'names'");
    for (const Json& input : array_of(field(value, "inputs"), "'inputs'")) {
      const size_t i = variables.size();
      variables.push_back(builder.input(aval(input), i < names.size() ? text_of(names[i], "a name") : std::string()));
    }
    for (const Json& equation : array_of(field(value, "equations"), "'equations'")) {
      read_equation(equation, builder, variables, loaded);
    }
    Values outputs;
    for (const Json& output : array_of(field(value, "outputs"), "'outputs'")) {
      outputs.push_back(variables[index_of(output, variables.size(), "output variable")]);
    }
    loaded.graph = builder.finish(outputs, Builder::Keep::kAll);
    return loaded;
  }

  void read_equation(const Json& value, Builder& builder, Values& variables, LoadedGraph& loaded) {
    constexpr const char* kWhat = "an equation";
    const Primitive& primitive = *primitives_[index_of(item(value, 0, kWhat), primitives_.size(), "primitive")];
    const LocationScope location(locations_[index_of(item(value, 1, kWhat), locations_.size(), "location")]);
    Values operands;
    for (const Json& operand : array_of(item(value, 2, kWhat), "operands")) {
      operands.push_back(variables[index_of(operand, variables.size(), "operand variable")]);
    }
    const Json& types = array_of(item(value, 3, kWhat), "result types");
    std::vector<Attrs::Item> attributes;
    for (const Json& attribute : array_of(item(value, 4, kWhat), "attributes")) {
      std::string key = text_of(item(attribute, 0, "an attribute"), "the name of an attribute");
      for (const Attrs::Item& other : attributes) {
        if (other.first == key) corrupt(concat("attribute '", key, "' is given twice"));
      }
      const std::string kind = text_of(item(attribute, 1, "an attribute"), "the kind of an attribute");
      attributes.emplace_back(std::move(key), read_value(kind, item(attribute, 2, "an attribute"), loaded));
    }
    if (++loaded.equations > kMostEquations) corrupt("it holds too many equations");
    const Values outputs = builder.bind(primitive, operands, Attrs::make(std::move(attributes)));
    if (outputs.size() != types.size()) {
      corrupt(concat("'", primitive.name, "' gives ", outputs.size(), " results, ", types.size(), " are recorded"));
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!same_type(outputs[k].aval(), aval(types[k]))) {
        corrupt(concat("a result of '", primitive.name, "' is recorded as ", aval(types[k]).to_string(), ", not ",
                       outputs[k].aval().to_string()));
      }
      variables.push_back(outputs[k]);
    }
  }

  // Graphs refer only to earlier ones, so there are no cycles.
  GraphPtr sub_graph(const Json& value, LoadedGraph& loaded) const {
    const LoadedGraph& inner = graphs_[index_of(value, graphs_.size(), "graph")];
    loaded.depth = std::max(loaded.depth, inner.depth + 1);
    loaded.equations += inner.equations;
    if (loaded.depth > kDeepestNesting) corrupt(concat("graphs nest deeper than ", kDeepestNesting));
    if (loaded.equations > kMostEquations) corrupt("it holds too many equations");
    return inner.graph;
  }

  AttrValue read_value(const std::string& kind, const Json& value, LoadedGraph& loaded) const {
    switch (kind.size() == 1 ? kind[0] : ' ') {
      case kBoolKind:
        if (!value.is_boolean()) corrupt("a bool attribute must be true or false");
        return value.get<bool>();
      case kIntegerKind:
        return integer_of(value, "an integer attribute");
      case kRealKind:
        return real_of(value);
      case kTextKind:
        if (!value.is_binary()) corrupt("a text attribute must be bytes");
        return std::string(value.get_binary().begin(), value.get_binary().end());
      case kTypeKind:
        return dtype_of(value);
      case kIntegersKind: {
        Ints integers;
        for (const Json& x : array_of(value, "integers")) integers.push_back(integer_of(x, "an integer"));
        return integers;
      }
      case kRealsKind: {
        std::vector<double> reals;
        for (const Json& x : array_of(value, "reals")) reals.push_back(real_of(x));
        return reals;
      }
      case kGraphKind:
        return sub_graph(value, loaded);
      case kGraphsKind: {
        std::vector<GraphPtr> graphs;
        for (const Json& x : array_of(value, "graphs")) graphs.push_back(sub_graph(x, loaded));
        return graphs;
      }
      default:
        corrupt(concat("there are no attributes of kind '", kind, "'"));
    }
  }

  std::vector<const Primitive*> primitives_;
  std::vector<Aval> avals_;
  std::vector<LocationId> locations_;
  std::vector<LoadedGraph> graphs_;
};

}  // namespace

std::string serialize(const Graph& graph, const SaveOptions& options, absl::Span<const Tensor> constants) {
  Json document = Writer(options).run(graph);
  CT_CHECK(constants.size() <= graph.num_inputs());
  document["constants"] = constants.size();
  const std::vector<uint8_t> payload = Json::to_cbor(document);
  std::string rest(reinterpret_cast<const char*>(payload.data()), payload.size());
  for (const Tensor& value : constants) rest.append(value.as<char>(), static_cast<size_t>(value.aval().bytes()));
  std::string bytes(kMagic);
  append_little_endian(bytes, kFormatVersion);
  append_little_endian(bytes, static_cast<uint64_t>(payload.size()));
  append_little_endian(bytes, hash_bytes(rest));
  bytes += rest;
  return bytes;
}

namespace {

// The values of the last inputs, from what follows the document.
std::vector<Tensor> read_constants(const Json& document, const Graph& graph, std::string_view bytes) {
  std::vector<Tensor> constants;
  if (document.contains("constants")) {
    const size_t count = index_of(document["constants"], graph.num_inputs() + size_t{1}, "the number of constants");
    for (size_t i = graph.num_inputs() - count; i < graph.num_inputs(); ++i) {
      const Aval& aval = graph.aval(static_cast<Var>(i));
      const auto size = static_cast<size_t>(aval.bytes());
      if (size > bytes.size()) corrupt("it is truncated, or has a tail");
      const std::string_view value = bytes.substr(0, size);
      bytes.remove_prefix(size);
      if (is_bool(aval.dtype()) && value.find_first_not_of(std::string_view("\0\1", 2)) != std::string_view::npos) {
        corrupt("a constant bool is neither 0 nor 1");
      }
      constants.emplace_back(aval);
      if (size != 0) std::memcpy(constants.back().data(), value.data(), size);
    }
  }
  if (!bytes.empty()) corrupt("it is truncated, or has a tail");
  return constants;
}

}  // namespace

GraphPtr deserialize(std::string_view bytes) { return deserialize_program(bytes).graph; }

SavedProgram deserialize_program(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) corrupt("the header is missing");
  const auto version = read_little_endian<uint32_t>(bytes.substr(8));
  if (version > kFormatVersion || version == 0) {
    throw Error(ErrorKind::kCorruptFile, concat("the graph is saved in format version ", version,
                                                ", this library reads versions up to ", kFormatVersion))
        .hint("update the library, or save the graph with this version");
  }
  const std::string_view rest = bytes.substr(kHeaderBytes);
  const auto length = read_little_endian<uint64_t>(bytes.substr(12));
  if (length > rest.size()) corrupt("it is truncated, or has a tail");
  if (read_little_endian<uint64_t>(bytes.substr(20)) != hash_bytes(rest)) corrupt("the checksum does not match");
  try {
    const Json document = read_document(rest.substr(0, length));
    SavedProgram program;
    program.graph = Reader(document).result();
    program.constants = read_constants(document, *program.graph, rest.substr(length));
    return program;
  } catch (const nlohmann::json::exception& error) {
    corrupt(error.what());
  } catch (const Error& error) {
    // A type rule that refuses what the file holds.
    if (error.kind() == ErrorKind::kCorruptFile) throw;
    corrupt(error.message());
  } catch (const std::exception& error) {
    corrupt(error.what());  // std::length_error, say, from sizes that no array has
  }
}

}  // namespace ct
