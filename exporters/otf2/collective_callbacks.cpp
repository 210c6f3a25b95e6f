#include "exporters/otf2/collective_callbacks.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace megascope::otf2 {
namespace {

Collective& collective(OTF2_CollectiveContext* context) {
  return *reinterpret_cast<Collective*>(context);
}

OTF2_CallbackCode code(const Status& status) {
  return status.is_ok() ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_ERROR;
}

/// 0 for types that are not numbers, which OTF2 never sends.
std::size_t type_bytes(OTF2_Type type) {
  switch (type) {
    case OTF2_TYPE_UINT8:
    case OTF2_TYPE_INT8:
      return 1;
    case OTF2_TYPE_UINT16:
    case OTF2_TYPE_INT16:
      return 2;
    case OTF2_TYPE_UINT32:
    case OTF2_TYPE_INT32:
    case OTF2_TYPE_FLOAT:
      return 4;
    case OTF2_TYPE_UINT64:
    case OTF2_TYPE_INT64:
    case OTF2_TYPE_DOUBLE:
      return 8;
    default:
      return 0;
  }
}

std::span<const std::byte> view(const void* data, std::size_t count, OTF2_Type type) {
  return {static_cast<const std::byte*>(data), count * type_bytes(type)};
}

void copy_to(void* to, std::span<const std::byte> from) {
  std::copy(from.begin(), from.end(), static_cast<std::byte*>(to));
}

OTF2_CallbackCode get_size(void*, OTF2_CollectiveContext* group, std::uint32_t* size) {
  *size = static_cast<std::uint32_t>(collective(group).size());
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode get_rank(void*, OTF2_CollectiveContext* group, std::uint32_t* rank) {
  *rank = static_cast<std::uint32_t>(collective(group).rank());
  return OTF2_CALLBACK_SUCCESS;
}

// OTF2 requests local groups only when reading. Members that share a file are adjacent.
OTF2_CallbackCode create_local_comm(void*, OTF2_CollectiveContext** local,
                                    OTF2_CollectiveContext* global, std::uint32_t, std::uint32_t,
                                    std::uint32_t local_rank, std::uint32_t,
                                    std::uint32_t file_number, std::uint32_t) {
  std::unique_ptr<Collective> part;
  const Status status = collective(global).split(static_cast<int>(file_number),
                                                 static_cast<int>(local_rank), part);
  *local = status.is_ok() ? context(*part.release()) : nullptr;
  return code(status);
}

OTF2_CallbackCode free_local_comm(void*, OTF2_CollectiveContext* local) {
  if (local != nullptr) delete &collective(local);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode barrier(void*, OTF2_CollectiveContext* group) {
  return code(collective(group).barrier());
}

OTF2_CallbackCode bcast(void*, OTF2_CollectiveContext* group, void* data, std::uint32_t count,
                        OTF2_Type type, std::uint32_t root) {
  const std::span bytes(static_cast<std::byte*>(data), count * type_bytes(type));
  return code(collective(group).bcast(bytes, static_cast<int>(root)));
}

OTF2_CallbackCode gather(void*, OTF2_CollectiveContext* group, const void* in, void* out,
                         std::uint32_t count, OTF2_Type type, std::uint32_t root) {
  Collective::Bytes all;
  const Status status = collective(group).gather(view(in, count, type), all,
                                                 static_cast<int>(root));
  if (status.is_ok()) copy_to(out, all);
  return code(status);
}

OTF2_CallbackCode gatherv(void*, OTF2_CollectiveContext* group, const void* in,
                          std::uint32_t in_count, void* out, const std::uint32_t* out_counts,
                          OTF2_Type type, std::uint32_t root) {
  std::vector<Collective::Bytes> parts;
  const Status status = collective(group).gatherv(view(in, in_count, type), parts,
                                                  static_cast<int>(root));
  if (!status.is_ok()) return OTF2_CALLBACK_ERROR;
  auto* to = static_cast<std::byte*>(out);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].size() != out_counts[i] * type_bytes(type)) return OTF2_CALLBACK_ERROR;
    copy_to(to, parts[i]);
    to += parts[i].size();
  }
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode scatter(void*, OTF2_CollectiveContext* group, const void* in, void* out,
                          std::uint32_t count, OTF2_Type type, std::uint32_t root) {
  Collective& members = collective(group);
  const bool is_root = members.rank() == static_cast<int>(root);
  const std::size_t all = is_root ? std::size_t{count} * static_cast<std::size_t>(members.size())
                                  : 0;
  const std::span mine(static_cast<std::byte*>(out), count * type_bytes(type));
  return code(members.scatter(view(in, all, type), mine, static_cast<int>(root)));
}

OTF2_CallbackCode scatterv(void*, OTF2_CollectiveContext* group, const void* in,
                           const std::uint32_t* in_counts, void* out, std::uint32_t out_count,
                           OTF2_Type type, std::uint32_t root) {
  Collective& members = collective(group);
  std::vector<Collective::Bytes> parts;
  if (members.rank() == static_cast<int>(root)) {
    const auto* from = static_cast<const std::byte*>(in);
    for (int i = 0; i < members.size(); ++i) {
      const std::size_t bytes = in_counts[i] * type_bytes(type);
      parts.emplace_back(from, from + bytes);
      from += bytes;
    }
  }
  Collective::Bytes mine;
  const Status status = members.scatterv(parts, mine, static_cast<int>(root));
  if (!status.is_ok() || mine.size() != out_count * type_bytes(type)) return OTF2_CALLBACK_ERROR;
  copy_to(out, mine);
  return OTF2_CALLBACK_SUCCESS;
}

}  // namespace

const OTF2_CollectiveCallbacks& collective_callbacks() {
  static const OTF2_CollectiveCallbacks callbacks = {
      .otf2_release = nullptr,  // the collective is owned by the job
      .otf2_get_size = get_size,
      .otf2_get_rank = get_rank,
      .otf2_create_local_comm = create_local_comm,
      .otf2_free_local_comm = free_local_comm,
      .otf2_barrier = barrier,
      .otf2_bcast = bcast,
      .otf2_gather = gather,
      .otf2_gatherv = gatherv,
      .otf2_scatter = scatter,
      .otf2_scatterv = scatterv,
  };
  return callbacks;
}

}  // namespace megascope::otf2
