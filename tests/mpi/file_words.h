#pragma once

#include "core/record/definitions.h"
#include "core/record/file_fact.h"

#include <string>

namespace megascope::mpitest {

/// What a fact about a file says, for Lines:
///
///   opened data          write data at 100 all bytes 20      read data bytes 30/100 (30 of 100)
///   iread r1 data bytes 8      got r1 data bytes 8      seek data end -4 to 96      view data at 0
///   etype 4
///
/// request: " r1". The file by its name.
inline std::string file_text(const Fact& fact, const FileDefinition* file,
                             const std::string& request) {
  const std::string name = " " + (file != nullptr ? file->name : "unknown file");
  const FileAccess access = access_of(fact);
  const std::string at = access.offset != kNoOffset ? " at " + std::to_string(access.offset) : "";
  const std::string place = name + at + (access.is_collective ? " all" : "");
  const std::string whole = " bytes " + std::to_string(fact.bytes);
  const std::string bytes = " bytes " + std::to_string(transferred(fact)) +
                            (fact.bytes_received != 0 ? "/" + std::to_string(fact.bytes) : "");
  switch (fact.kind) {
    case FactKind::kFileOpened:
      return "opened" + name;
    case FactKind::kFileClosed:
      return "closed" + name;
    case FactKind::kFileDeleted:
      return "deleted" + name;
    case FactKind::kFileRead:
      return "read" + place + bytes;
    case FactKind::kFileWrite:
      return "write" + place + bytes;
    case FactKind::kFileReadRequest:
      return "iread" + request + place + whole;
    case FactKind::kFileWriteRequest:
      return "iwrite" + request + place + whole;
    case FactKind::kFileReadComplete:
      return "got" + request + place + bytes;
    case FactKind::kFileWriteComplete:
      return "put" + request + place + bytes;
    case FactKind::kFileTest:
      return "tested" + request + name;
    case FactKind::kFileCancelled:
      return "cancelled" + request + name;
    case FactKind::kFileSync:
      return "sync" + name;
    case FactKind::kFileSize:
      return "size" + name + " " + std::to_string(fact.bytes);
    case FactKind::kFileView:
      return "view" + name + at + " etype " + std::to_string(fact.bytes);
    case FactKind::kFileUsed:
      return "uses" + name;
    case FactKind::kFileSeek: {
      constexpr const char* kFrom[] = {" start ", " current ", " end "};
      const FileSeek seek = seek_of(fact);
      const std::string reached = seek.reached != kNoOffset ? std::to_string(seek.reached)
                                                            : "unknown";
      return "seek" + name + kFrom[static_cast<int>(seek.from)] + std::to_string(seek.asked) +
             " to " + reached;
    }
    default:
      return "no fact about a file";
  }
}

}  // namespace megascope::mpitest
