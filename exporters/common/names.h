#pragma once

#include "core/record/definitions.h"
#include "core/record/point.h"

#include <string>

/// Display names in timelines. They may contain any bytes from the application; see utf8.h.
namespace megascope::timeline {

inline std::string comm_name(const CommDefinition& comm) {
  return comm.name.empty() ? "comm " + std::to_string(comm.id) : comm.name;
}

inline std::string window_name(const WindowDefinition& window) {
  return window.name.empty() ? "window " + std::to_string(window.id) : window.name;
}

inline std::string file_name(const FileDefinition& file) {
  return file.name.empty() ? "file " + std::to_string(file.id) : file.name;
}

/// Returns the name of a process, for example "Rank 3 (node17)".
inline std::string process_name(const ProcessInfo& process) {
  const std::string name = "Rank " + std::to_string(process.world_rank);
  return process.host.empty() ? name : name + " (" + process.host + ")";
}

inline std::string thread_name(const LocationDefinition& location) {
  return location.name.empty() ? "thread " + std::to_string(location.id) : location.name;
}

/// Returns the name of a tensor, for example "layer.3.qkv.weight".
inline std::string tensor_name(const ProcessDefinitions& process, TensorId id) {
  return id < process.tensors.size() ? process.tensors[id] : "tensor " + std::to_string(id);
}
/// Returns a shape as text, for example "float32 [8, 128]".
inline std::string shape_text(const TensorShape& shape) {
  std::string text(kElementTypeNames[static_cast<std::size_t>(shape.type)]);
  text += " [";
  for (unsigned i = 0; i < shape.dimension_count; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape.extents[i]);
  return text + "]";
}

/// Returns the category of a region's slices: its group, or its paradigm if it has no group.
inline std::string category(const RegionDefinition& region) {
  if (!region.group.empty()) return region.group;
  switch (region.paradigm) {
    case Paradigm::kUser:
      return "user";
    case Paradigm::kMeasurement:
      return "measurement";
    case Paradigm::kMpi:
      break;
  }
  return "mpi";
}

}  // namespace megascope::timeline
