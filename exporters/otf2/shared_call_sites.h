#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Call sites, unified over the processes (see shared_definitions.h): equal call sites of several
/// processes become one definition.
namespace megascope::otf2 {

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;

  auto operator<=>(const SourceLine&) const = default;
};

/// The index of an entry is its OTF2 id. For `texts` this is the id of a string; these are the
/// first strings of the archive. For `lines` it is the id of a SourceCodeLocation. No duplicates.
/// Empty if call sites were not recorded.
struct SharedCallSites {
  std::vector<std::string> texts;  ///< "solve (heat.c:42)"
  std::vector<SourceLine> lines;   ///< known source lines
};

SharedCallSites collect_call_sites(const ProcessDefinitions& process);
/// Appends the entries that `mine` lacks. O((both) log(both)).
void merge_call_sites(SharedCallSites& mine, const SharedCallSites& theirs);
void put_call_sites(ByteWriter& to, const SharedCallSites& site_rows);
SharedCallSites get_call_sites(ByteReader& from);

/// OTF2 ids. The same on all members.
struct CallSiteIds {
  std::map<std::string, std::uint32_t> texts;
  std::map<SourceLine, std::uint32_t> lines;
};
CallSiteIds call_site_ids(const SharedCallSites& site_rows);

/// OTF2 ids of one process's call sites.
class ProcessCallSites {
 public:
  ProcessCallSites() = default;
  ProcessCallSites(const ProcessDefinitions& process, const CallSiteIds& ids);

  static constexpr std::uint32_t
      kUndefined = 0xFFFFFFFF;  ///< OTF2_UNDEFINED_STRING, _SOURCE_CODE_LOCATION

  /// Returns the id of the text; kUndefined if the trace does not define the call site.
  std::uint32_t text(std::uint32_t site) const {
    return site < texts_.size() ? texts_[site] : kUndefined;
  }
  /// Returns the id of the source line; kUndefined if the line is unknown.
  std::uint32_t line(std::uint32_t site) const {
    return site < lines_.size() ? lines_[site] : kUndefined;
  }

 private:
  std::vector<std::uint32_t> texts_;  ///< by number of the call site
  std::vector<std::uint32_t> lines_;
};

}  // namespace megascope::otf2
