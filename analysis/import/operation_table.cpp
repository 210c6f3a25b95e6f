#include "analysis/import/operation_table.h"

#include <nlohmann/json.hpp>

#include <megascope_generated/shipped_operations.h>

namespace megascope::importer {
namespace {

using nlohmann::json;

constexpr std::int64_t kFurthest = 1 << 24;

struct KindName {
  std::string_view name;
  OperationKind kind;
  CollectiveOp op;
};
constexpr KindName kKinds[] = {
    {"compute", OperationKind::kCompute, CollectiveOp::kNone},
    {"send", OperationKind::kSend, CollectiveOp::kNone},
    {"recv", OperationKind::kRecv, CollectiveOp::kNone},
    {"exchange", OperationKind::kExchange, CollectiveOp::kNone},
    {"barrier", OperationKind::kCollective, CollectiveOp::kBarrier},
    {"bcast", OperationKind::kCollective, CollectiveOp::kBcast},
    {"reduce", OperationKind::kCollective, CollectiveOp::kReduce},
    {"allreduce", OperationKind::kCollective, CollectiveOp::kAllreduce},
    {"allgather", OperationKind::kCollective, CollectiveOp::kAllgather},
    {"alltoall", OperationKind::kCollective, CollectiveOp::kAlltoall},
    {"reduce_scatter", OperationKind::kCollective, CollectiveOp::kReduceScatter},
};

std::string kinds_text() {
  std::string text;
  for (const KindName& kind : kKinds) text += (text.empty() ? "" : ", ") + std::string(kind.name);
  return text;
}

bool is_group(const std::string& over) {
  return over == "dp" || over == "tp" || over == "pp" || over == "world" || over == "pp ends";
}

Status read_kind(const std::string& kind, OperationSemantics& semantics) {
  for (const KindName& known : kKinds) {
    if (known.name != kind) continue;
    semantics.kind = known.kind;
    semantics.op = known.op;
    return Status::ok();
  }
  return Status::error("kind \"" + kind + "\" is unknown, the kinds are " + kinds_text());
}

Status read_field(const std::string& key, const json& value, OperationSemantics& semantics) {
  if (key == "to" || key == "from") {
    if (!value.is_number_integer()) return Status::error("\"" + key + "\" is not an integer");
    const auto distance = value.get<std::int64_t>();
    if (distance < -kFurthest || distance > kFurthest)
      return Status::error("\"" + key + "\" is out of range");
    (key == "to" ? semantics.to : semantics.from) = static_cast<std::int32_t>(distance);
    return Status::ok();
  }
  if (!value.is_string()) return Status::error("\"" + key + "\" is not a string");
  const auto text = value.get<std::string>();
  if (key == "kind") return read_kind(text, semantics);
  if (key == "over")
    semantics.over = text;
  else if (key == "channel")
    semantics.channel = text;
  else if (key == "channel_back")
    semantics.channel_back = text;
  else
    return Status::error("\"" + key + "\" is not a known field");
  return Status::ok();
}

Status check(const OperationSemantics& semantics) {
  if (semantics.kind == OperationKind::kCompute) return Status::ok();
  if (!is_group(semantics.over))
    return Status::error("\"over\" must be dp, tp, pp, world or \"pp ends\"");
  if (semantics.kind == OperationKind::kCollective) return Status::ok();
  if (semantics.over == "world" || semantics.over == "pp ends")
    return Status::error("\"over\" of a message must be dp, tp or pp");
  if (semantics.channel.empty()) return Status::error("a message needs a \"channel\"");
  const bool has_to = semantics.kind == OperationKind::kRecv || semantics.to != 0;
  const bool has_from = semantics.kind == OperationKind::kSend || semantics.from != 0;
  if (!has_to || !has_from)
    return Status::error("\"to\" and \"from\" are distances to the other end and must not be 0");
  if (semantics.kind == OperationKind::kExchange && semantics.channel_back.empty())
    return Status::error("an exchange needs a \"channel_back\"");
  return Status::ok();
}

Status read_semantics(const json& fields, OperationSemantics& semantics) {
  if (!fields.is_object()) return Status::error("not an object");
  if (!fields.contains("kind")) return Status::error("\"kind\" is missing");
  Status status;
  for (const auto& [key, value] : fields.items()) status.update(read_field(key, value, semantics));
  status.update(check(semantics));
  return status;
}

}  // namespace

std::string_view OperationTable::shipped() { return kShippedOperations; }

Status OperationTable::parse(std::string_view text, OperationTable& table) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) return Status::error("the table of operations is not a JSON object");
  table = {};
  for (const auto& [name, fields] : all.items()) {
    const Status status = read_semantics(fields, table.by_name_[name]);
    if (!status.is_ok()) return Status::error("operation \"" + name + "\": " + status.message());
  }
  return Status::ok();
}

const OperationSemantics& OperationTable::of(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? compute_ : found->second;
}

}  // namespace megascope::importer
