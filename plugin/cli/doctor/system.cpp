#include "core/base/clock.h"
#include "core/base/first_line.h"
#include "core/base/text.h"
#include "core/config/environment.h"
#include "plugin/cli/common/installation.h"
#include "plugin/cli/doctor/checks.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <system_error>

/// Checks of clock, GPU and other preloaded libraries.
namespace megascope::cli {
namespace {

/// Splits LD_PRELOAD as ld.so does.
std::vector<std::string> preload_entries() {
  std::vector<std::string> entries;
  std::string word;
  for (const char c :
       config::environment_value("LD_PRELOAD") + ":" + first_line("/etc/ld.so.preload") + ":") {
    if (c != ':' && c != ' ' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      entries.push_back(std::exchange(word, {}));
    }
  }
  return entries;
}

/// Whether the object itself, not one of its dependencies, defines the symbol.
bool defines(void* object, const char* symbol) {
  const void* address = dlsym(object, symbol);
  const link_map* map = nullptr;
  Dl_info where{};
  return address != nullptr && dladdr(address, &where) != 0 &&
         dlinfo(object, RTLD_DI_LINKMAP, &map) == 0 && std::string(where.dli_fname) == map->l_name;
}

bool records_mpi(void* object) {
  for (const char* symbol : {"MPI_Init", "MPI_Init_thread", "mpi_init_"}) {
    if (defines(object, symbol)) return true;
  }
  return false;
}

}  // namespace

Findings check_preloads() {
  Findings findings;
  int own_count = 0;
  for (const std::string& entry : preload_entries()) {
    void* object = dlopen(entry.c_str(),
                          // ld.so has loaded it into this process as well.
                          RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) {
      findings.push_back({Verdict::kProblem, "preload",
                          entry + " is in LD_PRELOAD but was not loaded",
                          "Use a path that exists on all nodes, or remove it."});
    } else if (defines(object, "megascope_version")) {
      ++own_count;
    } else if (records_mpi(object) && !defines(object, "PMPI_Init")) {
      findings.push_back(
          {Verdict::kProblem, "preload",
           entry + " wraps MPI calls as well; usually only the first of two tools sees the calls",
           "Preload only one of them."});
    }
  }
  if (own_count > 1)
    findings.push_back({Verdict::kNote, "preload",
                        "MegaScope is in LD_PRELOAD more than once; the first one records", ""});
  if (findings.empty()) {
    const std::string text = own_count != 0
                                 ? "MegaScope is already in LD_PRELOAD; no other MPI tool"
                                 : "no other MPI tool in LD_PRELOAD";
    findings.push_back({Verdict::kOk, "preload", text, ""});
  }
  return findings;
}

Findings check_clock(const config::Options& options) {
  const std::string source = first_line(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string kernels = source.empty() ? ""
                                             : " (the kernel's clock source is " + source + ")";
  const bool is_usable = clock::tsc_is_usable();
  if (options.clock == config::ClockChoice::kMonotonic)
    return {{Verdict::kOk, "clock", "CLOCK_MONOTONIC, selected by MEGASCOPE_CLOCK", ""}};
  if (is_usable) return {{Verdict::kOk, "clock", "TSC, invariant", ""}};
  return {{Verdict::kNote, "clock",
           "CLOCK_MONOTONIC: the TSC is not invariant or not the kernel's clock source" + kernels +
               "; each call costs 20 to 50 ns more, or much more where reading the clock is a "
               "system call",
           ""}};
}

Findings check_ptrace() {
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (scope.empty() || scope == "0")
    return {{Verdict::kOk, "ptrace",
             "debuggers may attach to your processes; MegaScope does not need this", ""}};
  return {{Verdict::kOk, "ptrace",
           "debuggers may not attach to running processes (ptrace_scope is " + scope +
               "); `megascope hang` reads traces from disk and does not need this",
           ""}};
}

Findings check_gpu() {
  std::error_code error;
  const bool has_device = std::filesystem::exists("/dev/nvidiactl", error);
  const bool has_driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
  if (!has_device && !has_driver) return {{Verdict::kOk, "gpu", "no NVIDIA GPU", ""}};
  return {{Verdict::kNote, "gpu",
           "NVIDIA GPU found: this version records MPI calls only, not GPU activity", ""}};
}

}  // namespace megascope::cli
