#include "core/trace/definition_codec.h"

#include "core/trace/layout.h"

#include <cstring>
#include <string>

namespace megascope::trace {
namespace {

/// Reads values from untrusted bytes. After an error every value is zero and `is_ok` is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value{};
    if (!take(sizeof value)) return value;
    std::memcpy(&value, bytes_.data() + at_ - sizeof value, sizeof value);
    return value;
  }
  std::string get_string() {
    const auto size = get<std::uint32_t>();
    if (!take(size)) return {};
    return {reinterpret_cast<const char*>(bytes_.data() + at_ - size), size};
  }
  std::vector<RankRun> get_runs() {
    const auto count = get<std::uint32_t>();
    std::vector<RankRun> runs;
    if (count > (bytes_.size() - at_) / 12) is_ok_ = false;
    std::int64_t rank_sum = 0;
    for (std::uint32_t i = 0; i < count && is_ok_; ++i) {
      RankRun run{get<std::int32_t>(), get<std::int32_t>(), get<std::int32_t>()};
      rank_sum += run.count;
      if (!is_plausible(run) || rank_sum > kMaxRanks) is_ok_ = false;
      runs.push_back(run);
    }
    return runs;
  }
  bool is_ok() const { return is_ok_; }
  bool is_at_end() const { return at_ == bytes_.size(); }

 private:
  /// Bounds what is expanded in memory, and every rank.
  static constexpr std::int64_t kMaxRanks = std::int64_t{1} << 24;
  static bool is_plausible(const RankRun& run) {
    const std::int64_t last = run.first + (std::int64_t{run.count} - 1) * run.stride;
    return run.count > 0 && run.count <= kMaxRanks && run.first >= 0 && run.first <= kMaxRanks &&
           last >= 0 && last <= kMaxRanks;
  }
  bool take(std::size_t size) {
    if (!is_ok_ || size > bytes_.size() - at_) {
      is_ok_ = false;
      return false;
    }
    at_ += size;
    return true;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool is_ok_ = true;
};

std::uint8_t interface_of(std::string_view name) {
  if (name == "c") return kInterfaceC;
  if (name == "fortran") return kInterfaceFortran;
  return name == "fortran08" ? kInterfaceFortran08 : std::uint8_t{0};
}

bool add_parallel(std::string_view text, ProcessInfo& info) {
  ParallelIndex parallel;
  if (!parse(text, parallel)) return false;
  set_parallel(info.parallel, std::move(parallel));
  return true;
}

bool set_property(std::string_view name, std::string value, ProcessInfo& info) {
  if (name == kPropertyHost)
    info.host = std::move(value);
  else if (name == kPropertyProgram)
    info.program = std::move(value);
  else if (name == kPropertyCommandLine)
    info.command_line = std::move(value);
  else if (name == kPropertyMpiLibrary)
    info.mpi_library = std::move(value);
  else if (name == kPropertyJob)
    info.job = std::move(value);
  else if (name == kPropertyRunDirectory)
    info.run_directory = std::move(value);
  else if (name.starts_with(kLauncherFactPrefix))
    info.launcher.push_back({std::string(name), std::move(value)});
  else if (name == kPropertyWorld)
    info.world.name = std::move(value);
  else if (name == kPropertyParentWorld)
    info.world.parent = std::move(value);
  else if (name == kPropertyClockDomain)
    info.clock.domain = std::move(value);
  else if (name == kPropertyInterface)
    info.interfaces = static_cast<std::uint8_t>(info.interfaces | interface_of(value));
  else if (name == kPropertyUnrecorded)
    info.unrecorded.push_back(std::move(value));
  else if (name == kPropertyParallel)
    return add_parallel(value, info);
  else if (name == kPropertyCpus)
    return parse(value, info.cpus);
  else if (name == kPropertyMessageGaps)
    info.has_message_gaps = true;
  else
    return false;
  return true;
}

bool decode_region(Reader& reader, ProcessDefinitions& into) {
  RegionDefinition region;
  region.id = reader.get<std::uint16_t>();
  region.role = static_cast<RegionRole>(reader.get<std::uint8_t>());
  region.paradigm = static_cast<Paradigm>(reader.get<std::uint8_t>());
  region.collective_op = static_cast<CollectiveOp>(reader.get<std::uint8_t>());
  region.name = reader.get_string();
  region.group = reader.get_string();
  const bool is_ascending = into.regions.empty() || into.regions.back().id < region.id;
  const bool is_known = region.role <= RegionRole::kCode &&
                        region.paradigm <= Paradigm::kMeasurement &&
                        region.collective_op <= CollectiveOp::kDestroyHandle;
  if (!reader.is_ok() || !is_ascending || !is_known || region.id == kNoRegion) return false;
  into.regions.push_back(std::move(region));
  return true;
}

bool decode_comm(Reader& reader, ProcessDefinitions& into) {
  CommDefinition comm;
  comm.id = reader.get<std::uint32_t>();
  comm.parent = reader.get<std::uint32_t>();
  comm.global_name = reader.get<std::uint64_t>();
  comm.kind = static_cast<CommKind>(reader.get<std::uint8_t>());
  comm.my_rank = reader.get<std::int32_t>();
  comm.name = reader.get_string();
  comm.members = reader.get_runs();
  comm.remote_members = reader.get_runs();
  if (!reader.is_ok() || comm.id != into.comms.size() || comm.kind > CommKind::kRemote)
    return false;
  into.comms.push_back(std::move(comm));
  return true;
}

bool decode_location(Reader& reader, ProcessDefinitions& into) {
  LocationDefinition location;
  location.id = reader.get<std::uint32_t>();
  location.system_thread_id = reader.get<std::int64_t>();
  location.is_main = reader.get<std::uint8_t>() != 0;
  location.name = reader.get_string();
  if (!reader.is_ok() || location.id != into.locations.size()) return false;
  into.locations.push_back(std::move(location));
  return true;
}

bool decode_file(Reader& reader, ProcessDefinitions& into) {
  FileDefinition file;
  file.id = reader.get<std::uint32_t>();
  file.comm = reader.get<std::uint32_t>();
  file.global_name = reader.get<std::uint64_t>();
  file.mode = reader.get<std::uint16_t>();
  file.name = reader.get_string();
  if (!reader.is_ok() || file.id != into.files.size() || file.mode > kAllFileModes) return false;
  into.files.push_back(std::move(file));
  return true;
}

bool decode_window(Reader& reader, ProcessDefinitions& into) {
  WindowDefinition window;
  window.id = reader.get<std::uint32_t>();
  window.comm = reader.get<std::uint32_t>();
  window.global_name = reader.get<std::uint64_t>();
  window.flavor = static_cast<WindowFlavor>(reader.get<std::uint8_t>());
  window.size_bytes = reader.get<std::uint64_t>();
  window.displacement_bytes = reader.get<std::uint32_t>();
  window.name = reader.get_string();
  if (!reader.is_ok() || window.id != into.windows.size() || window.flavor > WindowFlavor::kShared)
    return false;
  into.windows.push_back(std::move(window));
  return true;
}

bool decode_call_site(Reader& reader, ProcessDefinitions& into) {
  CallSiteDefinition site;
  site.id = reader.get<std::uint32_t>();
  site.offset = reader.get<std::uint64_t>();
  site.module = reader.get_string();
  site.function = reader.get_string();
  if (!reader.is_at_end()) site.build_id = reader.get_string();  // absent in older traces
  if (!reader.is_ok() || site.id != into.call_sites.size()) return false;
  into.call_sites.push_back(std::move(site));
  return true;
}

bool decode_clock_sample(Reader& reader, ProcessInfo& into) {
  ClockSample sample;
  sample.peer_domain = reader.get<std::uint64_t>();
  sample.sent_ticks = reader.get<std::uint64_t>();
  sample.received_ticks = reader.get<std::uint64_t>();
  sample.peer_ticks = reader.get<std::uint64_t>();
  if (!reader.is_ok()) return false;
  into.clock.samples.push_back(sample);
  return true;
}

bool decode_counter(Reader& reader, ProcessDefinitions& into) {
  CounterDefinition counter;
  counter.id = reader.get<std::uint32_t>();
  counter.name = reader.get_string();
  counter.unit = reader.get_string();
  if (!reader.is_ok() || counter.id != into.counters.size()) return false;
  into.counters.push_back(std::move(counter));
  return true;
}

bool decode_tensor(Reader& reader, ProcessDefinitions& into) {
  const auto id = reader.get<std::uint32_t>();
  std::string name = reader.get_string();
  if (!reader.is_ok() || id != into.tensors.size()) return false;
  into.tensors.push_back(std::move(name));
  return true;
}

bool decode_one_sided(Reader& reader, ProcessDefinitions& into) {
  switch (static_cast<OneSidedDefinition>(reader.get<std::uint8_t>())) {
    case OneSidedDefinition::kWindow:
      return decode_window(reader, into);
    case OneSidedDefinition::kWindowName: {
      const auto window = reader.get<std::uint32_t>();
      std::string name = reader.get_string();
      if (!reader.is_ok() || window >= into.windows.size()) return false;
      into.windows[window].name = std::move(name);
      return true;
    }
    case OneSidedDefinition::kGroup: {
      GroupDefinition group;
      group.id = reader.get<std::uint32_t>();
      group.members = reader.get_runs();
      if (!reader.is_ok() || group.id != into.groups.size()) return false;
      into.groups.push_back(std::move(group));
      return true;
    }
  }
  return false;
}

bool decode_one(DefinitionKind kind, Reader reader, ProcessDefinitions& into) {
  switch (kind) {
    case DefinitionKind::kProperty: {
      const std::string name = reader.get_string();
      std::string value = reader.get_string();
      return reader.is_ok() && set_property(name, std::move(value), into.info);
    }
    case DefinitionKind::kRegion:
      return decode_region(reader, into);
    case DefinitionKind::kComm:
      return decode_comm(reader, into);
    case DefinitionKind::kCommName: {
      const auto comm = reader.get<std::uint32_t>();
      std::string name = reader.get_string();
      if (!reader.is_ok() || comm >= into.comms.size()) return false;
      into.comms[comm].name = std::move(name);
      return true;
    }
    case DefinitionKind::kLocation:
      return decode_location(reader, into);
    case DefinitionKind::kLocationName: {
      const auto location = reader.get<std::uint32_t>();
      std::string name = reader.get_string();
      if (!reader.is_ok() || location >= into.locations.size()) return false;
      into.locations[location].name = std::move(name);
      return true;
    }
    case DefinitionKind::kFile:
      return decode_file(reader, into);
    case DefinitionKind::kCallSite:
      return decode_call_site(reader, into);
    case DefinitionKind::kOneSided:
      return decode_one_sided(reader, into);
    case DefinitionKind::kClockSample:
      return decode_clock_sample(reader, into.info);
    case DefinitionKind::kCounter:
      return decode_counter(reader, into);
    case DefinitionKind::kTensor:
      return decode_tensor(reader, into);
  }
  return false;
}

}  // namespace

std::size_t decode_definitions(std::span<const std::byte> bytes, ProcessDefinitions& into) {
  std::size_t damaged = 0;
  while (bytes.size() >= kDefinitionHeaderBytes) {
    std::uint32_t kind = 0;
    std::uint32_t payload = 0;
    std::memcpy(&kind, bytes.data(), sizeof kind);
    std::memcpy(&payload, bytes.data() + sizeof kind, sizeof payload);
    const std::size_t whole = (kDefinitionHeaderBytes + std::size_t{payload} + 7) / 8 * 8;
    if (whole > bytes.size()) return damaged + 1;
    const Reader reader(bytes.subspan(kDefinitionHeaderBytes, payload));
    if (!decode_one(static_cast<DefinitionKind>(kind), reader, into)) ++damaged;
    bytes = bytes.subspan(whole);
  }
  return damaged;
}

}  // namespace megascope::trace
