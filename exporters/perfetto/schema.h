#pragma once

#include <cstdint>

/// The subset of Perfetto's schema used here: field numbers of protos/perfetto/trace, by message.
namespace megascope::perfetto::schema {

struct Trace {
  static constexpr std::uint32_t kPacket = 1;
};
struct TracePacket {
  static constexpr std::uint32_t kClockSnapshot = 6;
  static constexpr std::uint32_t kTimestamp = 8;
  static constexpr std::uint32_t kTrustedPacketSequenceId = 10;
  static constexpr std::uint32_t kTrackEvent = 11;
  static constexpr std::uint32_t kInternedData = 12;
  static constexpr std::uint32_t kSequenceFlags = 13;
  static constexpr std::uint32_t kTracePacketDefaults = 59;
  static constexpr std::uint32_t kTrackDescriptor = 60;

  static constexpr std::uint32_t kIncrementalStateCleared = 1;  ///< sequence_flags
};
struct TracePacketDefaults {
  static constexpr std::uint32_t kTrackEventDefaults = 11;
  static constexpr std::uint32_t kTimestampClockId = 58;
};
struct ClockSnapshot {
  static constexpr std::uint32_t kClocks = 1;
};
struct Clock {
  static constexpr std::uint32_t kClockId = 1;
  static constexpr std::uint32_t kTimestamp = 2;
  static constexpr std::uint32_t kIsIncremental = 3;

  static constexpr std::uint32_t kRealtime = 1;  ///< value of clock_id
  static constexpr std::uint32_t kBoottime = 6;  ///< the default clock of a trace
  static constexpr std::uint32_t kSequenceScoped = 64;
};
struct InternedData {
  static constexpr std::uint32_t kEventCategories = 1;
  static constexpr std::uint32_t kEventNames = 2;
  static constexpr std::uint32_t kDebugAnnotationNames = 3;
  static constexpr std::uint32_t kDebugAnnotationStringValues = 29;
};
struct InternedString {
  static constexpr std::uint32_t kIid = 1;
  static constexpr std::uint32_t kName = 2;
};
struct TrackDescriptor {
  static constexpr std::uint32_t kUuid = 1;
  static constexpr std::uint32_t kName = 2;
  static constexpr std::uint32_t kProcess = 3;
  static constexpr std::uint32_t kThread = 4;
  static constexpr std::uint32_t kParentUuid = 5;
  static constexpr std::uint32_t kCounter = 8;
  static constexpr std::uint32_t kChildOrdering = 11;
  static constexpr std::uint32_t kSiblingOrderRank = 12;
  static constexpr std::uint32_t kProcessOrdering = 19;
  static constexpr std::uint32_t kThreadOrdering = 20;

  static constexpr std::uint32_t kChildrenExplicit = 3;  ///< value of child_ordering
  /// Value of process_ordering and thread_ordering.
  static constexpr std::uint32_t kExplicit = 1;
};
struct ProcessDescriptor {
  static constexpr std::uint32_t kPid = 1;
  static constexpr std::uint32_t kCmdline = 2;
  static constexpr std::uint32_t kLegacySortIndex = 3;
  static constexpr std::uint32_t kProcessName = 6;
};
struct ThreadDescriptor {
  static constexpr std::uint32_t kPid = 1;
  static constexpr std::uint32_t kTid = 2;
  static constexpr std::uint32_t kLegacySortIndex = 3;
  static constexpr std::uint32_t kThreadName = 5;
};
struct CounterDescriptor {
  static constexpr std::uint32_t kUnitName = 6;
};
struct TrackEvent {
  static constexpr std::uint32_t kCategoryIids = 3;
  static constexpr std::uint32_t kDebugAnnotations = 4;
  static constexpr std::uint32_t kType = 9;
  static constexpr std::uint32_t kNameIid = 10;
  static constexpr std::uint32_t kTrackUuid = 11;
  static constexpr std::uint32_t kCategories = 22;
  static constexpr std::uint32_t kName = 23;
  static constexpr std::uint32_t kDoubleCounterValue = 44;
  static constexpr std::uint32_t kFlowIdsOld = 36;  ///< as kFlowIds, but varints
  static constexpr std::uint32_t kFlowIds = 47;     ///< fixed64

  static constexpr std::uint32_t kSliceBegin = 1;  ///< value of type
  static constexpr std::uint32_t kSliceEnd = 2;
  static constexpr std::uint32_t kInstant = 3;
  static constexpr std::uint32_t kTypeCounter = 4;
};
struct TrackEventDefaults {
  static constexpr std::uint32_t kTrackUuid = 11;
};
struct DebugAnnotation {
  static constexpr std::uint32_t kNameIid = 1;
  static constexpr std::uint32_t kBoolValue = 2;
  static constexpr std::uint32_t kUintValue = 3;
  static constexpr std::uint32_t kIntValue = 4;
  static constexpr std::uint32_t kDoubleValue = 5;
  static constexpr std::uint32_t kStringValue = 6;
  static constexpr std::uint32_t kName = 10;
  static constexpr std::uint32_t kStringValueIid = 17;
};

}  // namespace megascope::perfetto::schema
