#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/file_fact.h"

#include <cstdint>
#include <span>

namespace megascope::analysis {

/// Number of a communicator, window or file in one process: first the communicators by CommId, then
/// the windows by WinId, then the files by FileId. Collectives are counted separately for each
/// slot.
using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = 0xFFFFFFFF;

inline std::size_t slot_count(const ProcessDefinitions& process) {
  return process.comms.size() + process.windows.size() + process.files.size();
}
inline Slot slot_of_comm(const ProcessDefinitions& process, CommId comm) {
  return comm < process.comms.size() ? comm : kNoSlot;
}
inline Slot slot_of_window(const ProcessDefinitions& process, WinId window) {
  return window < process.windows.size() ? static_cast<Slot>(process.comms.size() + window)
                                         : kNoSlot;
}
inline Slot slot_of_file(const ProcessDefinitions& process, FileId file) {
  const std::size_t before = process.comms.size() + process.windows.size();
  return file < process.files.size() ? static_cast<Slot>(before + file) : kNoSlot;
}
/// Returns kNoWin if the slot is not a window.
inline WinId window_of_slot(const ProcessDefinitions& process, Slot slot) {
  const std::size_t before = process.comms.size();
  return slot >= before && slot - before < process.windows.size()
             ? static_cast<WinId>(slot - before)
             : kNoWin;
}

/// One collective that a call begins.
struct CollectiveStep {
  Slot slot = kNoSlot;
  std::uint32_t sequence = 0;  ///< number of the collective among those of the slot, from 0
  const Fact* fact = nullptr;  ///< the fact that records it; valid as long as the facts of the call
};

/// Calls visit(CollectiveStep) for each collective that the facts of one call begin. Creation and
/// freeing of windows, fences, and all collective calls on files are collectives, too. Skips
/// collectives on unknown communicators, windows and files.
template <class Visit>
void for_each_collective(const ProcessDefinitions& process, std::span<const Fact> facts,
                         Visit&& visit) {
  FileId file = kNoFile;
  for (const Fact& fact : facts) {
    CollectiveStep step{.sequence = fact.sequence, .fact = &fact};
    switch (fact.kind) {
      case FactKind::kCollective:
      case FactKind::kCollectiveRequest:
      case FactKind::kWinCreated:
      case FactKind::kFileOpened:
        step.slot = slot_of_comm(process, fact.comm);
        break;
      case FactKind::kFence:
      case FactKind::kWinFreed:
        step.slot = slot_of_window(process, window_of(fact));
        break;
      case FactKind::kFileCollective:
        if (fact.comm != kNoComm &&
            fact.peer == kNoPeer) {  // an MPI_File_open that failed or has not returned
          step.slot = slot_of_comm(process, fact.comm);
        } else {
          step.slot = slot_of_file(process, fact.peer != kNoPeer ? file_of(fact) : file);
          step.sequence = fact.request;
        }
        break;
      default:
        if (is_file_fact(fact.kind)) file = file_of(fact);
    }
    if (step.slot != kNoSlot) visit(step);
  }
}

/// Returns the communicator whose members are the members of the slot; nullptr if it is unknown.
inline const CommDefinition* comm_of_slot(const ProcessDefinitions& process, Slot slot) {
  if (slot < process.comms.size()) return &process.comms[slot];
  const std::size_t window = slot - process.comms.size();
  if (window < process.windows.size()) return process.comm(process.windows[window].comm);
  const std::size_t file = window - process.windows.size();
  return file < process.files.size() ? process.comm(process.files[file].comm) : nullptr;
}

}  // namespace megascope::analysis
