#include "runtime/lapack.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "runtime/error.h"
#include "runtime/pool.h"
#include "runtime/process.h"
#include "runtime/runtime.h"

namespace ct::lapack {
namespace {

// ---- The library ----------------------------------------------------------------------------------------------------

enum Routine : uint8_t {
  kPotrf,
  kGetrf,
  kTrsm,
  kGeqrf,
  kGeqp3,
  kOrgqr,
  kGesdd,
  kSyevd,
  kGeev,
  kGees,
  kGemm,
  kTrsyl,
  kNumRoutines
};

// Names for real and for complex elements, without the type letter.
constexpr std::string_view kNames[kNumRoutines][2] = {
    {"potrf", "potrf"}, {"getrf", "getrf"}, {"trsm", "trsm"},   {"geqrf", "geqrf"},
    {"geqp3", "geqp3"}, {"orgqr", "ungqr"}, {"gesdd", "gesdd"}, {"syevd", "heevd"},
    {"geev", "geev"},   {"gees", "gees"},   {"gemm", "gemm"},   {"trsyl", "trsyl"},
};
constexpr char kLetters[] = {'s', 'd', 'c', 'z'};

// How symbols are spelled: NumPy's wheels, their older versions, everybody else.
struct Spelling {
  std::string_view prefix, suffix;
  bool wide;  // integers have 64 bits
};
constexpr Spelling kSpellings[] = {
    {"scipy_", "_64_", true}, {"", "_64_", true}, {"scipy_", "_", false}, {"", "_", false}};

struct Library {
  std::array<std::array<void*, std::size(kLetters)>, kNumRoutines> functions{};
  bool wide = false;
  // Of OpenBLAS: how many threads its calls use. Null where the library is another.
  int (*threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
};

std::optional<Library> library_in(const std::string& file) {
  // Never closed: its threads live on.
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  for (const Spelling& spelling : kSpellings) {
    Library library;
    library.wide = spelling.wide;
    bool complete = true;
    for (int routine = 0; routine < kNumRoutines; ++routine) {
      for (size_t type = 0; type < std::size(kLetters); ++type) {
        std::string symbol(spelling.prefix);
        symbol += kLetters[type];
        symbol += kNames[routine][type / 2];
        symbol += spelling.suffix;
        complete = complete && (library.functions[routine][type] = dlsym(handle, symbol.c_str())) != nullptr;
      }
    }
    if (!complete) continue;
    const auto control = [&](std::string_view name) {
      std::string symbol(spelling.prefix);
      symbol += name;
      if (spelling.wide) symbol += "64_";
      return dlsym(handle, symbol.c_str());
    };
    library.threads = reinterpret_cast<int (*)()>(control("openblas_get_num_threads"));
    library.set_threads = reinterpret_cast<void (*)(int)>(control("openblas_set_num_threads"));
    return library;
  }
  return std::nullopt;
}

// A user's own choice, which is then the only one.
const char* chosen_file() { return std::getenv("COTANGENT_LAPACK"); }

std::vector<std::string> candidates() {
  if (chosen_file() != nullptr) return {chosen_file()};
  std::vector<std::string> files;
  std::error_code error;
  const std::string& folder = runtime().library_directory;
  if (!folder.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name.find("openblas") != std::string::npos) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
  }
  files.insert(files.end(), {"libopenblas.so.0", "liblapack.so.3", "libmkl_rt.so.2"});
  return files;
}

const Library& library() {
  static std::atomic<const Library*> known = nullptr;
  if (const Library* library = known.load(std::memory_order_acquire)) return *library;
  static auto* mutex = new ProcessMutex;
  std::unique_lock lock(*mutex);
  const Library* found = known.load(std::memory_order_relaxed);
  if (found == nullptr) {  // who found none may set the variable, or install one, and go on
    for (const std::string& file : candidates()) {
      if (const std::optional<Library> here = library_in(file)) {
        known.store(found = new Library(*here), std::memory_order_release);
        break;
      }
    }
  }
  lock.unlock();
  if (found == nullptr && chosen_file() != nullptr) {
    throw Error(ErrorKind::kUnsupported,
                std::string("linear algebra needs LAPACK, and the file that COTANGENT_LAPACK names, ") + chosen_file() +
                    ", is no library that has it")
        .hint("unset the variable to use NumPy's OpenBLAS (pip install numpy) or the system's library");
  }
  if (found == nullptr) {
    throw Error(ErrorKind::kUnsupported, "linear algebra needs LAPACK, and no library that has it was found")
        .hint(
            "install NumPy from PyPI, which brings OpenBLAS (pip install numpy), or Debian's libopenblas0-pthread "
            "or liblapack3");
  }
  return *found;
}

// ---- Threads --------------------------------------------------------------------------------------------------------

// While one of these lives, OpenBLAS computes on the thread that calls it. Its own threads are worth waking for large
// matrices only: they go on spinning for milliseconds after a call, on cores that the rest of the program wants; and
// sums that are cut for them round in another way. The setting is OpenBLAS's for the whole process, so the first to
// come changes it and the last to leave puts back what was there.
class Alone {
 public:
  // `work`: multiplications and additions of the call, about.
  explicit Alone(double work) {
    constexpr double kLeastShared = 512.0 * 512 * 512;
    const Library& found = library();
    if (found.set_threads == nullptr || found.threads == nullptr) return;
    if (work >= kLeastShared && ct::threads() > 1) return;
    library_ = &found;
    State& state = State::get();
    const std::scoped_lock lock(state.mutex);
    if (state.inside++ > 0) return;
    state.before = library_->threads();
    if (state.before != 1) library_->set_threads(1);
  }
  ~Alone() {
    if (library_ == nullptr) return;
    State& state = State::get();
    const std::scoped_lock lock(state.mutex);
    if (--state.inside == 0 && state.before != 1) library_->set_threads(state.before);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  struct State {
    std::mutex mutex;
    int inside = 0, before = 1;

    static State& get() {
      static State* const state = [] {
        // The mutex is held for moments only, but not by a thread that a forked process lacks.
        pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); }, [] { get().mutex.unlock(); });
        return new State;
      }();
      return *state;
    }
  };
  const Library* library_ = nullptr;
};

// ---- Calls ----------------------------------------------------------------------------------------------------------

template <class T>
constexpr size_t type_index() {
  constexpr bool wide = sizeof(Real<T>) == 8;
  return (kIsComplex<T> ? 2 : 0) + (wide ? 1 : 0);
}

// Fortran takes addresses. An integer is kept in 64 bits that start as zero: on a little-endian machine the same
// address serves libraries of either width.
static_assert(std::endian::native == std::endian::little);

class Integer {
 public:
  Integer(int64_t value = 0) : value_(value) {}  // NOLINT: converts on purpose
  int64_t* address() { return &value_; }
  int narrow() const { return static_cast<int32_t>(value_); }  // of small results: right for both widths

 private:
  int64_t value_;
};

template <class P>
P* address(P* pointer) {
  return pointer;
}
inline const char* address(const char& letter) { return &letter; }
inline int64_t* address(Integer& integer) { return integer.address(); }

// Calls with every argument by address, and after them the lengths (1) of the `letters` strings, which gfortran's
// convention appends and C libraries ignore.
template <int letters, class T, class... Arguments>
void call(Routine routine, Arguments&&... arguments) {
  void* function = library().functions[routine][type_index<T>()];
  if constexpr (letters == 0) {
    reinterpret_cast<void (*)(decltype(address(arguments))...)>(function)(address(arguments)...);
  } else if constexpr (letters == 1) {
    reinterpret_cast<void (*)(decltype(address(arguments))..., size_t)>(function)(address(arguments)..., 1);
  } else if constexpr (letters == 2) {
    reinterpret_cast<void (*)(decltype(address(arguments))..., size_t, size_t)>(function)(address(arguments)..., 1, 1);
  } else {
    static_assert(letters == 4);
    reinterpret_cast<void (*)(decltype(address(arguments))..., size_t, size_t, size_t, size_t)>(function)(
        address(arguments)..., 1, 1, 1, 1);
  }
}

template <class T>
int64_t reported_size(const T& report) {
  return static_cast<int64_t>(std::real(report));
}

// LAPACK says how much work space it wants when it is asked with size -1; `run(work, size)` makes the call.
template <class T, class Run>
void size_work(Workspace<T>& workspace, Run&& run) {
  T report{};
  run(&report, Integer(-1));
  const auto wanted = static_cast<size_t>(std::max<int64_t>(reported_size(report), 1));
  if (workspace.work.size() < wanted) workspace.work.resize(wanted);
}

template <class V>
void at_least(V& vector, int64_t size) {
  if (static_cast<int64_t>(vector.size()) < size) vector.resize(static_cast<size_t>(size));
}

double product(int64_t m, int64_t n, int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

int64_t at_least_one(int64_t n) { return std::max<int64_t>(n, 1); }

// Fortran's indices, in integers of the library's width, as ours from 0.
void copy_indices(const std::vector<int64_t>& found, int64_t count, int32_t* indices) {
  const auto* narrow = reinterpret_cast<const int32_t*>(found.data());
  for (int64_t i = 0; i < count; ++i) {
    indices[i] = (library().wide ? static_cast<int32_t>(found[static_cast<size_t>(i)]) : narrow[i]) - 1;
  }
}

}  // namespace

template <class T>
int potrf(char uplo, int64_t n, T* a, int64_t lda) {
  const Alone alone(product(n, n, n));
  Integer order = n, stride = lda, info;
  call<1, T>(kPotrf, uplo, order, a, stride, info);
  return info.narrow();
}

template <class T>
int getrf(int64_t m, int64_t n, T* a, int64_t lda, int32_t* pivots, Workspace<T>& workspace) {
  const Alone alone(product(m, n, std::min(m, n)));
  const int64_t count = std::min(m, n);
  at_least(workspace.integers, at_least_one(count));
  Integer rows = m, columns = n, stride = lda, info;
  call<0, T>(kGetrf, rows, columns, a, stride, workspace.integers.data(), info);
  copy_indices(workspace.integers, count, pivots);
  return info.narrow();
}

template <class T>
void trsm(char side, char uplo, char op, char diagonal, int64_t m, int64_t n, const T* a, int64_t lda, T* b,
          int64_t ldb) {
  const Alone alone(product(m, n, side == 'L' ? m : n));
  Integer rows = m, columns = n, stride = lda, stride_b = ldb;
  const T one = 1;
  const T* scale = &one;
  call<4, T>(kTrsm, side, uplo, op, diagonal, rows, columns, scale, a, stride, b, stride_b);
}

template <class T>
int geqrf(int64_t m, int64_t n, T* a, int64_t lda, T* tau, Workspace<T>& workspace) {
  const Alone alone(product(m, n, std::min(m, n)));
  Integer rows = m, columns = n, stride = lda, info;
  const auto run = [&](T* work, Integer size) { call<0, T>(kGeqrf, rows, columns, a, stride, tau, work, size, info); };
  size_work(workspace, run);
  run(workspace.work.data(), static_cast<int64_t>(workspace.work.size()));
  return info.narrow();
}

template <class T>
int geqp3(int64_t m, int64_t n, T* a, int64_t lda, int32_t* pivots, T* tau, Workspace<T>& workspace) {
  const Alone alone(product(m, n, std::min(m, n)));
  workspace.integers.assign(static_cast<size_t>(at_least_one(n)), 0);  // 0: the column may move
  Integer rows = m, columns = n, stride = lda, info;
  int64_t* order = workspace.integers.data();
  const auto run = [&](T* work, Integer size) {
    if constexpr (kIsComplex<T>) {
      at_least(workspace.real_work, at_least_one(2 * n));
      call<0, T>(kGeqp3, rows, columns, a, stride, order, tau, work, size, workspace.real_work.data(), info);
    } else {
      call<0, T>(kGeqp3, rows, columns, a, stride, order, tau, work, size, info);
    }
  };
  size_work(workspace, run);
  run(workspace.work.data(), static_cast<int64_t>(workspace.work.size()));
  copy_indices(workspace.integers, n, pivots);
  return info.narrow();
}

template <class T>
int orgqr(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau, Workspace<T>& workspace) {
  const Alone alone(product(m, n, k));
  Integer rows = m, columns = n, reflectors = k, stride = lda, info;
  const auto run = [&](T* work, Integer size) {
    call<0, T>(kOrgqr, rows, columns, reflectors, a, stride, tau, work, size, info);
  };
  size_work(workspace, run);
  run(workspace.work.data(), static_cast<int64_t>(workspace.work.size()));
  return info.narrow();
}

template <class T>
int gesdd(char jobz, int64_t m, int64_t n, T* a, int64_t lda, Real<T>* s, T* u, int64_t ldu, T* vt, int64_t ldvt,
          Workspace<T>& workspace) {
  const Alone alone(product(m, n, std::min(m, n)));
  const int64_t small = std::min(m, n), large = std::max(m, n);
  at_least(workspace.integers, at_least_one(8 * small));
  Integer rows = m, columns = n, stride = lda, stride_u = ldu, stride_v = ldvt, info;
  int64_t* integers = workspace.integers.data();
  const auto run = [&](T* work, Integer size) {
    if constexpr (kIsComplex<T>) {
      const int64_t wanted = small * std::max(5 * small + 7, 2 * large + 2 * small + 1);
      at_least(workspace.real_work, at_least_one(wanted));
      call<1, T>(kGesdd, jobz, rows, columns, a, stride, s, u, stride_u, vt, stride_v, work, size,
                 workspace.real_work.data(), integers, info);
    } else {
      call<1, T>(kGesdd, jobz, rows, columns, a, stride, s, u, stride_u, vt, stride_v, work, size, integers, info);
    }
  };
  size_work(workspace, run);
  run(workspace.work.data(), static_cast<int64_t>(workspace.work.size()));
  return info.narrow();
}

template <class T>
int syevd(char jobz, char uplo, int64_t n, T* a, int64_t lda, Real<T>* w, Workspace<T>& workspace) {
  const Alone alone(product(n, n, n));
  Integer order = n, stride = lda, info;
  Real<T> real_report{};
  Integer integer_report;
  const auto run = [&](T* work, Integer size, Real<T>* real_work, Integer real_size, int64_t* integers,
                       Integer integer_size) {
    if constexpr (kIsComplex<T>) {
      call<2, T>(kSyevd, jobz, uplo, order, a, stride, w, work, size, real_work, real_size, integers, integer_size,
                 info);
    } else {
      call<2, T>(kSyevd, jobz, uplo, order, a, stride, w, work, size, integers, integer_size, info);
    }
  };
  size_work(workspace, [&](T* work, Integer size) { run(work, size, &real_report, -1, integer_report.address(), -1); });
  at_least(workspace.real_work, at_least_one(reported_size(real_report)));
  at_least(workspace.integers, at_least_one(integer_report.narrow()));
  const auto size_of = [](const auto& vector) { return static_cast<int64_t>(vector.size()); };
  run(workspace.work.data(), size_of(workspace.work), workspace.real_work.data(), size_of(workspace.real_work),
      workspace.integers.data(), size_of(workspace.integers));
  return info.narrow();
}

namespace {

// A real matrix's complex eigenvectors: LAPACK gives columns j and j + 1 as real and imaginary part of a pair.
template <class R>
void unpack_vectors(int64_t n, const std::complex<R>* w, const R* packed, std::complex<R>* vectors) {
  for (int64_t j = 0; j < n; ++j) {
    const R* first = packed + j * n;
    std::complex<R>* out = vectors + j * n;
    if (w[j].imag() == 0 || j + 1 == n) {
      std::copy(first, first + n, out);
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      out[i] = {first[i], first[n + i]};
      out[n + i] = {first[i], -first[n + i]};
    }
    ++j;
  }
}

}  // namespace

template <class T>
int geev(int64_t n, T* a, int64_t lda, std::complex<Real<T>>* w, std::complex<Real<T>>* left,
         std::complex<Real<T>>* right, Workspace<T>& workspace) {
  const Alone alone(product(n, n, n));
  const char want_left = left != nullptr ? 'V' : 'N', want_right = right != nullptr ? 'V' : 'N';
  Integer order = n, stride = lda, stride_v = at_least_one(n), info;
  at_least(workspace.real_work, 2 * at_least_one(n));
  Real<T>* real_work = workspace.real_work.data();
  if constexpr (kIsComplex<T>) {
    const auto run = [&](T* work, Integer size) {
      call<2, T>(kGeev, want_left, want_right, order, a, stride, w, left, stride_v, right, stride_v, work, size,
                 real_work, info);
    };
    size_work(workspace, run);
    run(workspace.work.data(), static_cast<int64_t>(workspace.work.size()));
  } else {
    std::vector<T> packed(static_cast<size_t>(2 * n * n));
    T *packed_left = packed.data(), *packed_right = packed.data() + n * n, *imaginary = real_work + n;
    const auto run = [&](T* work, Integer size) {
      call<2, T>(kGeev, want_left, want_right, order, a, stride, real_work, imaginary, packed_left, stride_v,
                 packed_right, stride_v, work, size, info);
    };
    size_work(workspace, run);
    run(workspace.work.data(), static_cast<int64_t>(workspace.work.size()));
    if (info.narrow() != 0) return info.narrow();
    for (int64_t i = 0; i < n; ++i) w[i] = {real_work[i], imaginary[i]};
    if (left != nullptr) unpack_vectors(n, w, packed_left, left);
    if (right != nullptr) unpack_vectors(n, w, packed_right, right);
  }
  return info.narrow();
}

template <class T>
int gees(int64_t n, T* a, int64_t lda, T* z, Workspace<T>& workspace) {
  const Alone alone(product(n, n, n));
  const char vectors = z != nullptr ? 'V' : 'N', unsorted = 'N';
  Integer order = n, stride = lda, stride_z = at_least_one(n), selected, info;
  void (*no_selection)() = nullptr;
  void* selection = reinterpret_cast<void*>(no_selection);
  int64_t* no_flags = nullptr;
  std::vector<T> values(static_cast<size_t>(2 * at_least_one(n)));
  T *w = values.data(), *imaginary = values.data() + n;
  at_least(workspace.real_work, at_least_one(n));
  const auto run = [&](T* work, Integer size) {
    if constexpr (kIsComplex<T>) {
      call<2, T>(kGees, vectors, unsorted, selection, order, a, stride, selected, w, z, stride_z, work, size,
                 workspace.real_work.data(), no_flags, info);
    } else {
      call<2, T>(kGees, vectors, unsorted, selection, order, a, stride, selected, w, imaginary, z, stride_z, work, size,
                 no_flags, info);
    }
  };
  size_work(workspace, run);
  run(workspace.work.data(), static_cast<int64_t>(workspace.work.size()));
  return info.narrow();
}

template <class T>
void gemm(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
          int64_t ldc) {
  const Alone alone(product(m, n, k));
  Integer rows = m, columns = n, inner = k, stride_a = lda, stride_b = ldb, stride_c = ldc;
  const T one = 1, nothing = 0;
  const T *scale = &one, *keep = &nothing;
  call<2, T>(kGemm, op_a, op_b, rows, columns, inner, scale, a, stride_a, b, stride_b, keep, c, stride_c);
}

template <class T>
void trsyl(int64_t m, int64_t n, const T* a, const T* b, T* c) {
  const Alone alone(product(m, n, m + n));
  const char op = 'N';
  Integer sign = 1, rows = m, columns = n, info;
  Real<T> scale = 1;
  Real<T>* report = &scale;
  call<2, T>(kTrsyl, op, op, sign, rows, columns, a, rows, b, columns, c, rows, report, info);
  // Large solutions are scaled down so that they do not overflow.
  if (scale != 1) {
    for (int64_t i = 0; i < m * n; ++i) c[i] /= scale;
  }
}

#define CT_LAPACK_INSTANTIATE(T)                                                                                     \
  template int potrf<T>(char, int64_t, T*, int64_t);                                                                 \
  template int getrf<T>(int64_t, int64_t, T*, int64_t, int32_t*, Workspace<T>&);                                     \
  template void trsm<T>(char, char, char, char, int64_t, int64_t, const T*, int64_t, T*, int64_t);                   \
  template int geqrf<T>(int64_t, int64_t, T*, int64_t, T*, Workspace<T>&);                                           \
  template int geqp3<T>(int64_t, int64_t, T*, int64_t, int32_t*, T*, Workspace<T>&);                                 \
  template int orgqr<T>(int64_t, int64_t, int64_t, T*, int64_t, const T*, Workspace<T>&);                            \
  template int gesdd<T>(char, int64_t, int64_t, T*, int64_t, Real<T>*, T*, int64_t, T*, int64_t, Workspace<T>&);     \
  template int syevd<T>(char, char, int64_t, T*, int64_t, Real<T>*, Workspace<T>&);                                  \
  template int geev<T>(int64_t, T*, int64_t, std::complex<Real<T>>*, std::complex<Real<T>>*, std::complex<Real<T>>*, \
                       Workspace<T>&);                                                                               \
  template void gemm<T>(char, char, int64_t, int64_t, int64_t, const T*, int64_t, const T*, int64_t, T*, int64_t);   \
  template void trsyl<T>(int64_t, int64_t, const T*, const T*, T*);                                                  \
  template int gees<T>(int64_t, T*, int64_t, T*, Workspace<T>&);
CT_LAPACK_INSTANTIATE(float)
CT_LAPACK_INSTANTIATE(double)
CT_LAPACK_INSTANTIATE(std::complex<float>)
CT_LAPACK_INSTANTIATE(std::complex<double>)
#undef CT_LAPACK_INSTANTIATE

}  // namespace ct::lapack
