#pragma once

#include "mpi_layer/fortran/handles.h"

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

/// Converts the arguments of a Fortran call to those of the C function of the same name, for the
/// recording. The Fortran procedure of MPI receives the original arguments; only an ignored status
/// may be replaced.
namespace megascope::mpi::fortran {

/// Returns whether handle arguments of the function are inputs.
constexpr bool reads_handle(Fn fn) {
  switch (fn) {
    case Fn::Wait:
    case Fn::Test:
    case Fn::Cancel:
    case Fn::Request_free:
    case Fn::Start:
    case Fn::Mrecv:
    case Fn::Imrecv:
    case Fn::Comm_free:
    case Fn::Comm_disconnect:
    case Fn::Win_free:
    case Fn::File_close:
    case Fn::Type_free:
    case Fn::Group_free:
      return true;
    default:
      return false;
  }
}
/// Returns whether the request argument is an array.
constexpr bool has_request_array(Fn fn) {
  switch (fn) {
    case Fn::Waitall:
    case Fn::Waitany:
    case Fn::Waitsome:
    case Fn::Testall:
    case Fn::Testany:
    case Fn::Testsome:
    case Fn::Startall:
      return true;
    default:
      return false;
  }
}

template <class T>
inline constexpr bool kIsHandlePointer = std::is_pointer_v<T> &&
                                         !std::is_const_v<std::remove_pointer_t<T>> &&
                                         kIsRead<std::remove_pointer_t<T>>;
template <class T>
inline constexpr bool kIsBuffer = std::is_same_v<T, void*> || std::is_same_v<T, const void*>;

/// An argument for which there is no specialisation below. The C argument is the address that
/// Fortran passes, or the value at this address.
template <Fn F, class T>
class Argument {
 public:
  Argument(MpiThread&, void* passed, std::size_t) noexcept : passed_(passed) {
    if constexpr (kIsBuffer<T>) {
      value_ = g_sentinels.in_place.has(passed) ? MPI_IN_PLACE : passed;
    } else if constexpr (kIsIgnored<T>) {
      value_ = T{};
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::memcpy(&value_, passed, sizeof value_);
    } else {
      value_ = reinterpret_cast<T>(passed);
    }
  }
  T& c() noexcept { return value_; }
  void* passed() const noexcept { return passed_; }
  void returned(MpiThread&) noexcept {}

 private:
  void* passed_;
  T value_;
};

/// An input handle. The C argument is the converted handle.
template <Fn F, class T>
requires kIsRead<T>
class Argument<F, T> {
 public:
  Argument(MpiThread& thread, void* passed, std::size_t) noexcept
      : passed_(passed), value_(handle_of<T>(thread, *static_cast<const MPI_Fint*>(passed))) {}
  T& c() noexcept { return value_; }
  void* passed() const noexcept { return passed_; }
  void returned(MpiThread&) noexcept {}

 private:
  void* passed_;
  T value_;
};

/// A handle that the call creates or changes. The C argument points to a local variable with the
/// converted handle.
template <Fn F, class T>
requires(kIsHandlePointer<T> &&
         !(has_request_array(F) && std::is_same_v<T, MPI_Request*>)) class Argument<F, T> {
 public:
  using Handle = std::remove_pointer_t<T>;
  Argument(MpiThread& thread, void* passed, std::size_t) noexcept : passed_(passed) {
    if constexpr (reads_handle(F))
      value_ = handle_of<Handle>(thread, *static_cast<const MPI_Fint*>(passed));
  }
  T c() noexcept { return &value_; }
  void* passed() const noexcept { return passed_; }
  void returned(MpiThread& thread) noexcept {
    if constexpr (!reads_handle(F))
      value_ = handle_of<Handle>(thread, *static_cast<const MPI_Fint*>(passed_));
  }

 private:
  void* passed_;
  Handle value_{};
};

/// An array of input handles.
template <Fn F, class T>
requires((has_request_array(F) && std::is_same_v<T, MPI_Request*>) ||
         std::is_same_v<T, const MPI_Datatype*>) class Argument<F, T> {
 public:
  using Handle = std::remove_cv_t<std::remove_pointer_t<T>>;
  Argument(MpiThread& thread, void* passed, std::size_t) noexcept
      : passed_(passed), value_(thread, passed) {}
  HandleArray<Handle>& c() noexcept { return value_; }
  void* passed() const noexcept { return passed_; }
  void returned(MpiThread&) noexcept {}

 private:
  void* passed_;
  HandleArray<Handle> value_;
};

/// A status has the layout of C's, possibly aligned to 4 bytes only.
template <Fn F>
class Argument<F, MPI_Status*> {
 public:
  Argument(MpiThread&, void* passed, std::size_t) noexcept : passed_(passed) {
    const bool is_ignored = g_sentinels.status_ignore.has(passed) ||
                            g_sentinels.statuses_ignore.has(passed);
    value_ = given_ = is_ignored ? MPI_STATUS_IGNORE : static_cast<MPI_Status*>(passed);
  }
  MPI_Status*& c() noexcept { return value_; }
  void* passed() const noexcept { return value_ == given_ ? passed_ : value_; }
  void returned(MpiThread&) noexcept {}

 private:
  void* passed_;
  MPI_Status* value_;
  MPI_Status* given_;
};

/// A text. Fortran passes it without terminating zero. The C argument is a copy without surrounding
/// blanks, truncated where MPI truncates names.
template <Fn F>
class Argument<F, const char*> {
 public:
  Argument(MpiThread&, void* passed, std::size_t length) noexcept : passed_(passed) {
    std::string_view text(static_cast<const char*>(passed), length);
    while (text.ends_with(' ')) text.remove_suffix(1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    text = text.substr(0, sizeof text_ - 1);
    std::memcpy(text_, text.data(), text.size());
    text_[text.size()] = '\0';
  }
  const char* c() noexcept { return text_; }
  void* passed() const noexcept { return passed_; }
  void returned(MpiThread&) noexcept {}

 private:
  void* passed_;
  char text_[1024];
};

/// Returns whether the argument has a hidden length.
template <class T>
inline constexpr bool kIsText = std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, char> ||
                                std::is_same_v<T, char**> || std::is_same_v<T, char***>;

}  // namespace megascope::mpi::fortran
