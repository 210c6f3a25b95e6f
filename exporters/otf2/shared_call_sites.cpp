#include "exporters/otf2/shared_call_sites.h"

#include <set>

namespace megascope::otf2 {
namespace {

/// Appends values that are not in the list.
template <class Value>
void add_new(std::vector<Value>& mine, const std::vector<Value>& theirs) {
  std::set<Value> known(mine.begin(), mine.end());
  for (const Value& value : theirs) {
    if (known.insert(value).second) mine.push_back(value);
  }
}

template <class Value>
std::map<Value, std::uint32_t> positions(const std::vector<Value>& values) {
  std::map<Value, std::uint32_t> ids;
  for (const Value& value : values) ids.emplace(value, static_cast<std::uint32_t>(ids.size()));
  return ids;
}

template <class Value>
std::uint32_t id_of(const std::map<Value, std::uint32_t>& ids, const Value& value) {
  const auto found = ids.find(value);
  return found == ids.end() ? ProcessCallSites::kUndefined : found->second;
}

}  // namespace

SharedCallSites collect_call_sites(const ProcessDefinitions& process) {
  SharedCallSites all;
  for (const CallSiteDefinition& site : process.call_sites) {
    all.texts.push_back(call_site_of(site));
    if (site.line != 0) all.lines.push_back({site.file, site.line});
  }
  SharedCallSites site_rows;
  merge_call_sites(site_rows, all);
  return site_rows;
}

void merge_call_sites(SharedCallSites& mine, const SharedCallSites& theirs) {
  add_new(mine.texts, theirs.texts);
  add_new(mine.lines, theirs.lines);
}

void put_call_sites(ByteWriter& to, const SharedCallSites& site_rows) {
  to.put_u64(site_rows.texts.size());
  for (const std::string& text : site_rows.texts) to.put_text(text);
  to.put_u64(site_rows.lines.size());
  for (const SourceLine& line : site_rows.lines) {
    to.put_text(line.file);
    to.put_u64(line.line);
  }
}

SharedCallSites get_call_sites(ByteReader& from) {
  SharedCallSites site_rows;
  site_rows.texts.resize(from.count());
  for (std::string& text : site_rows.texts) text = from.text();
  site_rows.lines.resize(from.count());
  for (SourceLine& line : site_rows.lines) {
    line.file = from.text();
    line.line = static_cast<std::uint32_t>(from.u64());
  }
  return site_rows;
}

CallSiteIds call_site_ids(const SharedCallSites& site_rows) {
  return {positions(site_rows.texts), positions(site_rows.lines)};
}

ProcessCallSites::ProcessCallSites(const ProcessDefinitions& process, const CallSiteIds& ids) {
  for (const CallSiteDefinition& site : process.call_sites) {
    texts_.push_back(id_of(ids.texts, call_site_of(site)));
    lines_.push_back(site.line == 0 ? kUndefined
                                    : id_of(ids.lines, SourceLine{site.file, site.line}));
  }
}

}  // namespace megascope::otf2
