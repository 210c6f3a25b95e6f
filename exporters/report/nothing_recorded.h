#pragma once

#include <string>
#include <vector>

namespace megascope::report {

/// Possible causes for a run without a record.
enum class NothingCause {
  kStaticProgram,  ///< the program is statically linked, so LD_PRELOAD has no effect
  kNoMpiCall,      ///< the program ended before MPI_Init, or does not call MPI
  kOtherMpi,   ///< the program was built with an MPI library that this build of MegaScope does not
               ///< support
  kFortran,    ///< the program calls MPI through a Fortran interface
  kWrongPath,  ///< the library was not found, or not on every node
  kSecureProgram,  ///< the program is set-user-ID or has capabilities, so the loader ignores
                   ///< LD_PRELOAD
  kDisabled,       ///< MEGASCOPE_ENABLE=0 is set
  kFiltered,       ///< a filter excludes all functions that the program calls
  kMpiInside,      ///< MPI is linked into the program, so its calls do not use the dynamic loader
  kOtherMachine,   ///< the program was built for another processor, or for 32 bits
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

/// Returns a text that begins with "Nothing was recorded, because". It lists the causes in `found`.
/// If `found` is empty, it lists all causes that are not excluded. Each cause is followed by its
/// remedy. The text ends with a reference to the documentation.
std::string nothing_recorded_text(const NothingRecorded& facts);

}  // namespace megascope::report
