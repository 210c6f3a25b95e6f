#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Arguments that a recorded call can be made with: real handles, and memory of the caller's own
/// behind every pointer. MPI is Open MPI here, where each kind of handle has a type of its own.
namespace megascope::mpi::echo {

/// Handles of a program that runs. Valid between set_up() and tear_down().
struct Objects {
  MPI_Comm comm;
  MPI_Win window;
  MPI_File file;
  MPI_Group group;
};
inline Objects g_objects{};

/// The caller's memory: a place an argument, which MPI would read or write. What lies there must be
/// there after the call.
inline constexpr std::size_t kPlaceBytes = 4096;
inline constexpr std::size_t kPlaces = 24;
struct Memory {
  alignas(64) std::array<std::array<std::byte, kPlaceBytes>, kPlaces> places;
  bool operator==(const Memory&) const = default;
};
inline Memory g_memory{};

/// A real handle of the kind; what is no kind of handle that a call is asked about is synthetic.
template <class T>
T value(std::size_t index) {
  if constexpr (std::is_same_v<T, MPI_Comm>)
    return g_objects.comm;
  else if constexpr (std::is_same_v<T, MPI_Win>)
    return g_objects.window;
  else if constexpr (std::is_same_v<T, MPI_File>)
    return g_objects.file;
  else if constexpr (std::is_same_v<T, MPI_Group>)
    return g_objects.group;
  else if constexpr (std::is_same_v<T, MPI_Datatype>)
    return MPI_INT;
  else if constexpr (std::is_same_v<T, MPI_Request>)
    return MPI_REQUEST_NULL;
  else if constexpr (std::is_same_v<T, MPI_Message>)
    return MPI_MESSAGE_NULL;
  else if constexpr (std::is_same_v<T, MPI_Op>)
    return MPI_SUM;
  else if constexpr (std::is_same_v<T, MPI_Info>)
    return MPI_INFO_NULL;
  else if constexpr (std::is_same_v<T, MPI_Errhandler>)
    return MPI_ERRORS_RETURN;
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(index + 2);  // all differ
  else {
    T made{};
    const std::uint64_t word = 0x7A00'0010'0000U + index * 0x10010U;
    std::memcpy(&made, &word, sizeof made);
    return made;
  }
}

template <class T>
inline constexpr bool kIsHandle = std::is_same_v<T, MPI_Comm> || std::is_same_v<T, MPI_Win> ||
                                  std::is_same_v<T, MPI_File> || std::is_same_v<T, MPI_Group> ||
                                  std::is_same_v<T, MPI_Datatype> ||
                                  std::is_same_v<T, MPI_Request> ||
                                  std::is_same_v<T, MPI_Message> || std::is_same_v<T, MPI_Op> ||
                                  std::is_same_v<T, MPI_Info> || std::is_same_v<T, MPI_Errhandler>;

/// Fortran's number of the handle.
template <class Handle>
MPI_Fint number_of(Handle handle) {
  if constexpr (std::is_same_v<Handle, MPI_Comm>)
    return PMPI_Comm_c2f(handle);
  else if constexpr (std::is_same_v<Handle, MPI_Win>)
    return PMPI_Win_c2f(handle);
  else if constexpr (std::is_same_v<Handle, MPI_File>)
    return PMPI_File_c2f(handle);
  else if constexpr (std::is_same_v<Handle, MPI_Group>)
    return PMPI_Group_c2f(handle);
  else if constexpr (std::is_same_v<Handle, MPI_Datatype>)
    return PMPI_Type_c2f(handle);
  else if constexpr (std::is_same_v<Handle, MPI_Request>)
    return PMPI_Request_c2f(handle);
  else if constexpr (std::is_same_v<Handle, MPI_Message>)
    return PMPI_Message_c2f(handle);
  else if constexpr (std::is_same_v<Handle, MPI_Op>)
    return PMPI_Op_c2f(handle);
  else if constexpr (std::is_same_v<Handle, MPI_Info>)
    return PMPI_Info_c2f(handle);
  else
    return PMPI_Errhandler_c2f(handle);
}

template <class T>
void fill(std::byte* place, T element, std::size_t count = 64) {
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(place + i * sizeof element, &element, sizeof element);
}

/// Fills the place of a pointer: numbers are 1, a text is a short one, handles are real.
template <class Pointee>
void fill_place(std::byte* place) {
  using T = std::remove_cv_t<Pointee>;
  std::memset(place, 0, kPlaceBytes);
  if constexpr (std::is_same_v<T, char>) {
    std::memcpy(place, "text    ", 9);
  } else if constexpr (kIsHandle<T>) {
    fill(place, value<T>(0));
  } else if constexpr (std::is_arithmetic_v<T>) {
    fill(place, T{1});
  }
}

/// An argument of the C call.
template <class T>
T argument_for(std::size_t index) {
  if constexpr (kIsHandle<T> || !std::is_pointer_v<T>) {
    return value<T>(index);
  } else if constexpr (std::is_function_v<std::remove_pointer_t<T>>) {
    return value<T>(index);
  } else {
    std::byte* const place = g_memory.places[index].data();
    if constexpr (requires { sizeof(std::remove_pointer_t<T>); }) {
      if constexpr (!std::is_void_v<std::remove_pointer_t<T>>)
        fill_place<std::remove_pointer_t<T>>(place);
    }
    return reinterpret_cast<T>(place);
  }
}

/// The same of a Fortran call: the address of all that is there.
template <class T>
void* slot_for(std::size_t index) {
  std::byte* const place = g_memory.places[index].data();
  std::memset(place, 0, kPlaceBytes);
  if constexpr (kIsHandle<T>) {
    fill(place, number_of(value<T>(index)));
  } else if constexpr (std::is_arithmetic_v<T>) {
    fill(place, value<T>(index), 1);
  } else if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    using Pointee = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (kIsHandle<Pointee>)
      fill(place, number_of(value<Pointee>(index)));
    else if constexpr (std::is_arithmetic_v<Pointee>)
      fill_place<Pointee>(place);
  }
  return place;
}

void set_up();
void tear_down();

}  // namespace megascope::mpi::echo
