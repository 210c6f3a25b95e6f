#include "exporters/otf2/shared_places.h"

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
  return found == ids.end() ? ProcessPlaces::kUndefined : found->second;
}

}  // namespace

SharedPlaces collect_places(const ProcessDefinitions& process) {
  SharedPlaces all;
  for (const CallSiteDefinition& site : process.call_sites) {
    all.texts.push_back(place_of(site));
    if (site.line != 0) all.lines.push_back({site.file, site.line});
  }
  SharedPlaces places;
  merge_places(places, all);
  return places;
}

void merge_places(SharedPlaces& mine, const SharedPlaces& theirs) {
  add_new(mine.texts, theirs.texts);
  add_new(mine.lines, theirs.lines);
}

void put_places(ByteWriter& to, const SharedPlaces& places) {
  to.put_u64(places.texts.size());
  for (const std::string& text : places.texts) to.put_text(text);
  to.put_u64(places.lines.size());
  for (const SourceLine& line : places.lines) {
    to.put_text(line.file);
    to.put_u64(line.line);
  }
}

SharedPlaces get_places(ByteReader& from) {
  SharedPlaces places;
  places.texts.resize(from.count());
  for (std::string& text : places.texts) text = from.text();
  places.lines.resize(from.count());
  for (SourceLine& line : places.lines) {
    line.file = from.text();
    line.line = static_cast<std::uint32_t>(from.u64());
  }
  return places;
}

PlaceIds place_ids(const SharedPlaces& places) {
  return {positions(places.texts), positions(places.lines)};
}

ProcessPlaces::ProcessPlaces(const ProcessDefinitions& process, const PlaceIds& ids) {
  for (const CallSiteDefinition& site : process.call_sites) {
    texts_.push_back(id_of(ids.texts, place_of(site)));
    lines_.push_back(site.line == 0 ? kUndefined
                                    : id_of(ids.lines, SourceLine{site.file, site.line}));
  }
}

}  // namespace megascope::otf2
