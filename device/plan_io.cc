// Plans as bytes: a line that names format and version, a checksum of what follows, and the fields in their order;
// numbers are eight bytes of the machine's own order, as what is kept is for this machine.
#include <cstring>
#include <type_traits>
#include <utility>

#include "device/plan.h"
#include "runtime/error.h"
#include "runtime/hash.h"

namespace ct {
namespace {

constexpr std::string_view kMagic = "cotangent plan 5\n";

class Writer {
 public:
  template <class Number>
  void number(Number value) {
    const auto wide = static_cast<int64_t>(value);
    bytes.append(reinterpret_cast<const char*>(&wide), sizeof wide);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes.append(value);
  }
  std::string bytes;
};

// After the first thing that is not there everything is empty, and `good` false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  void number(Number& value) {
    int64_t wide = 0;
    if (bytes_.size() < sizeof wide) {
      good = false;
    } else {
      std::memcpy(&wide, bytes_.data(), sizeof wide);
      bytes_.remove_prefix(sizeof wide);
    }
    if constexpr (std::is_same_v<Number, bool>) {
      good = good && (wide == 0 || wide == 1);
    } else if constexpr (!std::is_same_v<Number, uint64_t>) {
      good = good && std::in_range<Number>(wide);
    }
    value = good ? static_cast<Number>(wide) : Number{};
  }
  void text(std::string& value) {
    uint64_t size = 0;
    number(size);
    if (size > bytes_.size()) good = false;
    if (!good) return;
    value.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
  }
  // How many follow, of at least a number each.
  size_t count() {
    uint64_t size = 0;
    number(size);
    if (size > bytes_.size() / sizeof size) good = false;
    return good ? size : 0;
  }
  bool at_end() const { return bytes_.empty(); }

  bool good = true;

 private:
  std::string_view bytes_;
};

// Each kind of value is named once: `Stream` writes or reads it, and `value` is constant or not.
template <class Stream>
constexpr bool kWrites = std::is_same_v<Stream, Writer>;

template <class Stream, class Value>
void field(Stream& stream, Value& value);

template <class Stream, class List>
void list(Stream& stream, List& values) {
  if constexpr (kWrites<Stream>) {
    stream.number(values.size());
  } else {
    values.resize(stream.count());
  }
  for (auto& value : values) field(stream, value);
}

template <class Stream, class... Values>
void fields(Stream& stream, Values&... values) {
  (field(stream, values), ...);
}

// The alternative with that number, as it stands without arguments.
template <size_t kAt = 0>
bool select(Step& step, uint64_t kind) {
  if constexpr (kAt < std::variant_size_v<Step>) {
    if (kind != kAt) return select<kAt + 1>(step, kind);
    step.emplace<kAt>();
    return true;
  } else {
    return false;
  }
}

void aval(Writer& writer, const Aval& value) {
  writer.number(static_cast<int>(value.dtype()));
  writer.number(value.weak());
  list(writer, value.shape());
}
void aval(Reader& reader, Aval& value) {
  int dtype = 0;
  bool weak = false;
  Shape shape;
  fields(reader, dtype, weak);
  list(reader, shape);
  if (!reader.good || dtype < 0 || dtype >= kNumDTypes) {
    reader.good = false;
    return;
  }
  try {
    value = Aval(static_cast<DType>(dtype), shape, weak);
  } catch (const Error&) {
    reader.good = false;  // a size that is none
  }
}

template <class Stream, class Value>
void field(Stream& stream, Value& value) {
  using Type = std::remove_const_t<Value>;
  if constexpr (std::is_enum_v<Type>) {
    auto number = static_cast<std::underlying_type_t<Type>>(value);
    stream.number(number);
    if constexpr (!kWrites<Stream>) value = static_cast<Type>(number);
  } else if constexpr (std::is_arithmetic_v<Type>) {
    stream.number(value);
  } else if constexpr (std::is_same_v<Type, std::string>) {
    stream.text(value);
  } else if constexpr (std::is_same_v<Type, Aval>) {
    aval(stream, value);
  } else if constexpr (std::is_same_v<Type, Where>) {
    fields(stream, value.buffer, value.offset);
  } else if constexpr (std::is_same_v<Type, ByteRange>) {
    fields(stream, value.at, value.bytes);
  } else if constexpr (std::is_same_v<Type, PlanBuffer>) {
    fields(stream, value.kind, value.position, value.offset, value.bytes);
  } else if constexpr (std::is_same_v<Type, Code>) {
    fields(stream, value.format, value.bytes);
  } else if constexpr (std::is_same_v<Type, NativeStep>) {
    fields(stream, value.symbol);
  } else if constexpr (std::is_same_v<Type, KernelStep>) {
    fields(stream, value.code, value.symbol, value.blocks, value.threads, value.shared_bytes, value.arguments,
           value.work);
  } else if constexpr (std::is_same_v<Type, ProductMatrix>) {
    fields(stream, value.at, value.dtype, value.row_stride, value.column_stride, value.batch_stride);
  } else if constexpr (std::is_same_v<Type, ProductStep>) {
    fields(stream, value.m, value.n, value.k, value.batch, value.a, value.b, value.c, value.compute, value.accumulate,
           value.work);
  } else if constexpr (std::is_same_v<Type, CopyStep>) {
    fields(stream, value.to, value.from, value.bytes);
  } else if constexpr (std::is_same_v<Type, FillStep>) {
    fields(stream, value.to, value.byte, value.bytes);
  } else if constexpr (std::is_same_v<Type, HostStep>) {
    fields(stream, value.function, value.inputs, value.outputs);
  } else if constexpr (std::is_same_v<Type, LoopStep>) {
    fields(stream, value.count, value.go_on, value.body);
  } else if constexpr (std::is_same_v<Type, BranchStep>) {
    fields(stream, value.index, value.bodies);
  } else if constexpr (std::is_same_v<Type, Step>) {
    uint64_t kind = value.index();
    stream.number(kind);
    if constexpr (!kWrites<Stream>) {
      if (!select(value, kind)) stream.good = false;
    }
    std::visit([&](auto& step) { field(stream, step); }, value);
  } else {
    list(stream, value);
  }
}

template <class Stream, class PlanType>
void plan_fields(Stream& stream, PlanType& plan) {
  fields(stream, plan.name, plan.target, plan.inputs, plan.outputs, plan.donations, plan.buffers, plan.codes,
         plan.blocks, plan.host_functions, plan.arena_bytes, plan.nanoseconds);
}

}  // namespace

std::string save_plan(const Plan& plan) {
  Writer writer;
  plan_fields(writer, plan);
  Writer whole;
  whole.bytes = kMagic;
  whole.number(hash_bytes(writer.bytes));
  whole.bytes += writer.bytes;
  return std::move(whole.bytes);
}

absl::StatusOr<Plan> restore_plan(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return absl::DataLossError("no plan, or one of another version");
  bytes.remove_prefix(kMagic.size());
  uint64_t checksum = 0;
  if (bytes.size() >= sizeof checksum) std::memcpy(&checksum, bytes.data(), sizeof checksum);
  if (bytes.size() < sizeof checksum || hash_bytes(bytes.substr(sizeof checksum)) != checksum) {
    return absl::DataLossError("a damaged plan: its checksum is wrong");
  }
  Reader reader(bytes.substr(sizeof checksum));
  Plan plan;
  plan_fields(reader, plan);
  if (!reader.good || !reader.at_end()) return absl::DataLossError("a damaged plan");
  if (const std::string problem = check_plan(plan); !problem.empty()) {
    return absl::DataLossError("a damaged plan: " + problem);
  }
  return plan;
}

}  // namespace ct
