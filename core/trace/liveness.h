#pragma once

#include "core/base/status.h"
#include "core/record/definitions.h"
#include "core/trace/layout.h"

/// Determines whether the process that writes a trace still runs. A trace is moved only if its
/// writer has provably ended; otherwise it is copied.
namespace megascope::trace {

enum class Liveness {
  kUnknown,  ///< no proof
  kRuns,     ///< the process runs
  kGone      ///< the process has ended
};

/// Returns the identity of the calling process. Members are empty if /proc is not readable.
ProcessIdentity this_process();

/// Returns the identity stored in a trace's header.
ProcessIdentity identity_in(const FileHeader& header);

/// Determines liveness by pid and identity only. Returns kUnknown if the identity is not known, or
/// has another PID namespace or boot id than this process.
/// - kGone: the pid does not exist, belongs to a process with another start time, or is a zombie
///   without other threads.
/// - A process of another user (kill() fails with EPERM) counts as running if its start time is
/// equal or cannot be read.
/// - In another time namespace a different start time is no proof.
/// - The inode of a PID namespace is reused only after all its processes ended, so that equal
///   inodes in one boot suffice.
Liveness liveness_of(const ProcessInfo& info);

/// Determines the liveness of the writer of a trace in scratch storage: like liveness_of(), with
/// the file as further evidence. file: descriptor of the trace, O_RDONLY, owned by geteuid(). The
/// kernel knows whether any process maps the file: F_SETLEASE refuses a read lease while a writable
/// mapping or descriptor exists, in every PID namespace. The lease is tried only on file systems
/// that a single kernel mounts at a time (ext, XFS, F2FS, JFS, tmpfs).
/// - A refused lease means kRuns, even if the identity says kGone: a process restored by CRIU has
///   another start time.
/// - A granted lease is used only where the identity does not decide (containers, shared scratch),
///   and means kGone only if the header says that the writer maps the file. The result is kUnknown
/// for a writer on a network file system, which does not map the file although the file server may
/// see a local file system such as ext. It is also kUnknown for traces of version 0.1, whose header
/// does not contain this information.
///
/// A different boot id proves nothing: system containers (LXC, systemd-nspawn) have boot ids of
/// their own. After a restart of the machine a local file is not mapped, so the lease is the proof.
/// Not valid for copies, which their writer does not map.
Liveness liveness_of_writer(int file, const FileHeader& header);

}  // namespace megascope::trace
