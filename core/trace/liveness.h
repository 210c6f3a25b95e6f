#pragma once

#include "core/base/status.h"
#include "core/record/definitions.h"
#include "core/trace/layout.h"

/// Does the process that writes a trace still run? A trace is moved only with proof that its writer
/// is gone; without proof it is copied.
namespace megascope::trace {

enum class Liveness {
  kUnknown,  ///< no proof
  kRuns,
  kGone
};

/// Identity of the calling process. Members are empty where /proc is not readable.
ProcessIdentity this_process();

/// The identity that the header of a trace contains.
ProcessIdentity identity_in(const FileHeader& header);

/// By pid and identity alone: kUnknown unless the writer was in this PID namespace of this boot.
/// There it is gone if the pid is absent, belongs to a process that started at another time, or is
/// a zombie without other threads. A pid that belongs to another user (EPERM) runs, unless its
/// start time differs. A start time that differs proves nothing of a process in another time
/// namespace. An inode of a PID namespace is reused only after all processes
/// of the namespace ended, so equal inodes in one boot suffice.
Liveness liveness_of(const ProcessInfo& info);

/// The same for a trace in scratch storage, with the file as further evidence. file: descriptor of
/// the trace, O_RDONLY, which must belong to geteuid(). The kernel knows whether any process maps
/// the file: F_SETLEASE refuses a read lease while a writable mapping or descriptor exists, in
/// every PID namespace. It is asked on file systems that one kernel at a time mounts (ext, XFS,
/// F2FS, JFS, tmpfs). A refused lease means kRuns, also where the identity says kGone: a process
/// that CRIU restored has another start time. A granted one decides only where the identity does
/// not (containers, shared scratch), and means kGone only if the header says that the writer maps
/// the file. A writer that sees a network file system does not map it, although this machine, which
/// exports it, may see ext; and traces of version 0.1 do not say: kUnknown.
///
/// A boot id that differs proves nothing: system containers (LXC, systemd-nspawn) have boot ids of
/// their own. After a real restart a local file is not mapped, so the lease is the proof. Not valid
/// for copies: their writer does not map them.
Liveness liveness_of_writer(int file, const FileHeader& header);

}  // namespace megascope::trace
