#include "plugin/cli/entry/info.h"

#include "core/base/text.h"
#include "core/base/version.h"
#include "core/config/options.h"
#include "core/lifecycle/module_loader.h"
#include "mpi_layer/semantics/wrapped_functions.h"
#include "mpi_layer/table/regions.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/installation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <system_error>

/// `megascope info`: prints the features of this build, from its tables.
namespace megascope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Module {
  std::string name;
  Status status;  ///< whether it can be loaded
};

std::string module_path(const std::string& directory, const std::string& name) {
  return directory + "/libmegascope_" + name + ".so";
}

/// Loads a module as the library does. table: of the loaded module.
Status open_module(const std::string& name, const ModuleTable*& table) {
  std::string directory;
  const Status found = find_library_directory(directory);
  if (!found.is_ok()) return found;
  std::error_code error;
  if (!std::filesystem::exists(module_path(directory, name), error))
    return Status::error("not part of this build");
  return load_module(directory, name, table);
}

std::vector<Module> export_modules() {
  std::vector<Module> all;
  for (const std::string& name : export_formats()) {
    const ModuleTable* table = nullptr;
    all.push_back({name, open_module(name, table)});
  }
  return all;
}

Module live_module() {
  const ModuleTable* table = nullptr;
  Status status = open_module("live", table);
  if (status.is_ok() && table->make_live_server == nullptr)
    status = Status::error("the module `live` has no server");
  return {"live", status};
}

std::string answer_of(const Status& status) {
  return status.is_ok() ? "yes" : "no: " + status.message();
}

const char* depth_name(mpi::Depth depth) {
  return depth == mpi::Depth::kFullSemantics ? "full"
         : depth == mpi::Depth::kObject      ? "object"
                                             : "enter_leave";
}

Json functions_json() {
  Json wrapped = Json::array();
  for (const mpi::WrappedFunction& function : mpi::wrapped_functions()) {
    wrapped.push_back({{"name", function.name},
                       {"group", function.group},
                       {"depth", depth_name(function.depth)},
                       {"tells", function.recorded_fields},
                       {"default", function.is_default}});
  }
  return {{"wrapped", std::move(wrapped)}, {"not_wrapped", mpi::functions_not_wrapped()}};
}

Json options_json() {
  Json all = Json::array();
  for (const config::OptionRow& row : config::option_rows()) {
    all.push_back({{"name", row.name},
                   {"default", config::default_for_people(row)},
                   {"unit", row.unit},
                   {"range", config::accepted_text(row)},
                   {"help", row.help},
                   {"example", row.example}});
  }
  return all;
}

std::string info_json() {
  std::string directory;
  const Status found = find_library_directory(directory);
  Json features = Json::object();
  Json problems = Json::object();
  std::vector<Module> modules = export_modules();
  modules.push_back(live_module());
  for (const Module& module : modules) {
    features[module.name] = module.status.is_ok();
    if (!module.status.is_ok()) problems[module.name] = module.status.message();
  }
  features["fortran"] = MEGASCOPE_HAS_FORTRAN != 0;
  features["nvtx"] = MEGASCOPE_HAS_NVTX != 0;
  features["cuda"] = false;  // this version has no module for it
  Json json;
  json["version"] = kVersion;
  json["library"] = found.is_ok() ? Json(directory + "/" + kLibraryName) : Json(nullptr);
  json["mpi"] = MEGASCOPE_MPI_NAME;
  json["features"] = std::move(features);
  json["problems"] = std::move(problems);
  json["options"] = options_json();
  json["functions"] = functions_json();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

struct Count {
  std::size_t full = 0;
  std::size_t object = 0;
  std::size_t plain = 0;
  std::size_t off = 0;

  std::size_t total() const { return full + object + plain; }
};
void count(Count& into, const mpi::WrappedFunction& function) {
  (function.depth == mpi::Depth::kFullSemantics ? into.full
   : function.depth == mpi::Depth::kObject      ? into.object
                                                : into.plain) += 1;
  into.off += function.is_default ? 0U : 1U;
}

/// Wraps `words` into lines with `indent` leading blanks.
std::string wrapped_lines(const std::vector<std::string>& words, std::size_t indent) {
  std::string text;
  std::string line;
  for (const std::string& word : words) {
    if (line.size() + word.size() > 84) {
      text += std::string(indent, ' ') + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? text : text + std::string(indent, ' ') + line + '\n';
}

std::string functions_summary() {
  Count all;
  std::map<std::string, Count> groups;
  for (const mpi::WrappedFunction& function : mpi::wrapped_functions()) {
    count(all, function);
    count(groups[function.group], function);
  }
  const std::vector<std::string> missing = mpi::functions_not_wrapped();
  std::string text = fmt::format(
      "MPI functions  {} can be recorded: {} with full semantics, {} with the object they use,\n"
      "               {} with entry and exit ({} of them only if selected by MEGASCOPE_MPI); {} "
      "not\n"
      "               at all. `megascope info --functions` lists them and what is recorded of "
      "each.\n",
      all.total(), all.full, all.object, all.plain, all.off, missing.size());
  text += wrapped_lines(missing, 15);
  std::vector<std::string> names;
  for (const auto& [name, of_group] : groups)
    names.push_back(fmt::format("{} {},", name, of_group.total()));
  if (!names.empty()) names.back().pop_back();
  return text + "Groups         " + wrapped_lines(names, 15).substr(15);
}

std::string depth_text(const mpi::WrappedFunction& function) {
  if (function.depth == mpi::Depth::kEnterLeave) return "entry and exit";
  return (function.depth == mpi::Depth::kFullSemantics ? "full meaning: " : "object: ") +
         function.recorded_fields;
}

std::string functions_text() {
  std::string text;
  for (const mpi::WrappedFunction& function : mpi::wrapped_functions()) {
    text += fmt::format("{:<36} {:<8} {}{}\n", function.name, function.group, depth_text(function),
                        function.is_default ? "" : ", when MEGASCOPE_MPI asks for it");
  }
  for (const std::string& name : mpi::functions_not_wrapped())
    text += fmt::format("{:<36} {:<8} not recorded\n", name, "");
  return text;
}

std::string info_text() {
  std::string directory;
  const Status found = find_library_directory(directory);
  std::string text = fmt::format("MegaScope {}\n\n", kVersion);
  text += "Library        " + (found.is_ok() ? directory + "/" + kLibraryName : found.message()) +
          '\n';
  text += fmt::format("Built for      {}\n", MEGASCOPE_MPI_NAME);
  for (const Module& module : export_modules())
    text += fmt::format("Export         {:<9} {}\n", module.name, answer_of(module.status));
  text += fmt::format("Live view      {}\n", answer_of(live_module().status));
  text += fmt::format(
      "NVTX           {}\n",
      MEGASCOPE_HAS_NVTX ? "yes" : "no: built without nvtx3/nvToolsExt.h of the CUDA toolkit");
  text += "GPU activity   no: not supported by this version\n" + functions_summary();
  text += "\nOptions, as environment variables:\n";
  for (const config::OptionRow& row : config::option_rows()) {
    text += fmt::format("  {}={}\n      {}\n      Accepts {}.\n", row.name,
                        config::default_for_people(row), row.help, config::accepted_text(row));
  }
  return text;
}

}  // namespace

int show_info(const InfoArguments& arguments) {
  const std::string text = arguments.as_options_markdown ? config::options_markdown()
                           : arguments.as_json           ? info_json()
                           : arguments.as_functions      ? functions_text()
                                                         : info_text();
  std::fputs(text.c_str(), stdout);
  return kSuccess;
}

}  // namespace megascope::cli
