// Whether declarations of ours are those of a header of NVIDIA's, while it is compiled.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ct::cuda {

// Whether a type of ours and one of the header are passed alike: the same, or numbers of one size and sign, or pointers
// to such, or a pair that is named below.
template <class Ours, class Theirs>
struct Alike
    : std::bool_constant<std::is_same_v<Ours, Theirs> ||
                         (std::is_integral_v<Ours> && std::is_integral_v<Theirs> && sizeof(Ours) == sizeof(Theirs) &&
                          std::is_signed_v<Ours> == std::is_signed_v<Theirs>)> {};
template <>
struct Alike<void, void> : std::true_type {};
template <class Ours, class Theirs>
struct Alike<const Ours, const Theirs> : Alike<Ours, Theirs> {};
template <>
struct Alike<const void, const void> : std::true_type {};
template <class Ours, class Theirs>
struct Alike<Ours*, Theirs*> : Alike<Ours, Theirs> {};

// In namespace ct::cuda.
#define CT_PAIR(ours, theirs) \
  template <>                 \
  struct Alike<ours, theirs>  \
      : std::bool_constant<sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs)> {}

template <class... Ours>
struct Parameters {
  template <class Result, class... Theirs>
  static constexpr bool are(Result (*)(Theirs...)) {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
      return (Alike<Ours, Theirs>::value && ...);
    } else {
      return false;
    }
  }
};

#define CT_EQUAL(ours, theirs) static_assert(static_cast<uint32_t>(ours) == static_cast<uint32_t>(theirs))

// Where there are several versions of a call, its name is a macro for the symbol of the newest.
#define CT_TEXT(text) #text
#define CT_EXPANDED(macro) CT_TEXT(macro)

}  // namespace ct::cuda
