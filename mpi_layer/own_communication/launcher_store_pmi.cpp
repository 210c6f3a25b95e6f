#include "core/config/environment.h"
#include "mpi_layer/lookup/pmpi.h"
#include "mpi_layer/own_communication/launcher_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

/// PMI-1 as spoken by MPICH and its launcher Hydra: lines over a socket to the launcher's proxy on
/// this node, which answers at once. A question and its answer leave nothing on the socket, which
/// MPICH itself uses in MPI_Init, MPI_Finalize, MPI_Comm_spawn and similar calls. MPI_Init of
/// several ranks distributes entries to all proxies: MPICH stores its addresses and waits for those
/// of all ranks before it returns.
namespace megascope::mpi::launcher_store {
namespace {

constexpr int kTimeoutMs = 10'000;  // timeout of an answer of the proxy
constexpr std::size_t kLongestLine = 4096;

struct Pmi {
  int socket = -1;
  std::string space;  ///< key-value space of this process's world
  std::string rank;
};
Pmi g_pmi;

bool send_line(const std::string& line) {
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t sent = send(g_pmi.socket, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) done += static_cast<std::size_t>(sent);
  }
  return true;
}

/// Reads byte by byte, because bytes after the line belong to MPICH.
bool receive_line(std::string& line) {
  line.clear();
  while (line.size() < kLongestLine) {
    pollfd socket{.fd = g_pmi.socket, .events = POLLIN, .revents = 0};
    const int ready = poll(&socket, 1, kTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char byte = 0;
    const ssize_t got = read(g_pmi.socket, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    if (byte == '\n') return true;
    line += byte;
  }
  return false;
}

/// Returns the value of `name=value` in a list separated by blanks; empty if it is missing.
std::string value_of(const std::string& line, std::string_view name) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = std::string_view(line).substr(at, end - at);
    if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=') {
      return std::string(word.substr(name.size() + 1));
    }
    at = end + 1;
  }
  return {};
}

/// Sends a question and reads an answer of the kind `expected`. Returns false, and closes the
/// conversation, without one.
bool ask(const std::string& question, std::string_view expected, std::string& answer) {
  if (g_pmi.socket >= 0 && send_line(question) && receive_line(answer) &&
      value_of(answer, "cmd") == expected)
    return true;
  g_pmi.socket = -1;
  return false;
}

/// Returns whether Hydra started this process and speaks PMI-1, by variables that it sets.
bool is_hydra_with_pmi_1() {
  const std::string library = mpi_library_text();
  return library.starts_with("MPICH") && library.find("pmi2") == std::string::npos &&
         library.find("pmix") == std::string::npos &&
         !config::environment_value("MPI_LOCALNRANKS").empty() &&
         !config::environment_value("PMI_FD").empty() &&
         !config::environment_value("PMI_RANK").empty();
}

std::string entry(const std::string& rank, const char* key) {
  return std::string(key) + "." + rank;
}

}  // namespace

bool open() {
  if (!is_hydra_with_pmi_1()) return false;
  g_pmi.socket = std::atoi(config::environment_value("PMI_FD").c_str());
  g_pmi.rank = config::environment_value("PMI_RANK");
  std::string answer;
  // The first such message on a node makes the proxy discard earlier entries; MPICH's own comes
  // later.
  if (!ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", answer)) return false;
  if (!ask("cmd=get_my_kvsname\n", "my_kvsname", answer)) return false;
  g_pmi.space = value_of(answer, "kvsname");
  return !g_pmi.space.empty();
}

bool put(const char* key, const std::string& text) {
  std::string answer;
  return ask("cmd=put kvsname=" + g_pmi.space + " key=" + entry(g_pmi.rank, key) +
                 " value=" + text + "\n",
             "put_result", answer) &&
         value_of(answer, "rc") == "0";
}

Answer get(std::int32_t rank, const char* key, std::string& text) {
  std::string answer;
  const std::string name = entry(std::to_string(rank), key);
  if (!ask("cmd=get kvsname=" + g_pmi.space + " key=" + name + "\n", "get_result", answer))
    return Answer::kError;
  if (value_of(answer, "rc") != "0") return Answer::kNothing;
  text = value_of(answer, "value");
  return Answer::kText;
}

/// The proxy keeps old values, so later entries are not visible. MPICH leaves MPI_Init when all
/// ranks have entered, so that nothing has to wait.
Answer get_late(std::int32_t, const char*, std::string&) { return Answer::kText; }

void share() {}
void close() {}  // MPICH ends the connection

std::string own_world() { return g_pmi.space; }
std::string parent_world() { return {}; }

const char* const kWhyNot = "the launcher cannot report whether all ranks have the library";

}  // namespace megascope::mpi::launcher_store
