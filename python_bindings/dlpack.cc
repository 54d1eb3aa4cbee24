// DLPack: arrays shared with other libraries. Arrays here are immutable, and their memory is shared with constants,
// caches and other arrays. So what is handed out is marked read-only where the consumer knows the mark (version 1.0 of
// the protocol), and is a copy where it does not; what comes in is copied unless the caller vouches for it.
//
// On a GPU both sides queue their work. The one that hands out makes sure that the other's queue finds the elements
// there (Queue::lead, and `stream` of `__dlpack__`); the memory of ours that comes back is used again by work that is
// queued later than what the other had queued.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "device/cuda/cuda.h"
#include "device/residency.h"
#include "python_bindings/array.h"
#include "python_bindings/exchange.h"
#include "python_bindings/gil.h"
#include "runtime/text.h"

namespace ct::python {
namespace {

// The ABI of DLPack 0.8 and 1.0 (github.com/dmlc/dlpack, dlpack.h): a published standard.
struct DlDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DlDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* manager_context;
  void (*deleter)(DlManagedTensor*);
};
struct DlVersion {
  uint32_t major;
  uint32_t minor;
};
struct DlManagedTensorVersioned {
  DlVersion version;
  void* manager_context;
  void (*deleter)(DlManagedTensorVersioned*);
  uint64_t flags;
  DlTensor tensor;
};
constexpr int32_t kDlCpu = 1, kDlCuda = 2;
// Streams of CUDA by the protocol's numbers: those that always are there, and the one that nothing is ordered with.
constexpr int64_t kPerThreadStream = 2, kNoStream = -1;
constexpr uint8_t kDlInt = 0, kDlUInt = 1, kDlFloat = 2, kDlBfloat = 4, kDlComplex = 5, kDlBool = 6;
constexpr uint64_t kDlReadOnly = 1, kDlCopied = 2;

// The names of a capsule with such a structure, before and after somebody has taken it over.
template <class Managed>
constexpr const char* kFresh = "dltensor";
template <>
constexpr const char* kFresh<DlManagedTensorVersioned> = "dltensor_versioned";
template <class Managed>
constexpr const char* kUsed = "used_dltensor";
template <>
constexpr const char* kUsed<DlManagedTensorVersioned> = "used_dltensor_versioned";

DlDataType dlpack_dtype(DType dtype) {
  const auto bits = static_cast<uint8_t>(dtype_size(dtype) * 8);
  if (dtype == DType::kBFloat16) return {kDlBfloat, 16, 1};
  switch (dtype_kind(dtype)) {
    case DTypeKind::kBool:
      return {kDlBool, 8, 1};
    case DTypeKind::kSigned:
      return {kDlInt, bits, 1};
    case DTypeKind::kUnsigned:
      return {kDlUInt, bits, 1};
    case DTypeKind::kComplex:
      return {kDlComplex, bits, 1};
    case DTypeKind::kFloat:
      if (bits > 8) return {kDlFloat, bits, 1};
      break;
    case DTypeKind::kKey:
      break;
  }
  throw Error(ErrorKind::kDType, concat("DLPack has no code for ", dtype_name(dtype)))
      .hint("exchange its bytes, x.view('uint8'), or another dtype, x.astype('float32')");
}

DType dtype_from_dlpack(DlDataType type) {
  if (type.lanes == 1) {
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (dtype == DType::kKey || dtype_info(dtype).computes == false) continue;
      const DlDataType candidate = dlpack_dtype(dtype);
      if (candidate.code == type.code && candidate.bits == type.bits) return dtype;
    }
  }
  throw Error(ErrorKind::kDType, concat("unsupported DLPack type: code ", int{type.code}, ", ", int{type.bits},
                                        " bits, ", type.lanes, " lanes"))
      .hint("convert it in the library that it comes from");
}

// ---- Out ------------------------------------------------------------------------------------------------------------

template <class Managed>
struct Export {
  Managed managed{};
  Tensor tensor;
  std::function<void()> before_release;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

// What a capsule shows of a tensor.
struct Memory {
  void* data;
  DlDevice device;
  std::function<void()> before_release = nullptr;
};

template <class Managed>
py::capsule capsule_of(Tensor tensor, const Memory& memory, const std::function<void(Managed&)>& describe) {
  auto holder = std::make_unique<Export<Managed>>();
  holder->shape.assign(tensor.shape().begin(), tensor.shape().end());
  holder->strides.resize(holder->shape.size());
  int64_t stride = 1;
  for (size_t axis = holder->shape.size(); axis-- > 0;) {
    holder->strides[axis] = stride;
    stride *= std::max<int64_t>(holder->shape[axis], 1);
  }
  holder->managed.tensor = {memory.data,
                            memory.device,
                            tensor.aval().rank(),
                            dlpack_dtype(tensor.dtype()),
                            holder->shape.data(),
                            holder->strides.data(),
                            0};
  holder->managed.manager_context = holder.get();
  holder->before_release = memory.before_release;
  holder->managed.deleter = [](Managed* managed) {
    const std::unique_ptr<Export<Managed>> given(static_cast<Export<Managed>*>(managed->manager_context));
    if (given->before_release) given->before_release();
  };
  holder->tensor = std::move(tensor);
  describe(holder->managed);
  PyObject* capsule = PyCapsule_New(&holder->managed, kFresh<Managed>, [](PyObject* object) {
    // A consumer renames the capsule and takes over; otherwise the bytes are ours to release.
    if (!PyCapsule_IsValid(object, kFresh<Managed>)) return;
    auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(object, kFresh<Managed>));
    unused->deleter(unused);
  });
  if (capsule == nullptr) throw py::error_already_set();
  holder.release();  // NOLINT(bugprone-unused-return-value): the capsule has it
  return py::reinterpret_steal<py::capsule>(capsule);
}

Tensor copied_on_host(const Tensor& tensor) {
  Tensor fresh(tensor.aval());
  copy_elements(tensor.dtype(), fresh.data(), tensor.data(), static_cast<size_t>(tensor.aval().bytes()));
  return fresh;
}

// A copy in other memory of the device.
Tensor copied_on_device(Device& device, const Tensor& tensor) {
  bool waits = false;
  const auto from = bring(device, tensor, waits);
  const auto bytes = static_cast<size_t>(tensor.aval().bytes());
  auto to = std::make_shared<const Resident>(device, device.allocate(bytes));
  device.queue().copy(to->address(), from->address(), tensor.aval().bytes());
  if (waits) device.queue().wait();
  return {tensor.aval(), Buffer::on_device(bytes, std::move(to))};
}

// Elements on a GPU, for work that `stream`, one of that GPU's, gets from now on.
Memory on_gpu(CudaDevice& device, const Tensor& tensor, int64_t stream) {
  bool waits = false;
  const auto there = bring(device, tensor, waits);
  Queue& queue = device.queue();
  if (waits) queue.wait();
  if (stream != kNoStream) queue.lead(static_cast<uintptr_t>(stream));
  // Streams that somebody made may be gone by then.
  const auto return_it = [&device, stream] {
    try {
      Queue& ours = device.queue();
      if (stream > 0 && stream <= kPerThreadStream) {
        ours.follow(static_cast<uintptr_t>(stream));
      } else {
        ours.follow_all();
      }
    } catch (const Error&) {  // the GPU is gone, and with it what was queued
    }
  };
  return {there->address(), {kDlCuda, device.number()}, return_it};
}

// With `versioned` the structure of version 1.0, which can say that it is read-only. With a stream it is for that, of
// the GPU of that number.
py::capsule to_dlpack(py::handle array, bool versioned, bool copy, std::optional<int64_t> stream, int number) {
  LocationScope scope(user_location());
  Tensor tensor = concrete(array_datum(array.ptr()), "DLPack export");
  if (stream) tensor = put(cuda_device(number), tensor);
  if (copy) tensor = stream ? copied_on_device(cuda_device(number), tensor) : copied_on_host(tensor);
  const Memory memory = stream ? on_gpu(cuda_device(number), tensor, *stream) : Memory{tensor.data(), {kDlCpu, 0}};
  if (!versioned) return capsule_of<DlManagedTensor>(std::move(tensor), memory, [](DlManagedTensor&) {});
  return capsule_of<DlManagedTensorVersioned>(std::move(tensor), memory, [copy](DlManagedTensorVersioned& managed) {
    managed.version = {1, 0};
    managed.flags = copy ? kDlCopied : kDlReadOnly;
  });
}

// The address of the elements and our stream, for libraries that ask for `__cuda_array_interface__`.
std::pair<uintptr_t, uintptr_t> cuda_address(py::handle array) {
  const Tensor tensor = concrete(array_datum(array.ptr()), "the address");
  CudaDevice* const device = cuda_device_at(tensor.place());
  CT_CHECK(device != nullptr);
  bool waits = false;
  const auto there = bring(*device, tensor, waits);
  return {reinterpret_cast<uintptr_t>(there->address()), device->queue().handle()};
}

// ---- In -------------------------------------------------------------------------------------------------------------

// The memory of somebody else, and how to give it back.
struct Import {
  DlTensor view;
  std::function<void()> release;
};

template <class Managed>
std::optional<Import> take(py::handle capsule) {
  if (!PyCapsule_IsValid(capsule.ptr(), kFresh<Managed>)) return std::nullopt;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), kFresh<Managed>));
  if constexpr (requires { managed->version; }) {
    if (managed->version.major > 1) {
      throw Error(ErrorKind::kValue,
                  concat("from_dlpack: version ", managed->version.major, " of the protocol is not known; 1 is"))
          .hint("hand it over as an array of NumPy");
    }
  }
  PyCapsule_SetName(capsule.ptr(), kUsed<Managed>);
  return Import{managed->tensor, [managed] {
                  const WithInterpreter gil;
                  if (managed->deleter != nullptr) managed->deleter(managed);
                }};
}

CudaDevice& gpu_of_others(int64_t number) {
  if (number >= 0 && number < kMostGpus) return cuda_device(static_cast<int>(number));
  throw Error(ErrorKind::kValue, concat("from_dlpack: the tensor is on GPU ", number, "; those from 0 to ",
                                        kMostGpus - 1, " are used here"))
      .hint("copy it to the host, or to one of these");
}

// The capsule of an object, of the version that knows read-only arrays where the object does. What is on a GPU is
// there for the work of our stream.
py::object capsule_from(py::handle source) {
  if (py::isinstance<py::capsule>(source)) return py::reinterpret_borrow<py::object>(source);
  py::dict options;
  if (py::hasattr(source, "__dlpack_device__")) {
    const auto device = py::cast<py::tuple>(source.attr("__dlpack_device__")());
    if (py::cast<int32_t>(py::int_(device[0])) == kDlCuda) {
      options["stream"] = gpu_of_others(py::cast<int64_t>(py::int_(device[1]))).queue().handle();
    }
  }
  try {
    return source.attr("__dlpack__")(**options, py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return source.attr("__dlpack__")(**options);
}

bool is_contiguous(const DlTensor& view) {
  if (view.strides == nullptr) return true;
  int64_t expected = 1;
  for (int axis = view.ndim; axis-- > 0;) {
    if (view.shape[axis] > 1 && view.strides[axis] != expected) return false;
    expected *= view.shape[axis];
  }
  return true;
}

Tensor copied(const Aval& aval, const DlTensor& view, const char* data) {
  Tensor tensor(aval);
  const auto size = static_cast<size_t>(dtype_size(aval.dtype()));
  if (is_contiguous(view)) {
    copy_elements(aval.dtype(), tensor.data(), data, static_cast<size_t>(aval.bytes()));
    return tensor;
  }
  const Shape& shape = aval.shape();
  std::vector<int64_t> position(shape.size(), 0);
  for (int64_t i = 0; i < aval.size(); ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) offset += position[axis] * view.strides[axis];
    copy_elements(aval.dtype(), tensor.as<char>() + static_cast<size_t>(i) * size,
                  data + offset * static_cast<int64_t>(size), size);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++position[axis] < shape[axis]) break;
      position[axis] = 0;
    }
  }
  return tensor;
}

// Elements of a view lie between two places, counted from its address.
std::pair<int64_t, int64_t> extent(const DlTensor& view) {
  int64_t first = 0, last = 0;
  for (int axis = 0; axis < view.ndim; ++axis) {
    const int64_t reach = (view.shape[axis] - 1) * view.strides[axis];
    (reach < 0 ? first : last) += reach;
  }
  return {first, last};
}

[[noreturn]] void cannot_be_shared() {
  throw Error(ErrorKind::kValue,
              "from_dlpack: an array that is not contiguous in row-major order, or whose bools are "
              "other bytes than 0 and 1, cannot be shared")
      .hint("leave copy out, to copy it");
}

// On the GPU. A view that is not contiguous is (the elements between its first and its last, how many there are before
// its address, strides), for a gather. What is copied has been when this returns.
py::object from_gpu(Import& import, DType dtype, bool share) {
  const DlTensor& view = import.view;
  Device& device = gpu_of_others(view.device.device_id);
  Shape shape(view.shape, view.shape + view.ndim);
  const bool is_empty = std::ranges::any_of(shape, [](int64_t size) { return size == 0; });
  if (is_empty) return array_object(put(device, Tensor(Aval(dtype, shape))));
  const bool is_whole = is_contiguous(view);
  if (share && !is_whole) cannot_be_shared();
  int64_t before = 0;
  if (!is_whole) {
    const auto [first, last] = extent(view);
    before = -first;
    shape = {last - first + 1};
  }
  auto* const address = static_cast<char*>(view.data) + view.byte_offset - before * dtype_size(dtype);
  const Tensor theirs = adopt(device, Aval(dtype, shape), address, std::move(import.release));
  import.release = nullptr;
  py::object result = array_object(share ? theirs : copied_on_device(device, theirs));
  if (is_whole) return result;
  return py::make_tuple(std::move(result), before, std::vector<int64_t>(view.shape, view.shape + view.ndim),
                        std::vector<int64_t>(view.strides, view.strides + view.ndim));
}

// With `share` the memory stays the other library's, which must not write to it any more.
py::object from_dlpack(py::handle source, bool share) {
  if (is_array(source.ptr())) return py::reinterpret_borrow<py::object>(source);
  const py::object capsule = capsule_from(source);
  std::optional<Import> import = take<DlManagedTensorVersioned>(capsule);
  if (!import) import = take<DlManagedTensor>(capsule);
  if (!import) {
    throw Error(ErrorKind::kValue, "from_dlpack: the capsule was consumed already or is not a DLPack tensor")
        .hint("each array is to make a new capsule in its __dlpack__");
  }
  struct Releases {
    std::function<void()>& release;
    ~Releases() {
      if (release) release();
    }
  } releases{import->release};
  const DlTensor& view = import->view;
  const DType dtype = dtype_from_dlpack(view.dtype);
  if (view.device.device_type == kDlCuda) return from_gpu(*import, dtype, share);
  if (view.device.device_type != kDlCpu) {
    throw Error(ErrorKind::kValue, concat("from_dlpack: the tensor is on device type ", view.device.device_type,
                                          ", neither on the CPU nor on a GPU of NVIDIA"))
        .hint("move it to the CPU first");
  }
  const Aval aval(dtype, Shape(view.shape, view.shape + view.ndim));
  char* data = static_cast<char*>(view.data) + view.byte_offset;
  const auto bytes = static_cast<size_t>(aval.bytes());
  if (!share || bytes == 0) return array_object(copied(aval, view, data));
  if (!is_contiguous(view) || (is_bool(dtype) && !canonical_bools(data, bytes))) cannot_be_shared();
  return array_object(Tensor(aval, Buffer::borrow(data, bytes, std::exchange(import->release, nullptr))));
}

}  // namespace

void register_dlpack(py::module_& module) {
  module.def("to_dlpack", to_dlpack, py::arg("array"), py::arg("versioned"), py::arg("copy"),
             py::arg("stream").none(true), py::arg("number"));
  module.def("cuda_address", cuda_address);
  module.def("from_dlpack", from_dlpack, py::arg("source"), py::arg("share"));
}

}  // namespace ct::python
