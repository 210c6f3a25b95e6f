#include <dlfcn.h>
#include <pmix.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/config/environment.h"
#include "mpi_layer/all_ranks.h"

namespace megascope::mpi {
namespace {

constexpr char kHereKey[] = "megascope.here";        // of every rank: "<library version> <run id>"
constexpr char kCompanyKey[] = "megascope.company";  // of rank 0: "all", or the ranks that are missing
constexpr char kAll[] = "all";
constexpr std::int64_t kFirstPauseNs = 1'000'000;
constexpr std::int64_t kLongestPauseNs = 20'000'000;
constexpr int kMostErrors = 100;  // of a server that is gone

/// The PMIx library of the MPI library, by symbol: we do not link it.
struct Pmix {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  pmix_proc_t me{};
  bool is_ready = false;
};
Pmix g_pmix;
std::string g_verdict;  // on rank 0

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool load() {
  // Without a launcher there is no server to ask, and PMIx_Init would look for one.
  if (config::environment_value("PMIX_NAMESPACE").empty()) return false;
  // Handed down by a process that was started without a launcher and started this one: not about us.
  if (config::environment_value("OMPI_MCA_ess") == "singleton") return false;
  void* library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  return find(library, "PMIx_Init", g_pmix.init) && find(library, "PMIx_Put", g_pmix.put) &&
         find(library, "PMIx_Commit", g_pmix.commit) && find(library, "PMIx_Get", g_pmix.get) &&
         find(library, "PMIx_Finalize", g_pmix.finalize);
}

bool put(const char* key, const std::string& text) {
  pmix_value_t value{};
  value.type = PMIX_STRING;
  std::string copy = text;
  value.data.string = copy.data();
  return g_pmix.put(PMIX_GLOBAL, key, &value) == PMIX_SUCCESS && g_pmix.commit() == PMIX_SUCCESS;
}

/// What `rank` has put under `key`, without waiting for it. An error: of PMIx; PMIX_ERR_NOT_FOUND when nothing is there (yet).
pmix_status_t get(std::uint32_t rank, const char* key, std::string& text) {
  pmix_proc_t proc{};
  std::memcpy(proc.nspace, g_pmix.me.nspace, sizeof proc.nspace);
  proc.rank = rank;
  bool is_immediate = true;
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_IMMEDIATE, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = is_immediate;
  pmix_value_t* value = nullptr;
  const pmix_status_t status = g_pmix.get(&proc, key, &info, 1, &value);
  if (status != PMIX_SUCCESS) return status;
  if (value == nullptr) return PMIX_ERR_NOT_FOUND;
  const bool is_text = value->type == PMIX_STRING && value->data.string != nullptr;
  if (is_text) text = value->data.string;
  if (is_text) free(value->data.string);
  free(value);
  return is_text ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

/// Is this version of the library in `rank`, as far as PMIx knows?
bool has_library(std::int32_t rank) {
  std::string here;
  return get(static_cast<std::uint32_t>(rank), kHereKey, here) == PMIX_SUCCESS &&
         here.starts_with(std::string(MEGASCOPE_VERSION) + " ");
}

/// "all", or the ranks without it.
std::string verdict_on(std::int32_t world_size) {
  constexpr std::size_t kMaxListed = 64;
  std::string missing;
  std::size_t count = 0;
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    if (!has_library(rank) && count++ < kMaxListed) missing += (missing.empty() ? "" : " ") + std::to_string(rank);
  }
  return missing.empty() ? kAll : missing;
}

Company company_of(const std::string& verdict) {
  if (verdict == kAll) return {.is_complete = true, .missing = {}, .reason = {}};
  Company company;
  company.reason = "not all ranks have the library";
  for (std::size_t at = 0; at < verdict.size();) {
    const std::size_t end = std::min(verdict.find(' ', at), verdict.size());
    company.missing.push_back(static_cast<std::int32_t>(std::strtol(verdict.c_str() + at, nullptr, 10)));
    at = end + 1;
  }
  return company;
}

}  // namespace

void announce_presence(const std::string& run_id) {
  if (!load() || g_pmix.init(&g_pmix.me, nullptr, 0) != PMIX_SUCCESS) return;
  g_pmix.is_ready = put(kHereKey, std::string(MEGASCOPE_VERSION) + " " + run_id);
  if (!g_pmix.is_ready) g_pmix.finalize(nullptr, 0);
}

std::string ask_run_id_of_rank_0() {
  std::string here;
  if (!g_pmix.is_ready || !has_library(0) || get(0, kHereKey, here) != PMIX_SUCCESS) return {};
  const std::size_t blank = here.find(' ');
  return blank == std::string::npos ? std::string() : here.substr(blank + 1);
}

bool is_lowest_here(std::int32_t world_rank) {
  for (std::int32_t rank = 0; g_pmix.is_ready && rank < world_rank; ++rank) {
    if (has_library(rank)) return false;
  }
  return g_pmix.is_ready || world_rank == 0;
}

void judge_company(std::int32_t world_size) {
  if (!g_pmix.is_ready) return;
  g_verdict = verdict_on(world_size);
  if (!put(kCompanyKey, g_verdict)) g_verdict.clear();  // nobody will see it: nobody talks
}

Company ask_company(std::int32_t world_size, void (*progress)()) {
  if (!g_pmix.is_ready) {
    return {.is_complete = false, .missing = {},
            .reason = "the launcher has no PMIx that could be asked whether all ranks have the library"};
  }
  if (!g_verdict.empty()) return company_of(g_verdict);
  if (!has_library(0)) return company_of(verdict_on(world_size));
  timespec pause{0, kFirstPauseNs};
  for (int errors = 0; errors < kMostErrors;) {
    std::string verdict;
    const pmix_status_t status = get(0, kCompanyKey, verdict);
    if (status == PMIX_SUCCESS) return company_of(verdict);
    if (status != PMIX_ERR_NOT_FOUND) ++errors;
    progress();
    nanosleep(&pause, nullptr);
    pause.tv_nsec = std::min(pause.tv_nsec + pause.tv_nsec / 4, kLongestPauseNs);
  }
  return {.is_complete = false, .missing = {}, .reason = "the launcher no longer says whether all ranks have the library"};
}

void leave_company() {
  if (g_pmix.is_ready) g_pmix.finalize(nullptr, 0);
  g_pmix.is_ready = false;
}

}  // namespace megascope::mpi
