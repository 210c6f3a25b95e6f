#pragma once

#include "core/record/value_fact.h"
#include "mpi_layer/intercept.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

/// Records arguments and results of a call as values (core/record/value_fact.h), from a list of
/// argument indices.
namespace megascope::mpi {

/// An argument that is recorded after the call has succeeded: a number, or what a pointer refers
/// to.
struct Told {
  static constexpr unsigned kOne = 0xFF;
  static constexpr unsigned kGrid = 0xFE;

  unsigned at;               ///< index of the argument
  ValueName name;            ///< name of the first element
  unsigned count_at = kOne;  ///< arrays: index of the argument with the number of elements; kGrid:
                             ///< number of dimensions of the grid
  bool is_cut = false;  ///< count_at is only the capacity: no more elements than dimensions of the
                        ///< grid
};

/// Appends a value to the call.
inline void tell_value(MpiThread& thread, ValueName name, std::int64_t value) noexcept {
  const bool is_neighbour = name == ValueName::kSource || name == ValueName::kDestination;
  if (is_neighbour && value < 0) value = kNoPeer;  // MPI_PROC_NULL differs between libraries
  stage(thread, value_fact(name, value));
}
/// Appends as many elements as have names.
inline void tell_array(MpiThread& thread, ValueName first, const int* values, int count) noexcept {
  for (int i = 0; values != nullptr && i < count && i < static_cast<int>(kMaxDimensions); ++i) {
    tell_value(thread, static_cast<ValueName>(static_cast<int>(first) + i), values[i]);
  }
}
/// Local MPI calls of the library after a successful call. Out of line: an MPI call in a function
/// that does not throw would put a landing pad into the wrappers.
int grid_dimensions(MPI_Comm comm) noexcept;
void tell_group_size(MpiThread& thread, MPI_Group group) noexcept;
void tell_graph_size(MpiThread& thread, MPI_Comm comm) noexcept;
void tell_neighbours(MpiThread& thread, MPI_Comm comm, int rank) noexcept;

namespace told {

/// Returns the name without the index of an element.
constexpr std::string_view word(ValueName name) {
  const std::string_view text = value_name(name);
  return text.ends_with("_0") ? text.substr(0, text.size() - 2) : text;
}

/// A text as a template argument.
template <std::size_t Size>
struct Literal {
  char text[Size]{};
  constexpr Literal(const char (&from)[Size]) {
    std::copy_n(from, Size, text);
  }  // NOLINT(google-explicit-constructor)
  constexpr std::string_view view() const { return {text, Size - 1}; }
};

/// Concatenates two texts with a comma between them.
template <class Base, Literal kMore>
constexpr auto with() {
  std::array<char, Base::kTells.size() + 2 + kMore.view().size()> text{};
  char* to = std::copy(Base::kTells.begin(), Base::kTells.end(), text.begin());
  *to++ = ',';
  *to++ = ' ';
  std::copy(kMore.view().begin(), kMore.view().end(), to);
  return text;
}

/// Concatenates kTells of the base and the names of the values, with commas.
template <class Base, Told... kTold>
constexpr auto join() {
  constexpr std::size_t kSize = (Base::kTells.size() + ... + (word(kTold.name).size() + 2)) -
                                (Base::kTells.empty() ? 2 : 0);
  std::array<char, kSize> text{};
  std::size_t at = 0;
  const auto append = [&](std::string_view part) {
    for (const char c : part) text[at++] = c;
  };
  append(Base::kTells);
  ((at != 0 ? append(", ") : void(), append(word(kTold.name))), ...);
  return text;
}

template <Told kTold, class... Args>
void tell(MpiThread& thread, Args&&... args) noexcept {
  const auto& value = argument<kTold.at>(args...);
  if constexpr (kTold.count_at == Told::kOne) {
    if constexpr (!std::is_pointer_v<std::remove_cvref_t<decltype(value)>>) {
      tell_value(thread, kTold.name, static_cast<std::int64_t>(value));
    } else if (value != nullptr) {
      tell_value(thread, kTold.name, static_cast<std::int64_t>(*value));
    }
  } else if constexpr (kTold.count_at == Told::kGrid) {
    tell_array(thread, kTold.name, value, grid_dimensions(first_of(args...)));
  } else {
    int count = argument<kTold.count_at>(args...);
    if constexpr (kTold.is_cut) count = std::min(count, grid_dimensions(first_of(args...)));
    tell_array(thread, kTold.name, value, count);
  }
}

}  // namespace told

/// A Base that records something more, derived from this.
template <class Base, told::Literal kMore>
struct Also : Base {
  static constexpr auto kText = told::with<Base, kMore>();
  static constexpr std::string_view kTells{kText.data(), kText.size()};
};

/// A Base that also records arguments; kTells lists them.
template <class Base, Told... kTold>
struct Tells : Base {
  static constexpr auto kText = told::join<Base, kTold...>();
  static constexpr std::string_view kTells{kText.data(), kText.size()};

  template <class... Args>
  static void complete(MpiThread& thread, CallRecord& call, int rc, Args&&... args) noexcept {
    Base::complete(thread, call, rc, args...);
    if (rc == MPI_SUCCESS) (told::tell<kTold>(thread, args...), ...);
  }
};

}  // namespace megascope::mpi
