#include "core/base/text.h"
#include "core/config/options.h"
#include "core/lifecycle/module_loader.h"
#include "mpi_layer/table/selection.h"
#include "plugin/cli/common/installation.h"
#include "plugin/cli/doctor/checks.h"
#include "plugin/tensors/tensor_choice.h"

#include <dlfcn.h>
#include <filesystem>
#include <system_error>

/// Checks of the installation and its configuration.
namespace megascope::cli {

Findings check_library() {
  std::string directory;
  const Status found = find_library_directory(directory);
  if (!found.is_ok())
    return {{Verdict::kProblem, "library", found.message(), "Reinstall MegaScope completely."}};
  const std::string path = directory + "/" + kLibraryName;
  if (path.find_first_of(" \t:") != std::string::npos) {
    return {{Verdict::kProblem, "library",
             path + " contains a blank or a colon, which LD_PRELOAD does not support",
             "Install it elsewhere, or use a symbolic link without them."}};
  }
  if (dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
    return {{Verdict::kProblem, "library", std::string("cannot be loaded: ") + dlerror(),
             "Build MegaScope on this system."}};
  const std::string text = path + ", for " + MEGASCOPE_MPI_NAME;
  if (path.find(',') == std::string::npos) return {{Verdict::kOk, "library", text, ""}};
  return {{Verdict::kNote, "library", text + "; srun --export does not support a path with a comma",
           ""}};
}

Findings check_exports() {
  std::string directory;
  if (!find_library_directory(directory).is_ok()) return {};
  Findings findings;
  std::vector<std::string> loadable;
  for (const std::string& name : export_formats()) {
    std::error_code error;
    if (!std::filesystem::exists(directory + "/libmegascope_" + name + ".so", error)) {
      findings.push_back({Verdict::kNote, "exports", name + " is not part of this build", ""});
      continue;
    }
    const ModuleTable* table = nullptr;
    const Status status = load_module(directory, name, table);
    if (status.is_ok()) {
      loadable.push_back(name);
    } else {
      findings.push_back(
          {Verdict::kProblem, "exports", name + " is not available: " + status.message(),
           "Install its dependencies, or export on another machine: megascope export DIR -f " +
               name + "."});
    }
  }
  if (!loadable.empty())
    findings.insert(findings.begin(), {Verdict::kOk, "exports", joined(loadable, ", "), ""});
  return findings;
}

Findings check_options(const config::LoadedOptions& options) {
  Findings findings;
  std::vector<std::string> problems = options.problems;
  for (std::string& problem : mpi::select_functions(options.values.mpi.items))
    problems.push_back(std::move(problem));
  (void)tensors::read_choices(options.values.tensors.items, problems);
  for (const std::string& problem : problems) {
    findings.push_back({Verdict::kProblem, "options", problem,
                        options.values.strict
                            ? "Correct it: with MEGASCOPE_STRICT=1 the program will not start."
                            : "Correct or unset it; `megascope info` lists the accepted values."});
  }
  if (!options.values.enable) {
    findings.push_back({Verdict::kProblem, "options",
                        "MEGASCOPE_ENABLE=0: nothing will be recorded",
                        "Unset it or set it to 1."});
  }
  std::vector<std::string> set;
  for (std::size_t i = 0; i < config::kOptionCount; ++i) {
    if (options.sources[i] == config::OptionSource::kEnvironment)
      set.push_back(std::string(config::option_rows()[i].name) + "=" + options.texts[i]);
  }
  const std::string text = set.empty() ? "all defaults" : joined(set, " ");
  if (findings.empty()) findings.push_back({Verdict::kOk, "options", text, ""});
  return findings;
}

}  // namespace megascope::cli
