#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "core/lifecycle/live_server.h"
#include "core/record/annotation.h"
#include "core/record/source.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace megascope {

class LiveServer;

/// One export, as one of its members sees it. Members cover disjoint sets of ranks that together
/// are the run (as far as there are traces); member 0 holds the lowest world rank that is here.
struct ExportJob {
  const RecordSource* source = nullptr;  ///< the member's share; not owned
  Collective* collective = nullptr;      ///< all members; not owned
  std::string folder;                    ///< existing folder to write into, the same on all members
  std::string generator;                 ///< "megascope 0.1.0"
  /// Called now and then with the number of calls done since the last time; may be empty.
  std::function<void(std::uint64_t calls)> progress;
  /// What an analysis found, the same on all members, for formats that can show it; null: nothing
  /// is to be shown. Not owned.
  const Annotations* annotations = nullptr;
  /// OTF2: intercommunicators are written as communicators of both groups. Member 0's counts.
  bool has_plain_comms = false;
};

/// The same on all members.
struct ExportResult {
  std::string path;           ///< the file to open, within folder: "trace.otf2"
  std::uint64_t records = 0;  ///< records of the format written by all members together
  std::uint64_t bytes = 0;    ///< of all files written
  std::vector<std::string>
      notes;  ///< what the format cannot hold and was left out or changed: sentences with how many
};

using ExportFunction = Status (*)(const ExportJob& job, ExportResult& result);

/// Looks up function, file and line of call sites, in place; those that are set already stay.
/// run_start_ns: since the epoch, to tell modules that have changed since the run; 0: not known.
/// notes: gets a sentence for each module that could not be used.
using ResolveFunction = void (*)(std::span<CallSiteDefinition* const> sites,
                                 std::int64_t run_start_ns, std::vector<std::string>& notes);

/// What a module hands to whoever opened it. Host and module come from one build: `build` must be
/// equal.
struct ModuleTable {
  const char* build = nullptr;                   ///< kModuleBuild of the module
  ExportFunction run_export = nullptr;           ///< of a format
  ResolveFunction resolve_call_sites = nullptr;  ///< of `symbols`
  LiveServer* (*make_live_server)() = nullptr;   ///< of `live`; lives until the process ends
};

/// Changes with every release and whenever an interface between the library and its modules
/// changes.
inline constexpr const char kModuleBuild[] = "megascope 0.1.0 modules 6";

}  // namespace megascope
