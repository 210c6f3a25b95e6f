#include "mpi_layer/lifecycle/other_tool.h"

#include "core/base/version.h"
#include "mpi_layer/lookup/c_symbol.h"

#include <dlfcn.h>
#include <string_view>

/// Distinguishes one MegaScope from another in the same process.
extern "C" [[gnu::visibility("default")]] const char* megascope_version() {
  return megascope::kVersion;
}

namespace megascope::mpi {
namespace {

constexpr const char* kName = "MPI_Init";

constexpr char kInHere = 0;  ///< megascope_version may be another copy's

struct Place {
  const void* base = nullptr;
  std::string path;
};

Place place_of(const void* symbol) {
  Dl_info info{};
  if (symbol == nullptr || dladdr(symbol, &info) == 0) return {};
  return {info.dli_fbase, info.dli_fname != nullptr ? info.dli_fname : ""};
}

/// Some MPI libraries have MPI_* and PMPI_* in two files.
bool is_mpi_itself(const Place& place, const Place& mpi) {
  if (place.base == nullptr || place.base == mpi.base) return true;
  const std::string_view name = std::string_view(place.path).substr(place.path.rfind('/') + 1);
  for (const std::string_view known :
       {"libmpi.so", "libmpich.so", "libmpi_cray", "libmpifort.so", "libpmpi"}) {
    if (name.starts_with(known)) return true;
  }
  return false;
}

bool is_megascope(const Place& place) {
  void* object = dlopen(place.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (object == nullptr) return false;
  const bool is_ours = place_of(dlsym(object, "megascope_version")).base == place.base;
  dlclose(object);
  return is_ours;
}

}  // namespace

OtherTool find_other_tool(std::string& path) {
  const Place own = place_of(&kInHere);
  const Place mpi = place_of(reinterpret_cast<const void*>(pmpi<Fn::Init>()));
  const Place front = place_of(dlsym(RTLD_DEFAULT, kName));
  if (front.base != own.base && !is_mpi_itself(front, mpi)) {
    path = front.path;
    return is_megascope(front) ? OtherTool::kOursFirst : OtherTool::kInFront;
  }
  const Place behind = place_of(dlsym(RTLD_NEXT, kName));
  if (is_mpi_itself(behind, mpi)) return OtherTool::kNone;
  path = behind.path;
  return is_megascope(behind) ? OtherTool::kOursToo : OtherTool::kBehind;
}

std::string other_tool_line() {
  std::string path;
  switch (find_other_tool(path)) {
    case OtherTool::kBehind:
      return path +
             " wraps MPI calls too, but comes after MegaScope and sees none of them; preload one "
             "of "
             "the two";
    case OtherTool::kInFront:
      return path +
             " wraps MPI calls too, before MegaScope: only calls that it passes on or makes itself "
             "are recorded";
    case OtherTool::kOursToo:
      return path + " is another MegaScope and is inactive";
    case OtherTool::kNone:
    case OtherTool::kOursFirst:
      break;
  }
  return {};
}

}  // namespace megascope::mpi
