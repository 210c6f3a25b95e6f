#include "plugin/cli/hang/view.h"

#include <fmt/format.h>

#include <string_view>

/// Texts for waits other than for messages and collectives: windows, files, other worlds.
namespace megascope::cli {
namespace {

using analysis::Want;

std::string part_text(const HangView& view, const Want& want) {
  if (want.target == kNoPeer) return view.object_name(want.comm);
  return fmt::format("rank {}'s part of {}", want.target, view.object_name(want.comm));
}

std::string world_text(const HangView& view, std::string_view function, const Want& want) {
  if (function == "MPI_Comm_accept")
    return "a connection: another world that calls MPI_Comm_connect";
  if (function == "MPI_Comm_connect") return "another world, to call MPI_Comm_accept";
  if (function == "MPI_Comm_join") return "another world, at the other end of the socket";
  if (function.starts_with("MPI_Comm_spawn")) return "the spawned world, to reach MPI_Init";
  return "another world, through " + view.object_name(want.comm);
}

std::string with_end(const HangView& view, const Want& want, const std::string& text) {
  const std::string end = ends_text(view, {want.partner});
  return end.empty() ? text : text + " (" + end + ")";
}

}  // namespace

bool is_elsewhere(const Want& want) {
  return !is_message(want) && want.kind != Want::Kind::kCollective;
}

std::string elsewhere_text(const HangView& view, const analysis::Waiting& waiting, const Want& want,
                           std::int32_t own_rank) {
  const std::string function = view.function(waiting.world_rank, want.region);
  switch (want.kind) {
    case Want::Kind::kPost:
      return with_end(view, want,
                      peer_text(view, want.partner, own_rank) + " to call MPI_Win_post for it");
    case Want::Kind::kComplete:
      return with_end(view, want,
                      peer_text(view, want.partner, own_rank) + " to call MPI_Win_complete");
    case Want::Kind::kLock: {
      const std::string lock = "the lock of " + part_text(view, want);
      if (want.partner == kNoPeer) return lock + "; no rank is known to hold it";
      return with_end(
          view, want,
          fmt::format("{}, which {} holds{}", lock, peer_text(view, want.partner, own_rank),
                      want.is_exclusive ? " exclusively" : ""));
    }
    case Want::Kind::kTarget:
      return part_text(view, want) +
             (want.target == kNoPeer
                  ? ""
                  : fmt::format("; rank {} may have to call MPI for progress", want.target));
    case Want::Kind::kWorld:
      return world_text(view, function, want);
    default:
      return function + "; no call of another rank is known to block it";
  }
}

}  // namespace megascope::cli
