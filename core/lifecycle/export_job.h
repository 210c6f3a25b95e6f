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

/// Arguments of one member of an export. The members are the processes that write the export
/// together. Each member exports a set of ranks. The sets are disjoint and together contain all
/// ranks with traces. Member 0 exports the lowest world rank.
struct ExportJob {
  const RecordSource*
      source = nullptr;              ///< records of the ranks that this member exports; not owned
  Collective* collective = nullptr;  ///< all members; not owned
  std::string directory;             ///< existing directory for the output, the same on all members
  std::string generator;             ///< "megascope 0.1.0"
  /// Called from time to time. calls: number of calls exported since the previous call of
  /// `progress`. May be empty.
  std::function<void(std::uint64_t calls)> progress;
  /// Findings of an analysis, the same on all members, for formats that can show them; null: none.
  /// Not owned.
  const Annotations* annotations = nullptr;
  /// OTF2: writes intercommunicators as communicators of both groups. Member 0's value is used.
  bool has_plain_comms = false;
};

/// Result of an export, the same on all members.
struct ExportResult {
  std::string path;                ///< file to open, in the output directory: "trace.otf2"
  std::uint64_t records = 0;       ///< records of the format that all members wrote
  std::uint64_t bytes = 0;         ///< size of all files written
  std::vector<std::string> notes;  ///< sentences about data that the format cannot hold and that
                                   ///< was omitted or changed, with counts
};

using ExportFunction = Status (*)(const ExportJob& job, ExportResult& result);

/// Looks up function, file and line of call sites in place; keeps those that are set. run_start_ns:
/// since the epoch, to detect program files that changed after the run; 0: unknown. notes: receives
/// a sentence for each program file that could not be used.
using ResolveFunction = void (*)(std::span<CallSiteDefinition* const> sites,
                                 std::int64_t run_start_ns, std::vector<std::string>& notes);

/// Entry points of a loadable module. A module sets those that it implements; the others are null.
/// The library refuses a module whose `build` differs from its own kModuleBuild.
struct ModuleTable {
  const char* build = nullptr;                   ///< kModuleBuild of the module
  ExportFunction run_export = nullptr;           ///< modules that write a format
  ResolveFunction resolve_call_sites = nullptr;  ///< module `symbols`
  LiveServer* (*make_live_server)() = nullptr;   ///< module `live`; exists until the process ends
};

/// Changes with every release and with every change of an interface between the library and its
/// modules.
inline constexpr const char kModuleBuild[] = "megascope 0.1.0 modules 6";

}  // namespace megascope
