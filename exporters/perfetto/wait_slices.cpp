#include "exporters/perfetto/wait_slices.h"

#include "exporters/perfetto/schema.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <bit>

namespace megascope::perfetto {

using schema::DebugAnnotation;
using schema::InternedData;
using schema::TrackEvent;

constexpr std::uint64_t kWaitsFor = Names::kFirstFreeArgument;
constexpr std::uint64_t kSeconds = kWaitsFor + 1;

WaitSlices::WaitSlices(const Annotations* annotations, std::int32_t world_rank, Names& names,
                       PacketStream& packets)
    : annotations_(annotations), strings_(names), packets_(packets) {
  if (annotations == nullptr) return;
  waits_ = annotations->waits_of(world_rank);
  cursor_ = timeline::WaitCursor(waits_);
}

std::string WaitSlices::interned() {
  std::string content;
  if (is_empty()) return content;
  protozero::pbf_writer writer(content);
  const auto add = [&writer](std::uint32_t field, std::uint64_t iid, const std::string& text) {
    protozero::pbf_writer entry(writer, field);
    entry.add_uint64(schema::InternedString::kIid, iid);
    entry.add_string(schema::InternedString::kName, text);
  };
  add(InternedData::kDebugAnnotationNames, kWaitsFor, "waits_for");
  add(InternedData::kDebugAnnotationNames, kSeconds, "seconds");
  add(InternedData::kEventCategories, strings_.first_free_category(), "wait");
  return content;
}

std::uint64_t WaitSlices::name_of(const WaitAnnotation& wait) {
  const auto [entry, is_new] = names_.try_emplace({wait.kind, wait.waits_for}, 0);
  if (is_new) entry->second = strings_.define_event_name(timeline::wait_name(*annotations_, wait));
  return entry->second;
}

void WaitSlices::end(std::size_t index, std::uint64_t time_ns) {
  event_.clear();
  event_.reserve(2 * FieldBuffer::kMaxNumberBytes);
  event_.number(TrackEvent::kType, TrackEvent::kSliceEnd);
  event_.number(TrackEvent::kTrackUuid, open_[index].track_uuid);
  packets_.put_event(time_ns, event_.bytes());
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
}

void WaitSlices::before(const timeline::Event& event) {
  while (!open_.empty()) {
    const auto first = std::ranges::min_element(open_, {}, &Open::end_ns);
    if (first->end_ns > event.time_ns) break;
    end(static_cast<std::size_t>(first - open_.begin()), first->end_ns);
  }
  // A call made by a callback ends the wait, because slices of a thread must nest.
  const auto own = std::ranges::find(open_, event.location, &Open::location);
  if (own != open_.end()) end(static_cast<std::size_t>(own - open_.begin()), event.time_ns);
}

void WaitSlices::entered(const timeline::Event& event, std::uint64_t track_uuid) {
  const WaitAnnotation* const wait = cursor_.of(event.location, event.call->enter_ns,
                                                event.call->leave_ns);
  if (wait == nullptr || event.time_ns != wait->begin_ns || event.leave_ns < wait->end_ns) return;
  event_.clear();
  event_.reserve(16 * FieldBuffer::kMaxNumberBytes);
  event_.number(TrackEvent::kType, TrackEvent::kSliceBegin);
  event_.number(TrackEvent::kNameIid, name_of(*wait));
  event_.number(TrackEvent::kCategoryIids, strings_.first_free_category());
  event_.number(TrackEvent::kTrackUuid, track_uuid);
  argument_.clear();
  argument_.number(DebugAnnotation::kNameIid, kWaitsFor);
  argument_.number(DebugAnnotation::kIntValue, static_cast<std::uint64_t>(wait->waits_for));
  event_.message(TrackEvent::kDebugAnnotations, argument_.bytes());
  argument_.clear();
  argument_.number(DebugAnnotation::kNameIid, kSeconds);
  argument_.fixed64(
      DebugAnnotation::kDoubleValue,
      std::bit_cast<std::uint64_t>(static_cast<double>(wait->end_ns - wait->begin_ns) / 1e9));
  event_.message(TrackEvent::kDebugAnnotations, argument_.bytes());
  packets_.put_event(event.time_ns, event_.bytes());
  open_.push_back({wait->end_ns, track_uuid, event.location});
  ++slice_count_;
}

}  // namespace megascope::perfetto
