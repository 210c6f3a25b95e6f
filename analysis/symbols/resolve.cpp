#include "analysis/symbols/resolve.h"

#include "analysis/symbols/elf_file.h"
#include "analysis/symbols/line_table.h"
#include "analysis/symbols/readable_name.h"

#include <map>
#include <memory>
#include <utility>

namespace megascope::symbols {
namespace {

constexpr char kDebugDirectory[] = "/usr/lib/debug";

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

/// One program or library, opened when its first site is looked up.
class Module {
 public:
  /// site: any of its sites.
  Module(const CallSiteDefinition& site, std::int64_t run_start_ns) {
    if (!file_.open(site.module)) {
      problem_ = "the file is not there any more, or cannot be read";
      return;
    }
    const std::string build_id = file_.build_id();
    const bool is_newer = build_id.empty() && run_start_ns != 0 &&
                          file_.written_ns() > run_start_ns;
    if (build_id != site.build_id || is_newer) {
      problem_ = "the file has changed since the run";
      return;
    }
    open_debug_information(site.module, build_id);
  }

  /// Empty: it is usable.
  const std::string& problem() const { return problem_; }

  Place find(std::uint64_t return_address) {
    const std::uint64_t call = return_address - 1;  // in the instruction before it
    Place place;
    if (lines_ != nullptr) lines_->find(call, place);
    if (place.function.empty()) place.function = file_.function_at(call);
    if (place.function.empty() && debug_file_ != nullptr)
      place.function = debug_file_->function_at(call);
    place.function = readable_name(place.function);
    return place;
  }

 private:
  void open_debug_information(const std::string& path, const std::string& build_id) {
    if (file_.has_section(".debug_info") || file_.has_section(".zdebug_info")) {
      lines_ = open_line_table(path);
      return;
    }
    if (build_id.size() <= 2)
      return;  // without a build id, separate debug information cannot be identified
    std::vector<std::string> candidates = {std::string(kDebugDirectory) + "/.build-id/" +
                                           build_id.substr(0, 2) + "/" + build_id.substr(2) +
                                           ".debug"};
    if (const std::string link = file_.debug_link();
        !link.empty() && link.find('/') == std::string::npos) {
      for (const std::string& directory : {directory_of(path), directory_of(path) + ".debug/",
                                           kDebugDirectory + directory_of(path)}) {
        candidates.push_back(directory + link);
      }
    }
    for (const std::string& candidate : candidates) {
      auto file = std::make_unique<ElfFile>();
      if (!file->open(candidate) || file->build_id() != build_id) continue;
      debug_file_ = std::move(file);
      lines_ = open_line_table(candidate);
      return;
    }
  }

  ElfFile file_;
  std::unique_ptr<ElfFile> debug_file_;  ///< where it is another
  std::unique_ptr<LineTable> lines_;
  std::string problem_;
};

/// All modules of one look-up, by path and build id.
class Modules {
 public:
  Modules(std::int64_t run_start_ns, std::vector<std::string>& notes)
      : run_start_ns_(run_start_ns), notes_(notes) {}

  Module& of(const CallSiteDefinition& site) {
    std::unique_ptr<Module>& module = modules_[{site.module, site.build_id}];
    if (module == nullptr) {
      module = std::make_unique<Module>(site, run_start_ns_);
      if (!module->problem().empty()) {
        notes_.push_back("places in " + site.module +
                         " are not resolved to lines: " + module->problem());
      }
    }
    return *module;
  }

 private:
  std::int64_t run_start_ns_;
  std::vector<std::string>& notes_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Module>> modules_;
};

}  // namespace

void resolve_call_sites(std::span<CallSiteDefinition* const> sites, std::int64_t run_start_ns,
                        std::vector<std::string>& notes) {
  Modules modules(run_start_ns, notes);
  std::map<std::pair<Module*, std::uint64_t>, Place>
      known;  // ranks of one program call from the same places
  for (CallSiteDefinition* const site : sites) {
    site->function = readable_name(site->function);
    if (site->module.empty() || site->line != 0) continue;
    Module& module = modules.of(*site);
    if (!module.problem().empty()) continue;
    const auto [found, is_new] = known.try_emplace({&module, site->offset});
    if (is_new) found->second = module.find(site->offset);
    const Place& place = found->second;
    if (!place.function.empty()) site->function = place.function;
    site->file = place.file;
    site->line = place.line;
  }
}

}  // namespace megascope::symbols
