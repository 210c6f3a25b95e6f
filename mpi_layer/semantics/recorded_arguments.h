#pragma once

#include "core/record/value_fact.h"
#include "mpi_layer/calls/intercept.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

/// Records arguments and results of a call as values (core/record/value_fact.h), from a list of
/// argument indices.
namespace megascope::mpi {

/// An argument that is recorded after the call has succeeded. The value is that of the argument,
/// or, for a pointer, that of the object or array to which it points.
struct RecordedArgument {
  static constexpr unsigned kOne = 0xFF;
  static constexpr unsigned kGrid = 0xFE;

  unsigned at;               ///< index of the argument
  ValueName name;            ///< name of the first element
  unsigned count_at = kOne;  ///< arrays: index of the argument with the number of elements; kGrid
                             ///< if that is the number of dimensions of the grid
  bool is_cut = false;  ///< the argument at count_at is the capacity of the array; at most as many
                        ///< elements as the grid has dimensions are recorded
};

/// Appends a value to the call.
inline void record_value(MpiThread& thread, ValueName name, std::int64_t value) noexcept {
  const bool is_neighbour = name == ValueName::kSource || name == ValueName::kDestination;
  if (is_neighbour && value < 0) value = kNoPeer;  // MPI_PROC_NULL differs between libraries
  stage(thread, value_fact(name, value));
}
/// Appends the elements of an array. Elements beyond kMaxDimensions have no name and are omitted.
inline void record_array(MpiThread& thread, ValueName first, const int* values,
                         int count) noexcept {
  for (int i = 0; values != nullptr && i < count && i < static_cast<int>(kMaxDimensions); ++i) {
    record_value(thread, static_cast<ValueName>(static_cast<int>(first) + i), values[i]);
  }
}
/// These functions make local MPI calls after a successful call. They are not inlined: an MPI call
/// in a function that does not throw would put a landing pad into the wrappers.
int grid_dimensions(MPI_Comm comm) noexcept;
void record_group_size(MpiThread& thread, MPI_Group group) noexcept;
void record_graph_size(MpiThread& thread, MPI_Comm comm) noexcept;
void record_neighbours(MpiThread& thread, MPI_Comm comm, int rank) noexcept;

namespace recorded {

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
  std::array<char, Base::kRecordedFields.size() + 2 + kMore.view().size()> text{};
  char* to = std::copy(Base::kRecordedFields.begin(), Base::kRecordedFields.end(), text.begin());
  *to++ = ',';
  *to++ = ' ';
  std::copy(kMore.view().begin(), kMore.view().end(), to);
  return text;
}

/// Concatenates kRecordedFields of the base and the names of the values, with commas.
template <class Base, RecordedArgument... kRecordedArguments>
constexpr auto join() {
  constexpr std::size_t kSize = (Base::kRecordedFields.size() + ... +
                                 (word(kRecordedArguments.name).size() + 2)) -
                                (Base::kRecordedFields.empty() ? 2 : 0);
  std::array<char, kSize> text{};
  std::size_t at = 0;
  const auto append = [&](std::string_view part) {
    for (const char c : part) text[at++] = c;
  };
  append(Base::kRecordedFields);
  ((at != 0 ? append(", ") : void(), append(word(kRecordedArguments.name))), ...);
  return text;
}

template <RecordedArgument kRecordedArguments, class... Args>
void record(MpiThread& thread, Args&&... args) noexcept {
  const auto& value = argument<kRecordedArguments.at>(args...);
  if constexpr (kRecordedArguments.count_at == RecordedArgument::kOne) {
    if constexpr (!std::is_pointer_v<std::remove_cvref_t<decltype(value)>>) {
      record_value(thread, kRecordedArguments.name, static_cast<std::int64_t>(value));
    } else if (value != nullptr) {
      record_value(thread, kRecordedArguments.name, static_cast<std::int64_t>(*value));
    }
  } else if constexpr (kRecordedArguments.count_at == RecordedArgument::kGrid) {
    record_array(thread, kRecordedArguments.name, value, grid_dimensions(first_of(args...)));
  } else {
    int count = argument<kRecordedArguments.count_at>(args...);
    if constexpr (kRecordedArguments.is_cut)
      count = std::min(count, grid_dimensions(first_of(args...)));
    record_array(thread, kRecordedArguments.name, value, count);
  }
}

}  // namespace recorded

/// Base with an addition to kRecordedFields. Semantics that record more than Base derive from it.
/// kMore: the additional fields.
template <class Base, recorded::Literal kMore>
struct Also : Base {
  static constexpr auto kText = recorded::with<Base, kMore>();
  static constexpr std::string_view kRecordedFields{kText.data(), kText.size()};
};

/// Records arguments in addition to Base, and adds them to kRecordedFields.
template <class Base, RecordedArgument... kRecordedArguments>
struct Records : Base {
  static constexpr auto kText = recorded::join<Base, kRecordedArguments...>();
  static constexpr std::string_view kRecordedFields{kText.data(), kText.size()};

  template <class... Args>
  static void complete(MpiThread& thread, CallRecord& call, int rc, Args&&... args) noexcept {
    Base::complete(thread, call, rc, args...);
    if (rc == MPI_SUCCESS) (recorded::record<kRecordedArguments>(thread, args...), ...);
  }
};

}  // namespace megascope::mpi
