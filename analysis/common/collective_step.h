#pragma once

#include "core/record/definitions.h"
#include "core/record/event_view.h"

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
  events::Maybe<events::Collective> collective = {};  ///< empty for a call on a window or file
};

/// Calls visit(CollectiveStep) once for each collective that a call begins, according to the facts
/// of the call. Creation and freeing of windows, fences, and all collective calls on files are
/// collectives, too. Skips collectives on unknown communicators, windows and files.
template <class Visit>
void for_each_collective(const ProcessDefinitions& process, std::span<const Fact> facts,
                         Visit&& visit) {
  FileId file = kNoFile;
  const auto give = [&](Slot slot, std::uint32_t sequence, const Fact& fact,
                        events::Maybe<events::Collective> collective = {}) {
    if (slot != kNoSlot) visit(CollectiveStep{slot, sequence, &fact, collective});
  };
  const events::Handler handler{
      [&](events::Collective collective) {
        give(slot_of_comm(process, collective.comm()), collective.sequence(), collective.fact(),
             collective);
      },
      [&](events::WindowUse use) {
        switch (use.use()) {
          case events::WindowUse::Use::kCreated:
            return give(slot_of_comm(process, use.comm()), use.sequence(), use.fact());
          case events::WindowUse::Use::kFreed:
            return give(slot_of_window(process, use.window()), use.sequence(), use.fact());
          case events::WindowUse::Use::kOther:
            return;
        }
      },
      [&](events::RmaSync sync) {
        if (sync.sync() == events::RmaSync::Sync::kFence)
          give(slot_of_window(process, sync.window()), sync.sequence(), sync.fact());
      },
      [&](events::FileUse use) {
        if (use.use() == events::FileUse::Use::kOpened)
          return give(slot_of_comm(process, use.comm()), use.sequence(), use.fact());
        file = use.file();
      },
      [&](events::FileTransfer transfer) { file = transfer.file(); },
      [&](events::FileCollective call) {
        if (call.comm() != kNoComm && !call.has_file())  // MPI_File_open failed or has not returned
          return give(slot_of_comm(process, call.comm()), call.sequence(), call.fact());
        give(slot_of_file(process, call.has_file() ? call.file() : file), call.number(),
             call.fact());
      },
      events::Ignores<events::Send, events::PostedReceive, events::Receive, events::MatchedProbe,
                      events::FoundMessage, events::Completion, events::RequestUse,
                      events::CollectiveCompletion, events::CommChange, events::RmaOperation,
                      events::Error, events::LocalBytes, events::CallSite, events::Value,
                      events::Left>()};
  for (const Fact& fact : facts) events::visit(fact, handler);
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
