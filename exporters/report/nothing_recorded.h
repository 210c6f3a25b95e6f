#pragma once

#include <string>
#include <vector>

namespace megascope::report {

/// Possible causes for a run without a record.
enum class NothingCause {
  kStaticProgram,  ///< statically linked: LD_PRELOAD has no effect
  kNoMpiCall,      ///< the program ended before MPI_Init, or does not call MPI
  kOtherMpi,       ///< built with an MPI library that this build does not support
  kFortran,        ///< calls MPI through a Fortran interface
  kWrongPath,      ///< the library was not found, or not on every node
  kSecureProgram,  ///< set-user-ID or with capabilities: the loader ignores LD_PRELOAD
  kDisabled,       ///< MEGASCOPE_ENABLE=0
  kFiltered,       ///< all functions that it calls are excluded
  kMpiInside,      ///< MPI is linked into the program, so its calls do not use the dynamic loader
  kOtherMachine,   ///< for another processor, or 32-bit
};

/// What is known about a run without a record.
struct NothingRecorded {
  std::string subject;                 ///< the program or directory; may be empty
  std::vector<NothingCause> found;     ///< confirmed causes, most significant first
  std::vector<std::string> details;    ///< one fact for each entry of `found`; may be empty
  std::vector<NothingCause> excluded;  ///< causes that are ruled out
};

/// One cause as a sentence without final period, and its remedy.
struct CauseWords {
  std::string because;
  std::string remedy;
};
CauseWords words_of(NothingCause cause);

/// The text "Nothing was recorded, because ...": the causes in `found`, or else all causes that are
/// not excluded, each with its remedy, and where to read more.
std::string nothing_recorded_text(const NothingRecorded& facts);

}  // namespace megascope::report
