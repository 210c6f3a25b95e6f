#include "core/profile/file_sums.h"

#include "core/base/wire.h"
#include "core/record/file_fact.h"

namespace megascope {
namespace {

std::uint64_t key_of(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  return hash;
}

void put(WireWriter& to, const FileTotals& totals) {
  to.number(totals.opens);
  to.number(totals.reads);
  to.number(totals.writes);
  to.number(totals.bytes_read);
  to.number(totals.bytes_written);
  to.number(totals.time);
}

FileTotals get(WireReader& from) {
  FileTotals totals;
  totals.opens = from.number();
  totals.reads = from.number();
  totals.writes = from.number();
  totals.bytes_read = from.number();
  totals.bytes_written = from.number();
  totals.time = from.number();
  return totals;
}

}  // namespace

void FileTotals::add(const FileTotals& other) {
  opens += other.opens;
  reads += other.reads;
  writes += other.writes;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  time += other.time;
}

void FileSums::Row::note(const Fact& fact) {
  is_used = true;
  if (fact.kind == FactKind::kFileOpened) ++totals.opens;
  const bool is_write = is_file_write(fact.kind);
  if (starts_transfer(fact.kind)) ++(is_write ? totals.writes : totals.reads);
  if (ends_transfer(fact.kind))
    (is_write ? totals.bytes_written : totals.bytes_read) += transferred(fact);
}

std::uint32_t FileSums::index_of(std::uint64_t key) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) return found->second;
  if (by_key_.size() >= kMaxNames) return kOthers;
  const auto index = static_cast<std::uint32_t>(rows_.size());
  rows_.emplace_back().key = key;
  by_key_.emplace(key, index);
  return index;
}

void FileSums::define(const FileDefinition& file) {
  if (file.id == by_id_.size())
    by_id_.push_back(index_of(key_of(file.name)));  // else known already, or damaged
}

void FileSums::merge(const FileSums& other) {
  for (std::size_t i = 0; i < other.rows_.size(); ++i) {
    const Row& from = other.rows_[i];
    if (!from.is_used) continue;
    Row& row = rows_[i == kOthers ? kOthers : index_of(from.key)];
    row.totals.add(from.totals);
    row.is_used = true;
  }
}

const FileTotals* FileSums::find(std::string_view name) const {
  const auto found = by_key_.find(key_of(name));
  return found != by_key_.end() && rows_[found->second].is_used ? &rows_[found->second].totals
                                                                : nullptr;
}

void FileSums::serialize(WireWriter& to) const {
  to.number(rows_.size());
  for (const Row& row : rows_) {
    to.number(row.key);
    to.number(row.is_used ? 1 : 0);
    put(to, row.totals);
  }
}

void FileSums::parse(WireReader& from) {
  *this = FileSums();
  const std::size_t count = from.count(kMaxNames + 1);
  for (std::size_t i = 0; i < count && from.is_ok(); ++i) {
    const std::uint64_t key = from.number();
    Row& row = rows_[i == kOthers ? kOthers : index_of(key)];
    row.is_used = from.bounded(1) != 0;
    row.totals = get(from);
  }
}

void FileSums::adopt_definitions(const FileSums& from) {
  by_id_.clear();
  for (const std::uint32_t index : from.by_id_)
    by_id_.push_back(index == kOthers ? kOthers : index_of(from.rows_[index].key));
}

}  // namespace megascope
