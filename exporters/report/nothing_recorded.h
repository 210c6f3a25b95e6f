#pragma once

#include <string>
#include <vector>

namespace megascope::report {

/// Why there may be no record of a program.
enum class NothingCause {
  kStaticProgram,  ///< linked statically: nothing can be preloaded
  kNoMpiCall,      ///< it ended before MPI_Init or never calls MPI
  kOtherMpi,       ///< built against an MPI library that this version does not cover
  kFortran,        ///< calls MPI through a Fortran interface
  kWrongPath,      ///< the library was not found, or not on every node
  kSecureProgram,  ///< set-user-ID or with capabilities: the loader ignores LD_PRELOAD
  kDisabled,       ///< MEGASCOPE_ENABLE=0
  kFiltered,       ///< every function that it calls is excluded
  kMpiInside,      ///< has MPI linked into it, so that its calls do not go through the loader
  kOtherMachine,   ///< not of the kind of processor, or of 32 bits
};

struct NothingRecorded {
  std::string subject;                 ///< what was run or opened; may be empty
  std::vector<NothingCause> found;     ///< causes that are known to hold, most telling first
  std::vector<std::string> details;    ///< a fact for each of `found`; may be empty
  std::vector<NothingCause> excluded;  ///< causes that are known not to hold
};

/// One cause as a sentence without full stop, and what to do about it.
struct CauseWords {
  std::string because;
  std::string remedy;
};
CauseWords words_of(NothingCause cause);

/// "Nothing was recorded, because ...": the causes found, else all that are possible, each with
/// what to do about it, and where to read more.
std::string nothing_recorded_text(const NothingRecorded& facts);

}  // namespace megascope::report
