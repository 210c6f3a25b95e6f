#pragma once

#include "core/record/definitions.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace megascope::trace {

/// Encode one definition record (header word, payload, padding) to append to a definitions chunk.
using DefinitionBytes = std::vector<std::byte>;
DefinitionBytes encode_property(std::string_view name, std::string_view value);
DefinitionBytes encode(const RegionDefinition& region);
DefinitionBytes encode(const CommDefinition& comm);
DefinitionBytes encode(const LocationDefinition& location);
DefinitionBytes encode(const CallSiteDefinition& site);
DefinitionBytes encode(const FileDefinition& file);
DefinitionBytes encode(const WindowDefinition& window);
DefinitionBytes encode(const GroupDefinition& group);
DefinitionBytes encode(const ClockSample& sample);
DefinitionBytes encode(const CounterDefinition& counter);
DefinitionBytes encode_tensor(TensorId id, std::string_view name);
DefinitionBytes encode_location_name(LocationId location, std::string_view name);
DefinitionBytes encode_comm_name(CommId comm, std::string_view name);
DefinitionBytes encode_window_name(WinId window, std::string_view name);

/// Applies the definition records of a chunk's payload. bytes: untrusted. Damaged and unknown
/// records are skipped; returns their number.
std::size_t decode_definitions(std::span<const std::byte> bytes, ProcessDefinitions& into);

}  // namespace megascope::trace
