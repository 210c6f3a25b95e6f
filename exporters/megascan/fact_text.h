#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/world_ranks.h"
#include "exporters/common/json_text.h"
#include "exporters/megascan/tally.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::megascan {

/// Where the names of operations are irregular, or swapped "send" and "recv" do not tell it: the
/// operation at the other end of a message, as MegaScan expects it. Empty: there is none.
std::string partner_of(std::string_view operation, bool is_both_ways);

/// What calls of a process did, as members of a JSON object, each behind a comma. MegaScan's own:
/// micro_batch_index, model_chunk, expect, group (world ranks of the others), data (bytes of
/// messages, both ways), bandwidth. Beside them ours: seq_id; sends and receives, as communicator,
/// peer in it, tag, bytes, again and again; collectives, as communicator, sequence, root, bytes
/// sent, bytes received. A message is told where it is sent and where it has arrived, a nonblocking
/// collective where it completes.
class FactText {
 public:
  /// Groups of more members are left out of rows: MegaScan takes time and memory for each.
  static constexpr std::int64_t kWidestGroup = 1024;

  explicit FactText(const ProcessDefinitions& process);

  /// name: of the call's operation. Appends.
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
  std::vector<Fact> sends_;
  std::vector<Fact> receives_;
  std::vector<Fact> collectives_;
  std::vector<std::int32_t> group_;
};

}  // namespace megascope::megascan
