#include "core/config/environment.h"
#include "mpi_layer/lookup/mpi_object.h"
#include "mpi_layer/own_communication/launcher_store.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pmix.h>

/// PMIx: Open MPI under mpirun, and srun --mpi=pmix.
namespace megascope::mpi::launcher_store {
namespace {

/// The PMIx library that the MPI library uses, by symbol: it is not linked.
struct Pmix {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  pmix_proc_t me{};
};
Pmix g_pmix;
bool g_is_open = false;  ///< PMIx counts its users
constexpr const char*
    kFetchAgain = "pmix.get.refresh";  ///< PMIX_GET_REFRESH_CACHE, which headers before PMIx 4 lack
constexpr const char* kLibrary = "libpmix.so.2";

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool load() {
  // Without a launcher there is no server, and PMIx_Init would search for one.
  if (config::environment_value("PMIX_NAMESPACE").empty()) return false;
  // Inherited from a process that was started without a launcher and started this one.
  if (config::environment_value("OMPI_MCA_ess") == "singleton") return false;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  return find(library, "PMIx_Init", g_pmix.init) && find(library, "PMIx_Put", g_pmix.put) &&
         find(library, "PMIx_Commit", g_pmix.commit) && find(library, "PMIx_Get", g_pmix.get) &&
         find(library, "PMIx_Finalize", g_pmix.finalize);
}

}  // namespace

bool open() {
  g_is_open = load() && g_pmix.init(&g_pmix.me, nullptr, 0) == PMIX_SUCCESS;
  return g_is_open;
}

bool put(const char* key, const std::string& text) {
  pmix_value_t value{};
  value.type = PMIX_STRING;
  std::string copy = text;
  value.data.string = copy.data();
  return g_pmix.put(PMIX_GLOBAL, key, &value) == PMIX_SUCCESS && g_pmix.commit() == PMIX_SUCCESS;
}

namespace {

pmix_info_t asks_for(const char* attribute) {
  pmix_info_t info{};
  std::strncpy(info.key, attribute, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

pmix_info_t waits_at_most(int seconds) {
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_TIMEOUT, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_INT;
  info.value.data.integer = seconds;
  return info;
}

template <std::size_t kCount>
Answer get_with(const pmix_info_t (&how)[kCount], std::int32_t rank, const char* key,
                std::string& text) {
  pmix_proc_t proc{};
  std::memcpy(proc.nspace, g_pmix.me.nspace, sizeof proc.nspace);
  proc.rank = static_cast<pmix_rank_t>(rank);
  pmix_value_t* value = nullptr;
  const pmix_status_t status = g_pmix.get(&proc, key, how, kCount, &value);
  if (status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT) return Answer::kNothing;
  if (status != PMIX_SUCCESS) return Answer::kError;
  if (value == nullptr) return Answer::kNothing;
  const bool is_text = value->type == PMIX_STRING && value->data.string != nullptr;
  if (is_text) text = value->data.string;
  if (is_text) free(value->data.string);
  free(value);
  return is_text ? Answer::kText : Answer::kNothing;
}

}  // namespace

/// Servers asked for an immediate answer return only what they have: everything stored before
/// PMPI_Init.
Answer get(std::int32_t rank, const char* key, std::string& text) {
  return get_with({asks_for(PMIX_IMMEDIATE)}, rank, key, text);
}

Answer get_late(std::int32_t rank, const char* key, std::string& text) {
  constexpr int kTimeoutS = 1;
  const Answer known = get(rank, key, text);  // another rank of this node may have fetched it
  if (known != Answer::kNothing) return known;
  return get_with({asks_for(kFetchAgain), waits_at_most(kTimeoutS)}, rank, key, text);
}

void share() {
  if (is_needed_by_an_object(kLibrary)) close();
}

void close() {
  if (g_is_open) g_pmix.finalize(nullptr, 0);
  g_is_open = false;
}

std::string own_world() { return config::environment_value("PMIX_NAMESPACE"); }

// Open MPI passes "<name space>.<rank>:<tag>" of the parent to the spawned world.
std::string parent_world() {
  const std::string port = config::environment_value("OMPI_PARENT_PORT");
  return port.substr(0, port.find('.'));
}

const char* const kWhyNot = "the launcher has no PMIx to report whether all ranks have the library";

}  // namespace megascope::mpi::launcher_store
