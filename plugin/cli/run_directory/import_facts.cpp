#include "plugin/cli/run_directory/import_facts.h"

#include "core/base/safe_file.h"

#include <nlohmann/json.hpp>

namespace megascope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = std::size_t{1} << 22;
constexpr std::size_t kMaxNotes = 256;

}  // namespace

Status write_import_facts(const std::string& directory, const importer::Timeline& timeline,
                          const std::string& format) {
  Json repairs = Json::object();
  for (std::size_t i = 0; i < importer::kRepairKindCount; ++i) {
    const auto kind = static_cast<importer::RepairKind>(i);
    if (timeline.repairs.count(kind) == 0) continue;
    repairs[std::string(importer::name_of(kind))] = {{"count", timeline.repairs.count(kind)},
                                                     {"first", timeline.repairs.first(kind)}};
  }
  Json notes = timeline.repairs.notes();
  for (std::size_t i = 0; i < timeline.notes.size() && i < kMaxNotes; ++i)
    notes.push_back(timeline.notes[i]);
  const Json json = {{"source", timeline.source},
                     {"format", format},
                     {"events", timeline.repairs.event_count()},
                     {"repaired", timeline.repairs.total()},
                     {"repairs", std::move(repairs)},
                     {"notes", std::move(notes)}};
  return files::write_file(directory + "/" + kImportFile,
                           json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n', 0666);
}

ImportFacts read_import_facts(const std::string& directory) {
  std::string text;
  if (!files::read_small(directory + "/" + kImportFile, kMaxBytes, text).is_ok()) return {};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  ImportFacts facts;
  const auto format = json.find("format");
  if (format == json.end() || !format->is_string()) return {};
  facts.format = format->get<std::string>();
  if (const auto events = json.find("events"); events != json.end() && events->is_number_unsigned())
    facts.events = events->get<std::uint64_t>();
  if (const auto notes = json.find("notes"); notes != json.end() && notes->is_array()) {
    for (const Json& note : *notes) {
      if (note.is_string() && facts.notes.size() < kMaxNotes)
        facts.notes.push_back(note.get<std::string>());
    }
  }
  const auto repairs = json.find("repairs");
  if (repairs == json.end() || !repairs->is_object()) return facts;
  for (const auto& [kind, repair] : repairs->items()) {
    const auto count = repair.is_object() ? repair.find("count") : repair.end();
    if (repair.is_object() && count != repair.end() && count->is_number_unsigned())
      facts.repairs[kind] = count->get<std::uint64_t>();
  }
  return facts;
}

}  // namespace megascope::cli
