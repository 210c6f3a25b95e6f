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

/// Returns the name of the operation at the other end of a message in MegaScan's naming: the same
/// name with "send" and "recv" exchanged, except for irregular names ("recv-extra"). is_both_ways:
/// the operation sends and receives; unless its name is irregular, the other end has the same name.
/// Empty: the name does not specify the other end.
std::string partner_of(std::string_view operation, bool is_both_ways);

/// Writes the facts of a process's calls as members of a JSON object, each preceded by a comma.
/// - MegaScan's attributes: micro_batch_index, model_chunk, expect, group (world ranks of the
///   others), data (bytes of messages, both directions), bandwidth.
/// - Additional attributes: seq_id; sends and receives as repeated communicator, peer, tag, bytes;
///   collectives as repeated communicator, sequence, root, bytes sent, bytes received.
/// A message is written at its send and at its arrival; a nonblocking collective where it
/// completes.
class FactText {
 public:
  /// Larger groups are omitted, because MegaScan's time and memory grow with them.
  static constexpr std::int64_t kWidestGroup = 1024;

  explicit FactText(const ProcessDefinitions& process);

  /// Appends the members. name: of the call's operation.
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
