#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/file_fact.h"

#include <cstdint>
#include <span>

namespace megascope::analysis {

/// What collectives are called on, numbered in a process: its communicators (by CommId), then its
/// windows, then its files.
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
/// kNoWin: it is no window.
inline WinId window_of_slot(const ProcessDefinitions& process, Slot slot) {
  const std::size_t before = process.comms.size();
  return slot >= before && slot - before < process.windows.size()
             ? static_cast<WinId>(slot - before)
             : kNoWin;
}

/// One collective begun by a call.
struct CollectiveStep {
  Slot slot = kNoSlot;
  std::uint32_t sequence = 0;  ///< among the collectives of the slot
  const Fact* fact = nullptr;  ///< that tells it
};

/// Calls visit(CollectiveStep) for each collective that the facts of one call begin: also the
/// making and the end of windows, fences, and all collective calls on files.
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
            fact.peer == kNoPeer) {  // an opening that failed, or has not returned
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

/// The communicator that the members of a slot are those of; nullptr: not known.
inline const CommDefinition* comm_of_slot(const ProcessDefinitions& process, Slot slot) {
  if (slot < process.comms.size()) return &process.comms[slot];
  const std::size_t window = slot - process.comms.size();
  if (window < process.windows.size()) return process.comm(process.windows[window].comm);
  const std::size_t file = window - process.windows.size();
  return file < process.files.size() ? process.comm(process.files[file].comm) : nullptr;
}

}  // namespace megascope::analysis
