#pragma once

#include "core/record/definitions.h"
#include "core/record/event_view.h"
#include "core/record/world_ranks.h"
#include "exporters/common/json_text.h"
#include "exporters/megascan/tally.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::megascan {

/// Returns the name that MegaScan gives to the operation at the other end of a message. It is
/// `operation` with "send" and "recv" exchanged, except for some irregular names such as
/// "recv-extra". is_both_ways: the operation sends and receives. Its other end then has the same
/// name, except for irregular names. Returns an empty name if `operation` does not determine the
/// other end.
std::string partner_of(std::string_view operation, bool is_both_ways);

/// Writes the facts of a process's calls as members of a JSON object, each preceded by a comma.
/// - MegaScan's attributes: micro_batch_index, model_chunk, expect, group (world ranks of the
///   partners), data (bytes of messages in both directions), bandwidth.
/// - Additional attributes: seq_id; one list for sends and one for receives, with communicator,
///   peer, tag and bytes of each message in succession; one list for collectives, with
///   communicator, sequence, root, bytes sent and bytes received of each.
///
/// A message is written with the call that sends it and with the call in which it arrives. A
/// nonblocking collective is written with the call that completes it.
class FactText {
 public:
  /// Largest size of a group that is written. Larger groups are omitted, because MegaScan's time
  /// and memory grow with the size.
  static constexpr std::int64_t kWidestGroup = 1024;

  explicit FactText(const ProcessDefinitions& process);

  /// Appends the members. name: name of the call's operation.
  void write(const Call& call, std::string_view name, timeline::JsonText& to, Tally& tally);

 private:
  void sort_facts(const Call& call, Tally& tally);
  void write_values(const Call& call, timeline::JsonText& to, Tally& tally) const;
  void write_group(std::string_view name, timeline::JsonText& to, Tally& tally);
  void write_data(const Call& call, timeline::JsonText& to) const;
  void write_lists(timeline::JsonText& to) const;
  void add_others_of(CommId comm);

  const ProcessDefinitions& process_;
  WorldRanks world_ranks_;
  // Events of the call that is being written.
  std::vector<events::Send> sends_;
  std::vector<events::Receive> receives_;
  std::vector<events::CollectiveOperation> collectives_;
  std::vector<std::int32_t> group_;
};

}  // namespace megascope::megascan
