#include "exporters/perfetto/names.h"

#include "exporters/common/names.h"
#include "exporters/common/utf8.h"
#include "exporters/perfetto/schema.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace megascope::perfetto {
namespace {

using schema::InternedData;

void add_string(protozero::pbf_writer& interned, std::uint32_t field, std::uint64_t iid,
                std::string_view text) {
  protozero::pbf_writer entry(interned, field);
  entry.add_uint64(schema::InternedString::kIid, iid);
  entry.add_string(schema::InternedString::kName, timeline::valid_utf8(text));
}

}  // namespace

Names::Names(const ProcessDefinitions& process, PacketStream& packets)
    : process_(process),
      packets_(packets),
      first_window_(comm(static_cast<CommId>(process.comms.size()))) {
  protozero::pbf_writer writer(interned_);
  std::map<std::string, std::uint32_t> categories;
  const auto category_iid = [&](const std::string& category) {
    const auto [entry, is_new] = categories.emplace(
        category, static_cast<std::uint32_t>(categories.size() + 1));
    if (is_new) add_string(writer, InternedData::kEventCategories, entry->second, category);
    return entry->second;
  };
  regions_.assign(1, {0, category_iid("unknown")});
  for (const RegionDefinition& region : process.regions) {
    if (region.id >= regions_.size()) regions_.resize(region.id + std::size_t{1}, regions_.front());
    if (region.id != kNoRegion) regions_[region.id] = {0, category_iid(timeline::category(region))};
  }
  first_free_category_ = categories.size() + 1;
  for (std::size_t i = 0; i < timeline::kArgumentNameCount; ++i) {
    const auto name = static_cast<timeline::ArgumentName>(i);
    add_string(writer, InternedData::kDebugAnnotationNames, argument(name),
               timeline::argument_name(name));
  }
  add_string(writer, InternedData::kDebugAnnotationStringValues, kAny, timeline::kAnyText);
  for (const CommDefinition& definition : process.comms) {
    add_string(writer, InternedData::kDebugAnnotationStringValues, comm(definition.id),
               timeline::comm_name(definition));
  }
  for (const WindowDefinition& definition : process.windows) {
    add_string(writer, InternedData::kDebugAnnotationStringValues, window(definition.id),
               timeline::window_name(definition));
  }
  first_file_ = window(static_cast<WinId>(process.windows.size()));
  for (const FileDefinition& definition : process.files) {
    add_string(writer, InternedData::kDebugAnnotationStringValues, file(definition.id),
               timeline::file_name(definition));
  }
  first_site_ = file(static_cast<FileId>(process.files.size()));
  for (const CallSiteDefinition& site : process.call_sites) {
    add_string(writer, InternedData::kDebugAnnotationStringValues, call_site(site.id),
               place_of(site));
  }
}

std::uint32_t Names::define_event_name(std::string_view name) {
  std::string interned;
  protozero::pbf_writer writer(interned);
  add_string(writer, InternedData::kEventNames, ++last_name_, name);
  packets_.put(schema::TracePacket::kInternedData, interned);
  return last_name_;
}

void Names::define_region(Region& region, RegionId id) {
  const auto definition = std::ranges::find(process_.regions, id, &RegionDefinition::id);
  region.name = define_event_name(definition != process_.regions.end() ? definition->name
                                                                       : "unknown region");
}

}  // namespace megascope::perfetto
