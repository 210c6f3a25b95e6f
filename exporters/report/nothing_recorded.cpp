#include "exporters/report/nothing_recorded.h"

#include "core/base/text_table.h"

#include <algorithm>

namespace megascope::report {
namespace {

constexpr std::size_t kColumns = 96;

struct CauseText {
  NothingCause cause;
  const char* because;
  const char* remedy;
};

constexpr CauseText kTexts[] = {
    {NothingCause::kNoMpiCall, "the program ended before MPI_Init, or does not call MPI",
     "Check that the MPI program itself was run."},
    {NothingCause::kDisabled, "MEGASCOPE_ENABLE=0 is set", "Unset it or set it to 1."},
    {NothingCause::kWrongPath,
     "the library was not loaded: the path is wrong, or missing on some node",
     "The loader then prints \"object ... from LD_PRELOAD cannot be preloaded\". Use a path that "
     "exists on all nodes."},
    {NothingCause::kStaticProgram, "the program is statically linked, so LD_PRELOAD has no effect",
     "Link it dynamically (without -static)."},
    {NothingCause::kOtherMpi,
     "the program uses another MPI library than this MegaScope was built for",
     "`megascope info` prints which one. Build MegaScope with the program's MPI."},
    {NothingCause::kFortran,
     "the program calls MPICH from Fortran with `use mpi_f08`, which is not recorded",
     "Use `mpif.h` or `use mpi`; with Open MPI all interfaces are recorded."},
    {NothingCause::kSecureProgram,
     "the program is set-user-ID or has capabilities, so LD_PRELOAD is ignored",
     "Run a copy without set-user-ID and file capabilities."},
    {NothingCause::kMpiInside,
     "MPI is linked into the program itself, so its calls do not use the dynamic loader",
     "Link it with the shared MPI library."},
    {NothingCause::kOtherMachine, "the program is not a 64-bit program for this processor",
     "Build it for x86-64, which MegaScope supports."},
    {NothingCause::kFiltered, "every MPI function that the program calls is excluded",
     "Check the MEGASCOPE_* variables that are set; `megascope info` describes them."},
};

const CauseText& text_of(NothingCause cause) {
  return *std::find_if(std::begin(kTexts), std::end(kTexts),
                       [&](const CauseText& text) { return text.cause == cause; });
}

/// Appends `text` wrapped, with `first` before the first line and the other lines aligned.
void add_wrapped(std::string& page, const std::string& first, const std::string& text) {
  const std::vector<std::string> lines = wrapped(printable(text, 4 * kColumns),
                                                 kColumns - first.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    page += (i == 0 ? first : std::string(first.size(), ' ')) + lines[i] + '\n';
  }
}

void add_cause(std::string& page, const CauseText& cause, const std::string& detail) {
  add_wrapped(page, "  - ", cause.because + (detail.empty() ? "" : " (" + detail + ")") + ".");
  add_wrapped(page, "    ", cause.remedy);
}

constexpr char
    kMore[] = "For more, run `megascope doctor -- COMMAND` and see the page that it names.\n";

}  // namespace

CauseWords words_of(NothingCause cause) {
  const CauseText& text = text_of(cause);
  return {text.because, text.remedy};
}

std::string nothing_recorded_text(const NothingRecorded& facts) {
  const std::string of = facts.subject.empty() ? "" : " of " + printable(facts.subject, 60);
  if (!facts.found.empty()) {
    std::string page = "MegaScope: nothing was recorded" + of + ", because\n";
    for (std::size_t i = 0; i < facts.found.size(); ++i) {
      add_cause(page, text_of(facts.found[i]),
                i < facts.details.size() ? facts.details[i] : std::string());
    }
    return page + kMore;
  }
  std::string page = "MegaScope: nothing was recorded" + of + ". Possible causes:\n";
  for (const CauseText& text : kTexts) {
    const auto& excluded = facts.excluded;
    const bool is_possible = std::find(excluded.begin(), excluded.end(), text.cause) ==
                             excluded.end();
    if (is_possible) add_cause(page, text, "");
  }
  return page + kMore;
}

}  // namespace megascope::report
