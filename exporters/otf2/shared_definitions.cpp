#include "exporters/otf2/shared_definitions.h"

#include "core/base/hash.h"
#include "exporters/otf2/byte_stream.h"
#include "exporters/otf2/rank_runs.h"
#include "exporters/otf2/vocabulary.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace megascope::otf2 {
namespace {

constexpr std::uint64_t kWorldKey = 1;
constexpr std::uint64_t kSelfKey = 2;

std::uint64_t comm_key(const CommDefinition& comm, const SharedComm& shared) {
  if (comm.kind == CommKind::kWorld) return kWorldKey;
  if (comm.kind == CommKind::kSelf) return kSelfKey;
  std::uint64_t key = combined(static_cast<std::uint64_t>(comm.kind), comm.global_name);
  key = combined_ranks(key, shared.members);
  key = combined_ranks(key, shared.remote_members);
  return std::max(key, kSelfKey + 1);
}

/// The communicators of a process, by CommId. `key` is 0 if a definition is invalid.
std::vector<SharedComm> shared_comms(const ProcessDefinitions& definitions,
                                     std::int32_t world_size) {
  std::vector<SharedComm> comms;
  comms.reserve(definitions.comms.size());
  for (const CommDefinition& comm : definitions.comms) {
    SharedComm& shared = comms.emplace_back();
    shared.kind = comm.kind;
    shared.name = comm.name;
    if (comm.kind == CommKind::kRemote) continue;
    if (!are_ranks(comm.members, world_size) || !are_ranks(comm.remote_members, world_size))
      continue;
    if (comm.kind != CommKind::kSelf) shared.members = compress(expand(comm.members));
    if (comm.kind == CommKind::kInter) {
      shared.remote_members = compress(expand(comm.remote_members));
      if (lowest_rank(shared.remote_members) < lowest_rank(shared.members)) {
        std::swap(shared.members, shared.remote_members);
      }
    }
    shared.key = comm_key(comm, shared);
  }
  for (std::size_t i = 0; i < comms.size(); ++i) {
    const CommId parent = definitions.comms[i].parent;
    if (parent < comms.size() && parent != i) comms[i].parent_key = comms[parent].key;
  }
  return comms;
}

std::vector<std::uint64_t> keys_of(const std::vector<SharedComm>& comms) {
  std::vector<std::uint64_t> keys;
  for (const SharedComm& comm : comms) keys.push_back(comm.key);
  return keys;
}

std::vector<std::string> names_of_remote_worlds(const ProcessDefinitions& definitions) {
  std::vector<std::string> names;
  for (const CommDefinition& comm : definitions.comms) {
    if (comm.kind == CommKind::kRemote) names.push_back(comm.name);
  }
  return names;
}

void put_texts(ByteWriter& to, const std::vector<std::string>& texts) {
  to.put_u64(texts.size());
  for (const std::string& text : texts) to.put_text(text);
}
std::vector<std::string> get_texts(ByteReader& from) {
  std::vector<std::string> texts(from.count());
  for (std::string& text : texts) text = from.text();
  return texts;
}

void merge_texts(std::vector<std::string>& mine, std::vector<std::string> theirs) {
  std::unordered_set<std::string> known(mine.begin(), mine.end());
  for (std::string& text : theirs) {
    if (known.insert(text).second) mine.push_back(std::move(text));
  }
}

Collective::Bytes encode_ids(const SharedDefinitions& all) {
  ByteWriter to;
  to.put_u8(all.has_plain_comms ? 1 : 0);
  to.put_u64(all.regions.size());
  for (const RegionDefinition& region : all.regions) to.put_text(region_key(region));
  put_counters(to, all.counters);
  to.put_u64(all.comms.size());
  for (const SharedComm& comm : all.comms) to.put_u64(comm.key);
  put_texts(to, all.remote_worlds);
  put_file_keys(to, all.files);
  put_window_keys(to, all.windows);
  put_call_sites(to, all.call_sites);
  put_runs(to, all.world_ranks);
  put_runs(to, all.threaded_ranks);
  return to.take();
}

Status decode_ids(std::span<const std::byte> bytes, IdTable& ids) {
  ByteReader from(bytes);
  ids.has_plain_comms = from.u8() != 0;
  const std::size_t region_count = from.count();
  for (std::uint32_t id = 0; id < region_count; ++id) ids.regions.emplace(from.text(), id);
  ids.counters = counter_ids(get_counters(from));
  const std::size_t comm_count = from.count();
  for (std::uint32_t id = 0; id < comm_count; ++id) ids.comms.emplace(from.u64(), id);
  ids.remote_worlds = get_texts(from);
  ids.files = get_file_ids(from);
  ids.windows = get_window_ids(from);
  ids.call_sites = call_site_ids(get_call_sites(from));
  ids.world_ranks = get_runs(from);
  ids.threaded_ranks = get_runs(from);
  return from.has_failed() ? Status::error("the definitions of the members are inconsistent")
                           : Status::ok();
}

/// Orders parents before their children; otherwise keeps the order.
void put_parents_first(std::vector<SharedComm>& comms) {
  std::unordered_map<std::uint64_t, std::size_t> index_by_key;
  for (std::size_t i = 0; i < comms.size(); ++i) index_by_key.emplace(comms[i].key, i);
  std::vector<bool> is_placed(comms.size());
  std::vector<SharedComm> ordered;
  ordered.reserve(comms.size());
  // From a communicator to its first ancestor that is not placed yet.
  std::vector<std::size_t> line;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    for (std::size_t next = i; !is_placed[next];) {
      line.push_back(next);
      is_placed[next] = true;
      const auto parent = index_by_key.find(comms[next].parent_key);
      if (parent == index_by_key.end()) break;
      next = parent->second;
    }
    for (; !line.empty(); line.pop_back()) ordered.push_back(std::move(comms[line.back()]));
  }
  comms = std::move(ordered);
}

void merge_regions(std::vector<RegionDefinition>& mine, std::vector<RegionDefinition>& theirs) {
  std::unordered_set<std::string> known;
  for (const RegionDefinition& region : mine) known.insert(region_key(region));
  for (RegionDefinition& region : theirs) {
    if (known.insert(region_key(region)).second) mine.push_back(std::move(region));
  }
}

void merge_comms(std::vector<SharedComm>& mine, std::vector<SharedComm>& theirs) {
  std::unordered_map<std::uint64_t, std::size_t> index_by_key;
  for (std::size_t i = 0; i < mine.size(); ++i) index_by_key.emplace(mine[i].key, i);
  for (SharedComm& comm : theirs) {
    if (comm.key == 0) continue;
    const auto [found, is_new] = index_by_key.emplace(comm.key, mine.size());
    if (is_new) {
      mine.push_back(std::move(comm));
      continue;
    }
    SharedComm& known = mine[found->second];
    if (known.name.empty()) known.name = std::move(comm.name);
    if (known.parent_key == 0) known.parent_key = comm.parent_key;
  }
}

std::vector<RankRun> united(const std::vector<RankRun>& mine, const std::vector<RankRun>& theirs) {
  std::vector<std::int32_t> ranks = expand(mine);
  for (const std::int32_t rank : expand(theirs)) ranks.push_back(rank);
  std::ranges::sort(ranks);
  return compress(ranks);
}

}  // namespace

std::string region_key(const RegionDefinition& region) {
  return region.paradigm == Paradigm::kMpi ? region.name : '\n' + region.name;
}

SharedDefinitions collect_definitions(const RecordSource& source) {
  SharedDefinitions all;
  for (const std::int32_t rank : source.world_ranks()) {
    const ProcessDefinitions& process = source.process(rank);
    SharedDefinitions mine;
    mine.regions = process.regions;
    mine.counters = collect_counters(process);
    mine.comms = shared_comms(process, source.world_size());
    mine.remote_worlds = names_of_remote_worlds(process);
    mine.files = collect_files(process, keys_of(mine.comms));
    mine.windows = collect_windows(process, keys_of(mine.comms), source.world_size());
    mine.call_sites = collect_call_sites(process);
    mine.world_ranks = {{.first = rank, .stride = 1, .count = 1}};
    if (process.locations.size() > 1) mine.threaded_ranks = mine.world_ranks;
    merge_definitions(all, std::move(mine));
  }
  return all;
}

void merge_definitions(SharedDefinitions& mine, SharedDefinitions theirs) {
  merge_regions(mine.regions, theirs.regions);
  merge_counters(mine.counters, std::move(theirs.counters));
  merge_comms(mine.comms, theirs.comms);
  merge_texts(mine.remote_worlds, std::move(theirs.remote_worlds));
  merge_files(mine.files, std::move(theirs.files));
  merge_windows(mine.windows, std::move(theirs.windows));
  merge_call_sites(mine.call_sites, theirs.call_sites);
  mine.world_ranks = united(mine.world_ranks, theirs.world_ranks);
  mine.threaded_ranks = united(mine.threaded_ranks, theirs.threaded_ranks);
}

Collective::Bytes encode_definitions(const SharedDefinitions& definitions) {
  ByteWriter to;
  to.put_u64(definitions.regions.size());
  for (const RegionDefinition& region : definitions.regions) {
    to.put_text(region.name);
    to.put_u8(static_cast<std::uint8_t>(region.role));
    to.put_u8(static_cast<std::uint8_t>(region.paradigm));
    to.put_u8(static_cast<std::uint8_t>(region.collective_op));
    to.put_text(region.group);
  }
  put_counters(to, definitions.counters);
  to.put_u64(definitions.comms.size());
  for (const SharedComm& comm : definitions.comms) {
    to.put_u64(comm.key);
    to.put_u64(comm.parent_key);
    to.put_u8(static_cast<std::uint8_t>(comm.kind));
    to.put_text(comm.name);
    put_runs(to, comm.members);
    put_runs(to, comm.remote_members);
  }
  put_texts(to, definitions.remote_worlds);
  put_files(to, definitions.files);
  put_windows(to, definitions.windows);
  put_call_sites(to, definitions.call_sites);
  put_runs(to, definitions.world_ranks);
  put_runs(to, definitions.threaded_ranks);
  return to.take();
}

Status decode_definitions(std::span<const std::byte> bytes, SharedDefinitions& definitions) {
  ByteReader from(bytes);
  definitions.regions.resize(from.count());
  for (RegionDefinition& region : definitions.regions) {
    region.name = from.text();
    region.role = static_cast<RegionRole>(from.u8());
    region.paradigm = static_cast<Paradigm>(from.u8());
    region.collective_op = static_cast<CollectiveOp>(from.u8());
    region.group = from.text();
  }
  definitions.counters = get_counters(from);
  definitions.comms.resize(from.count());
  for (SharedComm& comm : definitions.comms) {
    comm.key = from.u64();
    comm.parent_key = from.u64();
    comm.kind = static_cast<CommKind>(from.u8());
    comm.name = from.text();
    comm.members = get_runs(from);
    comm.remote_members = get_runs(from);
  }
  definitions.remote_worlds = get_texts(from);
  definitions.files = get_files(from);
  definitions.windows = get_windows(from);
  definitions.call_sites = get_call_sites(from);
  definitions.world_ranks = get_runs(from);
  definitions.threaded_ranks = get_runs(from);
  return from.has_failed() ? Status::error("the definitions of a member are malformed")
                           : Status::ok();
}

Status unify_definitions(const RecordSource& source, Collective& members, SharedDefinitions& all,
                         IdTable& ids, bool has_plain_comms) {
  Collective::Bytes bytes = encode_definitions(collect_definitions(source));
  Status local;
  Status status = members.merge_up(
      bytes, [&local](Collective::Bytes& mine, std::span<const std::byte> theirs) {
        SharedDefinitions merged;
        SharedDefinitions others;
        local.update(decode_definitions(mine, merged));
        local.update(decode_definitions(theirs, others));
        merge_definitions(merged, std::move(others));
        mine = encode_definitions(merged);
      });
  if (status.is_ok() && members.rank() == 0) {
    local.update(decode_definitions(bytes, all));
    put_parents_first(all.comms);
    all.has_plain_comms = has_plain_comms;
    bytes = encode_ids(all);
  }
  if (status.is_ok()) status = members.bcast_resized(bytes, 0);
  if (status.is_ok()) status = decode_ids(bytes, ids);
  status.update(std::move(local));
  return status;
}

ProcessIds::PlainComm ProcessIds::plain_comm(const CommDefinition& comm, const SharedComm& shared) {
  if (comm.kind != CommKind::kInter) return {};
  const auto size_a = static_cast<std::int32_t>(rank_count(shared.members));
  const bool is_in_a = compress(expand(comm.members)) == shared.members;
  return {.is_plain = true,
          .first_remote = is_in_a ? size_a : 0,
          .own = (is_in_a ? 0 : size_a) + comm.my_rank};
}

// Within the root's own group, only the root knows its rank.
std::uint32_t ProcessIds::root(CommId id, std::int32_t root) const {
  if (id >= plain_.size() || !plain_[id].is_plain) return otf2_root(root);
  if (root == kSelfRoot) return static_cast<std::uint32_t>(plain_[id].own);
  return root < 0 ? otf2_root(kNoPeer) : peer(id, root);
}

ProcessIds::ProcessIds(const ProcessDefinitions& definitions, std::int32_t world_size,
                       const IdTable& ids)
    : undefined_region_(ids.undefined_region()) {
  for (const RegionDefinition& region : definitions.regions) {
    if (region.id >= regions_.size()) {
      regions_.resize(region.id + std::size_t{1}, undefined_region_);
      operations_.resize(regions_.size(), CollectiveOp::kNone);
    }
    const auto found = ids.regions.find(region_key(region));
    if (found != ids.regions.end()) regions_[region.id] = found->second;
    operations_[region.id] = region.collective_op;
  }
  const std::vector<SharedComm> comms = shared_comms(definitions, world_size);
  counters_ = ProcessCounters(definitions, ids.counters);
  files_ = ProcessFiles(definitions, keys_of(comms), ids.files);
  windows_ = ProcessWindows(definitions, keys_of(comms), world_size, ids.windows);
  call_sites_ = ProcessCallSites(definitions, ids.call_sites);
  for (std::size_t i = 0; i < comms.size(); ++i) {
    const auto found = ids.comms.find(comms[i].key);
    comms_.push_back(found == ids.comms.end() ? kUndefinedComm : found->second);
    if (ids.has_plain_comms) plain_.push_back(plain_comm(definitions.comms[i], comms[i]));
  }
  for (const CommDefinition& comm : definitions.comms) {
    const auto found = std::ranges::find(ids.remote_worlds, comm.name);
    const bool is_remote = comm.kind == CommKind::kRemote && found != ids.remote_worlds.end();
    const std::size_t string_id = ids.call_sites.texts.size() +
                                  static_cast<std::size_t>(found - ids.remote_worlds.begin());
    remote_worlds_.push_back(is_remote ? static_cast<std::uint32_t>(string_id) : kNoText);
  }
}

}  // namespace megascope::otf2
