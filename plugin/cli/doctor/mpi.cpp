#include "core/base/text.h"
#include "core/config/environment.h"
#include "plugin/cli/doctor/checks.h"
#include "plugin/cli/launch/child.h"
#include "plugin/cli/launch/program_check.h"
#include "plugin/cli/launch/started.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <sstream>

/// Checks of the program, its MPI library and the launcher against this build.
namespace megascope::cli {
namespace {

constexpr std::string_view kBuiltFor = MEGASCOPE_MPI_NAME;  // "Open MPI 4.1.4"
constexpr bool kIsForMpich = std::string_view(MEGASCOPE_MPI_LIBRARY) == "mpich";

/// One line of the loader's list, "libmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)".
struct Needed {
  std::string name;
  std::string path;  ///< empty: not found
};

/// Whether the loader is glibc's. Other loaders might start the program instead of listing
/// libraries.
bool is_of_glibc(const std::string& loader) {
  return loader.substr(loader.rfind('/') + 1).starts_with("ld-linux");
}

std::vector<Needed> needed_by(const std::string& program) {
  std::vector<Needed> all;
  const std::string loader = loader_of(program);
  if (!is_of_glibc(loader)) return all;
  config::set_environment_value("LD_TRACE_LOADED_OBJECTS",
                                "1");  // as ldd does; affects only this check's process
  std::istringstream lines(output_of({loader, program}));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string::npos) continue;
    const std::string path = line.substr(arrow + 4, line.find(" (", arrow) - arrow - 4);
    all.push_back({std::string(trimmed(line.substr(0, arrow))), path.starts_with('/') ? path : ""});
  }
  return all;
}

bool is_mpi_name(std::string_view name) {
  return name.starts_with("libmpi.so") || name.starts_with("libmpich.so") ||
         name.starts_with("libmpi_cray");
}

/// The C library of MPI that a handle refers to: its path and version text.
struct MpiLibrary {
  std::string path;
  std::string version;
};

bool open_mpi_library(const std::string& name, MpiLibrary& library) {
  void* object = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* symbol = object != nullptr ? dlsym(object, "PMPI_Get_library_version") : nullptr;
  Dl_info where{};
  if (symbol == nullptr || dladdr(symbol, &where) == 0) return false;
  char text[1 << 14] = "";
  int length = 0;
  reinterpret_cast<int (*)(char*, int*)>(symbol)(text, &length);
  library.path = where.dli_fname;
  const std::string whole = text;
  library.version = whole.substr(0, whole.find_first_of("\n,"));
  std::replace(library.version.begin(), library.version.end(), '\t', ' ');
  return true;
}

bool is_kind_of_build(const std::string& version) {
  return version.starts_with(kIsForMpich ? "MPICH" : "Open MPI");
}

/// Extracts "4.1.4" from "Open MPI v4.1.4".
std::string number_in(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_of("0123456789"), text.size());
  return std::string(text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin));
}

Finding judge_library(const MpiLibrary& library) {
  const std::string text = library.version + " (" + library.path + ")";
  if (!is_kind_of_build(library.version)) {
    return {Verdict::kProblem, "mpi",
            text + "; this MegaScope was built for " + std::string(kBuiltFor) +
                ": nothing will be recorded",
            "Use a MegaScope built for that MPI (docs/compatibility.md), or a program built with " +
                std::string(kBuiltFor) + "."};
  }
  const std::string here = number_in(library.version);
  const std::string built = number_in(kBuiltFor);
  if (here == built) return {Verdict::kOk, "mpi", text, ""};
  return {Verdict::kNote, "mpi",
          text + "; MegaScope was built for " + std::string(kBuiltFor) +
              ": this combination was not tested (docs/compatibility.md)",
          ""};
}

bool has_symbol(const std::string& library, const char* symbol) {
  void* object = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  return object != nullptr && dlsym(object, symbol) != nullptr;
}

Finding judge_fortran(const MpiLibrary& library) {
  if (kIsForMpich)
    return {Verdict::kNote, "fortran",
            "mpif.h and `use mpi` are recorded; `use mpi_f08` of MPICH is not", ""};
  const std::string directory = library.path.substr(0, library.path.rfind('/') + 1);
  const bool has_f77 = has_symbol(directory + "libmpi_mpifh.so.40", "pmpi_send_");
  const bool has_f08 = has_symbol(directory + "libmpi_usempif08.so.40", "pmpi_send_f08_");
  if (has_f77 && has_f08)
    return {Verdict::kOk, "fortran", "mpif.h, `use mpi` and `use mpi_f08` can be recorded", ""};
  if (has_f77)
    return {Verdict::kNote, "fortran",
            "mpif.h and `use mpi` can be recorded; this MPI has no `use mpi_f08` with pmpi_*_f08_",
            ""};
  return {Verdict::kNote, "fortran",
          "this MPI has no Fortran library with pmpi_* procedures: only C and C++ are recorded",
          ""};
}

Findings judge_both(const MpiLibrary& library) {
  const Finding own = judge_library(library);
  if (own.verdict == Verdict::kProblem) return {own};
  return {own, judge_fortran(library)};
}

Findings check_mpi_of(const std::string& program) {
  Findings findings;
  for (const Needed& one : needed_by(program)) {
    MpiLibrary library;
    if (one.path.empty()) {
      findings.push_back({Verdict::kProblem, "mpi",
                          program + " needs " + one.name + ", which is not found",
                          "Load the program's environment module, or set LD_LIBRARY_PATH."});
    } else if (is_mpi_name(one.name) && open_mpi_library(one.path, library)) {
      for (Finding& finding : judge_both(library)) findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace

Findings check_mpi(const Subject& subject) {
  config::set_environment_value("LD_PRELOAD",
                                "");  // affects only this check's process
  Findings findings;
  if (!subject.program.empty()) {
    findings = check_mpi_of(subject.program);
    if (!findings.empty()) return findings;
    const std::string loader = loader_of(subject.program);
    if (!loader.empty() && !is_of_glibc(loader)) {
      findings.push_back(
          {Verdict::kNote, "mpi",
           subject.program + " uses its own loader (" + loader +
               "): its libraries are not checked; the following checks use glibc's loader",
           ""});
    } else if (!loader.empty()) {
      findings.push_back(
          {Verdict::kNote, "mpi",
           subject.program +
               " is not linked with MPI. It is recorded if it loads MPI at run time, as "
               "Python does; the following checks use the loader's default MPI",
           ""});
    }
  }
  constexpr std::array kOpenMpi = {"libmpi.so.40"};
  constexpr std::array kMpich = {"libmpich.so.12", "libmpi.so.12"};
  std::vector<std::string> names(kOpenMpi.begin(), kOpenMpi.end());
  names.insert(kIsForMpich ? names.begin() : names.end(), kMpich.begin(), kMpich.end());
  MpiLibrary library;
  for (const std::string& name : names) {
    if (!open_mpi_library(name, library)) continue;
    for (Finding& finding : judge_both(library)) findings.push_back(std::move(finding));
    return findings;
  }
  findings.push_back(
      {Verdict::kNote, "mpi",
       "no MPI library in the loader's search path; specify the program: megascope doctor -- ./app",
       ""});
  return findings;
}

Findings check_launcher(const Subject& subject) {
  const bool is_given = subject.kind != LauncherKind::kNone;
  const std::string name = is_given ? subject.command.front() : kIsForMpich ? "mpiexec" : "mpirun";
  const std::string path = find_program(name);
  if (path.empty()) return {{Verdict::kNote, "launcher", "no " + name + " in PATH", ""}};
  const LauncherKind kind = is_given ? subject.kind : kind_of(name);
  if (kind == LauncherKind::kSrun) return {{Verdict::kOk, "launcher", path, ""}};
  const std::string of = kind == LauncherKind::kHydra ? "MPICH or a derivative" : "Open MPI";
  const std::string text = name + " (" + path + ") belongs to " +
                           (kind == LauncherKind::kMpi ? "an unknown MPI" : of);
  if (kind == (kIsForMpich ? LauncherKind::kHydra : LauncherKind::kOpenMpi))
    return {{Verdict::kOk, "launcher", text, ""}};
  const std::string fitting = kIsForMpich ? "mpiexec.hydra" : "mpirun.openmpi";
  return {{is_given ? Verdict::kProblem : Verdict::kNote, "launcher",
           text + "; this MegaScope is for " + std::string(kBuiltFor),
           "Use the launcher of that MPI (" + fitting + " if it has that name)."}};
}

Findings check_subject(const Subject& subject) {
  if (subject.command.empty()) return {};
  if (subject.program.empty())
    return {{Verdict::kNote, "program", "no program found after " + subject.command.front(), ""}};
  report::NothingRecorded facts;
  check_program(subject.program, facts);
  Findings findings;
  for (std::size_t i = 0; i < facts.found.size(); ++i) {
    const report::CauseWords words = report::words_of(facts.found[i]);
    findings.push_back({Verdict::kProblem, "program", words.because + " (" + facts.details[i] + ")",
                        words.remedy});
  }
  if (!findings.empty()) return findings;
  if (loader_of(subject.program).empty())
    return {{Verdict::kNote, "program",
             subject.program + " is not a binary; what it starts is not checked", ""}};
  return {{Verdict::kOk, "program", subject.program + ", linked dynamically", ""}};
}

}  // namespace megascope::cli
