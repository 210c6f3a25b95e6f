#pragma once

#include "core/record/event_view.h"
#include "exporters/otf2/calls.h"
#include "exporters/otf2/shared_files.h"

#include <otf2/otf2.h>

#include <cstdint>
#include <vector>

namespace megascope::otf2 {

/// State of the files of one process that its locations share while events are written.
struct ProcessIo {
  ProcessIo(const ProcessDefinitions& process, const ProcessFiles& files)
      : definitions(process), ids(files), uses(process.files.size()) {}

  struct Use {
    bool is_opened = false;
    bool is_used = false;
  };
  /// Returns the OTF2 ids of handles that are used, but whose opening is not in the trace.
  std::vector<std::uint32_t> handles_without_opening() const;

  const ProcessDefinitions& definitions;
  const ProcessFiles& ids;
  std::vector<Use> uses;  ///< by FileId
  std::uint32_t blocking_count = 0;
};

/// Writes facts about files as OTF2's I/O events, for one location.
class IoEvents {
 public:
  /// All arguments must outlive this object. calls: of the location.
  IoEvents(OTF2_EvtWriter* writer, Calls& calls, ProcessIo& process)
      : writer_(writer), calls_(calls), process_(process) {}

  /// Write the events at the begin of a call. transfer, use: view of a fact of the call. kept: a
  /// copy of this fact. The function stores the number of a blocking operation in `kept`. At the
  /// return of the call, pass a FileTransfer or FileUse of `kept` to finish(), which derives the
  /// operation's OTF2 id from the number. list: must be empty; used for attributes, and empty
  /// afterwards.
  void start(events::FileTransfer transfer, Fact& kept, std::uint64_t time_ns,
             OTF2_AttributeList* list);
  void start(events::FileUse use, Fact& kept, std::uint64_t time_ns, OTF2_AttributeList* list);
  /// Write the events at the return of a call.
  void finish(events::FileTransfer transfer, std::uint64_t time_ns);
  void finish(events::FileUse use, std::uint64_t time_ns);

 private:
  std::uint64_t number(Fact& kept);
  bool has_comm(FileId file) const;
  void complete(std::uint32_t handle, std::uint64_t time_ns, std::uint64_t bytes, std::uint64_t id);
  void open(FileId file, std::uint32_t handle, std::uint64_t time_ns);
  void close(FileId file, std::uint32_t handle, std::uint64_t time_ns);
  void remove(FileId file, std::uint64_t time_ns);
  void seek(const FileSeek& seek, std::uint32_t handle, std::uint64_t time_ns);
  std::uint32_t handle_of(FileId file);

  OTF2_EvtWriter* writer_;
  Calls& calls_;
  ProcessIo& process_;
};

/// The only I/O paradigm in archives of MegaScope.
inline constexpr OTF2_IoParadigmRef kMpiIo = 0;

}  // namespace megascope::otf2
