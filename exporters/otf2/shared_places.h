#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Call sites, unified over the processes (see shared_definitions.h).
namespace megascope::otf2 {

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;

  auto operator<=>(const SourceLine&) const = default;
};

/// Positions are OTF2 ids: of strings, which are the first ones of the archive, and of
/// SourceCodeLocation. No duplicates. Empty unless call sites were recorded.
struct SharedPlaces {
  std::vector<std::string> texts;  ///< "solve (heat.c:42)"
  std::vector<SourceLine> lines;   ///< known source lines
};

SharedPlaces collect_places(const ProcessDefinitions& process);
/// Appends the entries that `mine` lacks. O((both) log(both)).
void merge_places(SharedPlaces& mine, const SharedPlaces& theirs);
void put_places(ByteWriter& to, const SharedPlaces& places);
SharedPlaces get_places(ByteReader& from);

/// OTF2 ids. The same on all members.
struct PlaceIds {
  std::map<std::string, std::uint32_t> texts;
  std::map<SourceLine, std::uint32_t> lines;
};
PlaceIds place_ids(const SharedPlaces& places);

/// OTF2 ids of one process's call sites.
class ProcessPlaces {
 public:
  ProcessPlaces() = default;
  ProcessPlaces(const ProcessDefinitions& process, const PlaceIds& ids);

  static constexpr std::uint32_t
      kUndefined = 0xFFFFFFFF;  ///< OTF2_UNDEFINED_STRING, _SOURCE_CODE_LOCATION

  /// kUndefined if the trace does not define it.
  std::uint32_t text(std::uint32_t site) const {
    return site < texts_.size() ? texts_[site] : kUndefined;
  }
  /// kUndefined if the line is unknown.
  std::uint32_t line(std::uint32_t site) const {
    return site < lines_.size() ? lines_[site] : kUndefined;
  }

 private:
  std::vector<std::uint32_t> texts_;  ///< by number of the call site
  std::vector<std::uint32_t> lines_;
};

}  // namespace megascope::otf2
