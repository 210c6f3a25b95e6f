#include "analysis/import/collective_names.h"

#include <cctype>
#include <utility>

namespace megascope::importer {
namespace {

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, name.find('('))) {
    if (c != '_' && c != '-')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

struct Word {
  std::string_view word;
  CommunicationName semantics;
};
using Kind = CommunicationName::Kind;
/// The first that occurs decides: "reducescatter" before "reduce", "allgather" before "gather".
constexpr Word kWords[] = {
    {"reducescatter", {Kind::kCollective, CollectiveOp::kReduceScatter, RegionRole::kCollAllToAll}},
    {"allreduce", {Kind::kCollective, CollectiveOp::kAllreduce, RegionRole::kCollAllToAll}},
    {"allgather", {Kind::kCollective, CollectiveOp::kAllgather, RegionRole::kCollAllToAll}},
    {"alltoall", {Kind::kCollective, CollectiveOp::kAlltoall, RegionRole::kCollAllToAll}},
    {"broadcast", {Kind::kCollective, CollectiveOp::kBcast, RegionRole::kCollOneToAll}},
    {"barrier", {Kind::kCollective, CollectiveOp::kBarrier, RegionRole::kCollBarrier}},
    {"sendrecv",
     {Kind::kOther, CollectiveOp::kNone, RegionRole::kPointToPoint}},  // a kernel of either
    {"reduce", {Kind::kCollective, CollectiveOp::kReduce, RegionRole::kCollAllToOne}},
    {"gather", {Kind::kCollective, CollectiveOp::kGather, RegionRole::kCollAllToOne}},
    {"scatter", {Kind::kCollective, CollectiveOp::kScatter, RegionRole::kCollOneToAll}},
    {"send", {Kind::kSend, CollectiveOp::kNone, RegionRole::kPointToPoint}},
    {"recv", {Kind::kReceive, CollectiveOp::kNone, RegionRole::kPointToPoint}},
};

constexpr std::pair<std::string_view, std::uint64_t> kTypes[] = {
    {"double", 8},         {"float64", 8}, {"long", 8},     {"int64", 8}, {"complexfloat", 8},
    {"complexdouble", 16}, {"float", 4},   {"float32", 4},  {"int", 4},   {"int32", 4},
    {"half", 2},           {"float16", 2}, {"bfloat16", 2}, {"short", 2}, {"int16", 2},
    {"byte", 1},           {"char", 1},    {"bool", 1},     {"uint8", 1}, {"int8", 1},
};

}  // namespace

CommunicationName communication_of(std::string_view name) {
  const std::string text = plain(name);
  for (const Word& word : kWords) {
    if (text.find(word.word) != std::string::npos) return word.semantics;
  }
  return {};
}

std::uint64_t element_bytes(std::string_view type) {
  const std::string text = plain(type);
  for (const auto& [name, bytes] : kTypes) {
    if (text == name) return bytes;
  }
  return text.starts_with("float8") ? 1 : 0;
}

}  // namespace megascope::importer
