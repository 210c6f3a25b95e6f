#include "core/trace/definition_codec.h"
#include "core/trace/layout.h"

#include <cstring>
#include <string>

namespace megascope::trace {
namespace {

class Writer {
 public:
  explicit Writer(DefinitionKind kind) : bytes_(kDefinitionHeaderBytes) {
    put_header(static_cast<std::uint32_t>(kind));
  }

  template <class T>
  Writer& put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  Writer& put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), from, from + text.size());
    return *this;
  }
  Writer& put(const std::vector<RankRun>& runs) {
    put(static_cast<std::uint32_t>(runs.size()));
    for (const RankRun& run : runs) put(run.first).put(run.stride).put(run.count);
    return *this;
  }
  DefinitionBytes take() {
    const auto payload = static_cast<std::uint32_t>(bytes_.size() - kDefinitionHeaderBytes);
    std::memcpy(bytes_.data() + sizeof(std::uint32_t), &payload, sizeof payload);
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    return std::move(bytes_);
  }

 private:
  void put_header(std::uint32_t kind) { std::memcpy(bytes_.data(), &kind, sizeof kind); }

  DefinitionBytes bytes_;
};

Writer one_sided(OneSidedDefinition what) {
  Writer writer(DefinitionKind::kOneSided);
  writer.put(static_cast<std::uint8_t>(what));
  return writer;
}

}  // namespace

DefinitionBytes encode_property(std::string_view name, std::string_view value) {
  return Writer(DefinitionKind::kProperty).put(name).put(value).take();
}

DefinitionBytes encode(const RegionDefinition& region) {
  return Writer(DefinitionKind::kRegion)
      .put(region.id)
      .put(static_cast<std::uint8_t>(region.role))
      .put(static_cast<std::uint8_t>(region.paradigm))
      .put(static_cast<std::uint8_t>(region.collective_op))
      .put(std::string_view(region.name))
      .put(std::string_view(region.group))
      .take();
}

DefinitionBytes encode(const CallSiteDefinition& site) {
  return Writer(DefinitionKind::kCallSite)
      .put(site.id)
      .put(site.offset)
      .put(std::string_view(site.module))
      .put(std::string_view(site.function))
      .put(std::string_view(site.build_id))
      .take();
}

DefinitionBytes encode(const CommDefinition& comm) {
  return Writer(DefinitionKind::kComm)
      .put(comm.id)
      .put(comm.parent)
      .put(comm.global_name)
      .put(static_cast<std::uint8_t>(comm.kind))
      .put(comm.my_rank)
      .put(std::string_view(comm.name))
      .put(comm.members)
      .put(comm.remote_members)
      .take();
}

DefinitionBytes encode(const LocationDefinition& location) {
  return Writer(DefinitionKind::kLocation)
      .put(location.id)
      .put(location.system_thread_id)
      .put(static_cast<std::uint8_t>(location.is_main ? 1 : 0))
      .put(std::string_view(location.name))
      .take();
}

DefinitionBytes encode(const FileDefinition& file) {
  return Writer(DefinitionKind::kFile)
      .put(file.id)
      .put(file.comm)
      .put(file.global_name)
      .put(file.mode)
      .put(std::string_view(file.name))
      .take();
}

DefinitionBytes encode(const WindowDefinition& window) {
  return one_sided(OneSidedDefinition::kWindow)
      .put(window.id)
      .put(window.comm)
      .put(window.global_name)
      .put(static_cast<std::uint8_t>(window.flavor))
      .put(window.size_bytes)
      .put(window.displacement_bytes)
      .put(std::string_view(window.name))
      .take();
}

DefinitionBytes encode(const GroupDefinition& group) {
  return one_sided(OneSidedDefinition::kGroup).put(group.id).put(group.members).take();
}

DefinitionBytes encode(const ClockSample& sample) {
  return Writer(DefinitionKind::kClockSample)
      .put(sample.peer_domain)
      .put(sample.sent_ticks)
      .put(sample.received_ticks)
      .put(sample.peer_ticks)
      .take();
}

DefinitionBytes encode(const CounterDefinition& counter) {
  return Writer(DefinitionKind::kCounter)
      .put(counter.id)
      .put(std::string_view(counter.name))
      .put(std::string_view(counter.unit))
      .take();
}

DefinitionBytes encode_tensor(TensorId id, std::string_view name) {
  return Writer(DefinitionKind::kTensor).put(id).put(name).take();
}

DefinitionBytes encode_window_name(WinId window, std::string_view name) {
  return one_sided(OneSidedDefinition::kWindowName).put(window).put(name).take();
}

DefinitionBytes encode_location_name(LocationId location, std::string_view name) {
  return Writer(DefinitionKind::kLocationName).put(location).put(name).take();
}

DefinitionBytes encode_comm_name(CommId comm, std::string_view name) {
  return Writer(DefinitionKind::kCommName).put(comm).put(name).take();
}

}  // namespace megascope::trace
